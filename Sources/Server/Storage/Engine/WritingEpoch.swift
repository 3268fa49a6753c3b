import StratusRecords
import StratusRuntime
import Synchronization

/// The epoch in which this process writes one database. It outlives the database's closing, so that a
/// database that was closed for want of room goes on where it was.
///
/// A process goes on in its epoch only if
///
/// - the newest epoch in the file is its own, so that it shares no epoch with another process;
/// - the file, where it was opened again, has the version that it had when it was closed, so that it is not
///   a copy of earlier;
/// - the clocks did not part since the epoch's last write, as they do where a machine was stopped and went
///   on with its memory, perhaps for the second time.
///
/// An epoch that is begun in a transaction that is rolled back is in memory only: the next write finds
/// another one in the file, and begins one more. So nothing here need be told of commits but the version.
final class WritingEpoch: Sendable {
    /// By how much the clocks may part: more than they are set right by, less than anybody takes to stop a
    /// machine and to start it again.
    static let clockSeconds: Double = 60

    private struct State {
        var epoch: Epoch?
        /// The database's version after the last write that was committed, or where the epoch began.
        var version: Int64 = 0
        /// Whether the file was opened since the last write.
        var isReopened = false
        /// By how much the time of day was ahead of the uptime at the last write, in seconds.
        var lead: Double = 0
    }

    private let state = Mutex(State())
    private let source: EpochSource

    init(_ source: EpochSource) {
        self.source = source
    }

    var nowMilliseconds: Int64 { source.world.nowMilliseconds() }

    /// Whether a write of this process belongs to the newest epoch of the file.
    ///
    /// - Parameter version: the database's version before the write.
    func goesOn(in newest: Epoch, at version: Int64) -> Bool {
        let lead = source.lead
        return state.withLock { state in
            guard state.epoch == newest, abs(lead - state.lead) <= Self.clockSeconds,
                !state.isReopened || state.version == version
            else { return false }
            state.isReopened = false
            state.lead = lead
            return true
        }
    }

    /// Makes the epoch in which this process writes from now on.
    func begin(after old: Epoch, at version: Int64) -> EpochRow {
        let epoch = Epoch(number: old.number + 1, identifier: source.world.randomNumber())
        let lead = source.lead
        state.withLock {
            $0 = State(epoch: epoch, version: version, isReopened: false, lead: lead)
        }
        return EpochRow(
            epoch: epoch, startVersion: version, startedMilliseconds: nowMilliseconds)
    }

    /// Notes that a write was committed.
    func committed(_ version: Int64) {
        state.withLock { $0.version = max($0.version, version) }
    }

    /// Notes that the file was opened: since it was closed it may have been replaced.
    func reopened() {
        state.withLock { $0.isReopened = true }
    }
}

/// Time and chance, for the epochs of all databases of a process.
final class EpochSource: Sendable {
    let world: World

    init(_ world: World) {
        self.world = world
    }

    /// By how much the time of day is ahead of the uptime, in seconds.
    var lead: Double { Double(world.nowMilliseconds()) / 1_000 - world.uptimeSeconds() }
}

/// Where an open database has its epoch, so that a write need not look for it.
final class EpochPlace: Sendable {
    private let place = Mutex<WritingEpoch?>(nil)

    var epoch: WritingEpoch? {
        get { place.withLock { $0 } }
        set { place.withLock { $0 = newValue } }
    }
}

/// The epochs in which this process writes its databases.
final class WritingEpochs: Sendable {
    /// Databases whose epochs are remembered. One that was forgotten begins a new epoch with its next write.
    private static let remembered = 100_000

    private let epochs = Mutex(LRUCache<DatabaseAddress, WritingEpoch>(capacity: remembered))
    private let source: EpochSource

    init(_ world: World) {
        source = EpochSource(world)
    }

    func epoch(of address: DatabaseAddress) -> WritingEpoch {
        epochs.withLock { epochs in
            if let epoch = epochs[address] { return epoch }
            let epoch = WritingEpoch(source)
            epochs[address] = epoch
            return epoch
        }
    }

    /// Notes that a database's file was opened.
    func opened(_ address: DatabaseAddress, _ database: any OpenDatabase) {
        epochs.withLock { $0[address] }?.reopened()
        database.epoch.epoch = epoch(of: address)
    }
}
