import GRDB
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync

/// The times of edits, by the service's clock.
extension CacheStore {
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

    /// Stores the clock's correction by answers. The first one also corrects the times of edits
    /// that were made before it.
    ///
    /// To be called before anything is sent.
    /// - Returns: the changes for observers; nil if the correction is unchanged.
    func keepServiceTime() throws -> CacheOutcome? {
        guard clock.isToBeKept else { return nil }
        let before = clock.offsetMilliseconds
        do {
            return try write { database, outcome in
                let offset = clock.applyCorrection()
                let isFirst = try flag(.clockOffset, database) == nil
                if isFirst, offset != 0, try flag(.lastFetch, database) == nil,
                    try flag(.lastSend, database) == nil
                {
                    try correctEdits(by: offset, &outcome, database)
                }
                if isFirst || offset != before {
                    try setFlag(.clockOffset, "\(offset)", database)
                }
            }
        } catch {
            clock.undo(to: before)
            throw error
        }
    }

    /// Corrects the times of edits. Nothing was fetched yet, so all times are by this device's own
    /// clock.
    private func correctEdits(
        by offset: Int64, _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        try setFlag(.firstClockOffset, "\(offset)", database)
        var zones: [Int64: CachedZoneRow] = [:]
        for zone in try CachedZoneRow.all(where: isHere, database) { zones[zone.key] = zone }
        let rows = try Row.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT \(PendingRow.columns), zone FROM pending
                    WHERE zone IN \(zonesHere) AND isUncertain = 0 AND baseType IS NULL
                    ORDER BY sequence
                    """))
        for row in rows {
            let key: Int64 = try row.decode(atIndex: PendingRow.columnCount)
            guard let zone = zones[key] else { continue }
            var pending = try PendingRow(row, zone: zone.id)
            pending.editedMilliseconds &+= offset
            try update(pending, database)
            guard var record = try record(pending.change.id.name, zone, database) else { continue }
            if let key = fieldTimesKey(ofType: record.type) {
                record.shiftFieldTimes(in: key, by: offset, rules: resolver.fieldRules)
            }
            for key in [editDateKey, resolver.editStamps.dateKey].compactMap(\.self) {
                guard case .timestamp(let edited, _) = record[key] else { continue }
                record[key] = .timestamp(milliseconds: edited &+ offset)
            }
            try put(record, isEdit: true, zone, database)
            outcome.changedIDs.insert(record.id)
        }
        try database.cachedStatement(
            sql: "UPDATE tombstone SET deleted = deleted + ? WHERE \(isHere)"
        ).execute(arguments: [offset])
    }

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
