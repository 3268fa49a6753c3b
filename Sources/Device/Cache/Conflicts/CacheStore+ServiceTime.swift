import GRDB
import StratusRecords
import StratusSync

extension CacheStore {
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
}
