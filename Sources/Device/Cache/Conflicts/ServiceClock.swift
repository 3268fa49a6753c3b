import GRDB
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization

/// A device's estimate of the service's clock: its own clock, corrected by times in answers.
///
/// The service wrote each answer after the request was sent and before the answer arrived; the same is true of a save's
/// modification date. A record that is fetched was modified before the answer. The correction stays unchanged as long
/// as it agrees with the newest of these times.
final class ServiceClock: Sendable {
    private let world: World
    private struct State {
        var offset: Int64
        /// When the current batch was sent.
        var sent: Int64?
        /// The correction by answers since.
        var correction: Int64?
        /// Whether the file has a correction.
        var isKept: Bool
    }

    private let state: Mutex<State>

    /// - Parameter offsetMilliseconds: the correction in the file; nil before the first answer.
    init(_ world: World, offsetMilliseconds: Int64?) {
        self.world = world
        state = Mutex(
            State(offset: offsetMilliseconds ?? 0, isKept: offsetMilliseconds != nil))
    }

    var nowMilliseconds: Int64 {
        let now = world.nowMilliseconds()
        return state.withLock { now &+ $0.offset }
    }

    var offsetMilliseconds: Int64 { state.withLock { $0.offset } }

    /// Whether the correction by answers differs from the one in the file.
    var isToBeKept: Bool {
        state.withLock { $0.correction != nil && (!$0.isKept || $0.correction != $0.offset) }
    }

    /// Notes the time of an answer.
    func receive(_ time: AnswerTime) {
        let now = world.nowMilliseconds()
        let least = time.milliseconds &- now
        let most = least &+ time.stepMilliseconds &- 1 &+ time.elapsedMilliseconds
        state.withLock { state in
            let known = state.correction ?? state.offset
            state.correction = (least...most).contains(known) ? known : least &+ (most &- least) / 2
        }
    }

    /// Applies the correction by answers.
    ///
    /// - Returns: the correction in milliseconds.
    func applyCorrection() -> Int64 {
        state.withLock { state in
            state.offset = state.correction ?? state.offset
            state.isKept = true
            return state.offset
        }
    }

    /// Takes over the correction in the file, which another process may have stored.
    func adopt(_ milliseconds: Int64) {
        state.withLock {
            $0.offset = milliseconds
            $0.isKept = true
        }
    }

    /// Restores the former correction, after the file could not be written.
    func undo(to milliseconds: Int64) {
        state.withLock {
            $0.offset = milliseconds
            $0.isKept = false
        }
    }

    /// Forgets the correction, because it was removed from the file. Edits that are made before the next answer are
    /// corrected by that answer.
    func reset() {
        state.withLock { $0 = State(offset: 0, isKept: false) }
    }

    /// Notes that a batch is sent now.
    func noteSending() {
        let now = world.nowMilliseconds()
        state.withLock { $0.sent = now }
    }

    /// - Returns: the new correction in milliseconds; nil if it is unchanged.
    func noteTimes(saved: [Int64], fetched: [Int64]) -> Int64? {
        let now = world.nowMilliseconds()
        return state.withLock { state in
            var offset = state.offset
            if let newest = saved.max() {
                if let sent = state.sent { offset = min(offset, newest &- sent) }
                offset = max(offset, newest &- now)
            }
            if let newest = fetched.max() { offset = max(offset, newest &- now) }
            state.correction = nil
            guard offset != state.offset else { return nil }
            state.offset = offset
            return offset
        }
    }
}

/// The clock of a database: its correction is stored in the file.
extension CacheStore {
    /// Now in milliseconds since 1970, by this device's estimate of the service's clock.
    var nowMilliseconds: Int64 { clock.nowMilliseconds }

    static func clockOffset(
        of scope: CKDatabase.Scope, in pool: any DatabaseReader
    ) throws -> Int64? {
        // A single statement needs no transaction to read a consistent state.
        try pool.unsafeRead { database in
            try CacheFlag.value(
                named: CacheFlag.clockOffset.rawValue, ofDatabase: scope.rawValue, database
            ).flatMap { Int64($0) }
        }
    }

    /// Takes over the clock's correction that another process has stored.
    func readClock(_ database: Database) throws {
        guard let offset = try flag(.clockOffset, database).flatMap({ Int64($0) }) else { return }
        clock.adopt(offset)
    }

    /// Corrects the clock by times in answers of the service, and stores the correction.
    func noteTimes(
        saved: [Int64] = [], fetched: [Int64] = [], _ database: Database
    ) throws {
        guard let offset = clock.noteTimes(saved: saved, fetched: fetched) else { return }
        try setFlag(CacheFlag.clockOffset, "\(offset)", database)
    }
}
