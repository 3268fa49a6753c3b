import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// Records whose schema lacks the field of times.
extension CacheStore {
    /// Handles a change that was permanently refused. If the field of times may be the reason, as
    /// in a production environment whose schema lacks it, the record is sent without it.
    ///
    /// - Returns: whether it is tried again.
    func isTriedWithoutFieldTimes(
        _ item: OutgoingChange, _ row: inout PendingRow, _ failure: SyncFailure,
        _ zone: CachedZoneRow,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws -> Bool {
        guard failure.code == .invalidArguments || failure.code == .serverRejectedRequest,
            let key = resolver.fieldTimesKey, let sent = item.client
        else { return false }
        guard sent[key] != nil else {
            // The field was not the reason.
            typesWithoutFieldTimes.withLock { _ = $0.remove(sent.type) }
            return false
        }
        typesWithoutFieldTimes.withLock { _ = $0.insert(sent.type) }
        guard row.change.generation == item.change.generation,
            var record = try record(sent.id.name, zone, database)
        else { return true }
        record[key] = nil
        try put(record, isEdit: true, zone, database)
        outcome.changedIDs.insert(record.id)
        row.change.generation += 1
        row.change.attempts = 0
        try update(row, database)
        return true
    }
}
