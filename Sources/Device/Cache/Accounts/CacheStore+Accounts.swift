import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// The user that rows belong to.
extension CacheStore {
    func isMadeByNobody() throws -> Bool {
        try read { database in
            try flag(CacheFlag.userRecordName, database) == nil
                && flag(CacheFlag.isMadeByNobody, database) != nil
        }
    }

    func adoptLocalRecords() throws {
        try file.write { database in
            try setFlag(CacheFlag.isMadeByNobody, nil, database)
            try file.noteChange(of: [], in: scope, database)
        }
    }

    /// The changes that the service has not confirmed, including refused ones, the oldest first.
    func unsentChanges(_ database: Database) throws -> [UnsentChange] {
        let rows = try Row.fetchAll(
            database,
            sql: """
                SELECT \(PendingRow.columns), zone.name, zone.owner FROM pending
                JOIN zone ON zone.id = pending.zone WHERE zone.\(isHere) ORDER BY sequence
                """)
        return try rows.map { row in
            let count = PendingRow.columnCount
            let pending = try PendingRow(
                row,
                zone: ZoneID(
                    name: try row.decode(atIndex: count),
                    ownerName: try row.decode(atIndex: count + 1)))
            let id = pending.change.id
            var record: CKRecord?
            if pending.change.kind == .save, let zone = try zone(id.zoneID, database) {
                record = try self.record(id.name, zone, database)
                    .map { file.withFiles(try $0.record()) }
            }
            return UnsentChange(scope: scope, recordID: CKRecord.ID(id), record: record)
        }
    }

    /// Removes all rows of this database, in one transaction with the other databases.
    ///
    /// - Returns: the records that were here.
    func removeAll(_ database: Database) throws -> Set<RecordID> {
        var ids: Set<RecordID> = []
        for zone in try CachedZoneRow.all(where: isHere, database) {
            ids.formUnion(try removeRecords(of: zone, database))
        }
        for table in ["zone", "tombstone", "report", "flag"] {
            try database.execute(sql: "DELETE FROM \(table) WHERE \(isHere)")
        }
        return ids
    }
}
