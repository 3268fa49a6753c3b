import GRDB
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization

/// The times of edits: on whose clock, and in which records.
extension CacheStore {
    static func clockOffset(of scope: CKDatabase.Scope, in pool: any DatabaseReader) throws -> Int64
    {
        try pool.read { database in
            let text = try String.fetchOne(
                database, sql: "SELECT value FROM flag WHERE database = ? AND name = ?",
                arguments: [scope.rawValue, CacheFlag.clockOffset.rawValue])
            return text.flatMap { Int64($0) } ?? 0
        }
    }

    /// Now, in milliseconds since 1970 by the service's clock as far as this device knows it.
    var nowMilliseconds: Int64 { clock.nowMilliseconds }

    /// Takes the times from answers of the service, and keeps what they tell of this device's clock.
    func noteTimes(
        saved: [Int64] = [], fetched: [Int64] = [], _ database: Database
    ) throws {
        guard let offset = clock.noteTimes(saved: saved, fetched: fetched) else { return }
        try setFlag(CacheFlag.clockOffset, "\(offset)", database)
    }

    /// The field in which records of a type carry the times of their edits; nil where there is none.
    func fieldTimesKey(ofType type: String) -> String? {
        guard let key = resolver.fieldTimesKey else { return nil }
        return typesWithoutFieldTimes.withLock { $0.contains(type) } ? nil : key
    }

    /// A change was refused for good. Where the field of times may be the reason, as in a production
    /// environment whose schema has it not, the record goes without it.
    ///
    /// - Returns: whether it is tried again.
    func isTriedWithoutFieldTimes(
        _ item: OutgoingChange, _ row: inout PendingRow, _ failure: SyncFailure, _ zone: ZoneRow,
        _ database: Database
    ) throws -> Bool {
        guard failure.code == .invalidArguments || failure.code == .serverRejectedRequest,
            let key = resolver.fieldTimesKey, let sent = item.client
        else { return false }
        guard sent[key] != nil else {
            // That was not the reason.
            typesWithoutFieldTimes.withLock { _ = $0.remove(sent.type) }
            return false
        }
        typesWithoutFieldTimes.withLock { _ = $0.insert(sent.type) }
        guard row.change.generation == item.change.generation,
            var record = try record(sent.id.name, zone, database)
        else { return true }
        record[key] = nil
        try put(record, zone, database)
        row.change.generation += 1
        row.change.attempts = 0
        try update(row, database)
        return true
    }
}

/// The service's clock, as a device can know it: its own, corrected by what answers say.
///
/// A save's modification date lies between the request and its answer. A record that is fetched was
/// modified before the answer. The correction is the smallest that agrees with the newest of these.
final class ServiceClock: Sendable {
    private let world: World
    private let state: Mutex<(offset: Int64, sent: Int64?)>

    init(_ world: World, offsetMilliseconds: Int64) {
        self.world = world
        state = Mutex((offsetMilliseconds, nil))
    }

    var nowMilliseconds: Int64 {
        let now = world.nowMilliseconds()
        return state.withLock { now &+ $0.offset }
    }

    /// A batch leaves.
    func noteSending() {
        let now = world.nowMilliseconds()
        state.withLock { $0.sent = now }
    }

    /// - Returns: the new correction in milliseconds; nil when it is as it was.
    func noteTimes(saved: [Int64], fetched: [Int64]) -> Int64? {
        let now = world.nowMilliseconds()
        return state.withLock { state in
            var offset = state.offset
            if let newest = saved.max() {
                if let sent = state.sent { offset = min(offset, newest &- sent) }
                offset = max(offset, newest &- now)
            }
            if let newest = fetched.max() { offset = max(offset, newest &- now) }
            guard offset != state.offset else { return nil }
            state.offset = offset
            return offset
        }
    }
}
