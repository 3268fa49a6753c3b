import StratusRecords
import StratusRuntime
import Synchronization

/// The epoch in which this process writes one database. It outlives the database's closing, so that a database that was
/// closed to make room for others continues in it.
///
/// A process continues its epoch only if
///
/// - the newest epoch in the file is its own, so that it shares no epoch with another process;
/// - the file, if it was opened again, has the same version as when it was closed, so that it is not an earlier copy;
/// - the clocks did not diverge since the epoch's last write, as they do when a machine is suspended with its memory
///   and resumed, perhaps more than once.
///
/// An epoch that begins in a transaction that is rolled back exists in memory only: the next write finds another one in
/// the file, and begins a further one. So a commit need only report its version here.
final class WritingEpoch: Sendable {
    /// By how much the clocks may diverge, in seconds: more than any correction of the time of day, and less than the
    /// time it takes to stop and start a machine.
    static let clockSeconds: Double = 60

    private struct State {
        var epoch: Epoch?
        /// The database's version after the last committed write, or at which the epoch began.
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

    /// Begins the epoch in which this process writes from now on.
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

    /// Notes that the file was opened: it may have been replaced while it was closed.
    func reopened() {
        state.withLock { $0.isReopened = true }
    }
}

/// The time and randomness for the epochs of all databases of a process.
final class EpochSource: Sendable {
    let world: World

    init(_ world: World) {
        self.world = world
    }

    /// By how much the time of day is ahead of the uptime, in seconds.
    var lead: Double { Double(world.nowMilliseconds()) / 1_000 - world.uptimeSeconds() }
}

/// Holds the epoch of an open database, so that a write need not look it up.
final class EpochPlace: Sendable {
    private let place = Mutex<WritingEpoch?>(nil)

    var epoch: WritingEpoch? {
        get { place.withLock { $0 } }
        set { place.withLock { $0 = newValue } }
    }
}

/// The epochs in which this process writes its databases.
final class WritingEpochs: Sendable {
    /// The most databases whose epochs are remembered. A forgotten one begins a new epoch with its next write.
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
