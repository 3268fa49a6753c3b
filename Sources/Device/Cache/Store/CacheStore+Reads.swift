import Foundation
import GRDB
import StratusRecords
import StratusSync

/// Reads by the app, online or offline.
extension CacheStore {
    func record(_ id: RecordID) throws -> RecordSnapshot? {
        try read { database in
            guard let zone = try zone(id.zoneID, database) else { return nil }
            return try record(id.name, zone, database).flatMap { isHidden($0) ? nil : $0 }
        }
    }

    /// All records of a type in a zone, or of every type, in the order of their names.
    func records(type: String?, zone id: ZoneID) throws -> [RecordSnapshot] {
        try recordsAndHiddenNames(type: type, zone: id).records
    }

    /// As ``records(type:zone:)``, with the names of existing records that the app does not see.
    func recordsAndHiddenNames(
        type: String?, zone id: ZoneID
    ) throws -> (records: [RecordSnapshot], hiddenNames: Set<String>) {
        try read { database in
            guard let zone = try zone(id, database) else { return ([], []) }
            let filter = type == nil ? "" : " AND type = ?"
            var arguments: StatementArguments = [zone.key]
            if let type { arguments += [type] }
            let statement = try database.cachedStatement(
                sql: """
                    SELECT \(RecordSnapshot.columns), name FROM record WHERE zone = ?\(filter)
                    ORDER BY name
                    """)
            var records: [RecordSnapshot] = []
            var hiddenNames: Set<String> = []
            let rows = try Row.fetchCursor(statement, arguments: arguments)
            while let row = try rows.next() {
                let record = try RecordSnapshot(
                    row, id: RecordID(name: try row.decode(atIndex: 4), zoneID: id),
                    type: try row.decode(atIndex: 0), at: 1)
                if isHidden(record) {
                    hiddenNames.insert(record.id.name)
                } else {
                    records.append(record)
                }
            }
            return (records, hiddenNames)
        }
    }

    /// Refuses a record that exists, but that the app does not see.
    ///
    /// - Throws: ``CacheError`` `newerRecord`.
    func refuseIfHidden(_ id: RecordID) throws {
        try read { database in
            guard let zone = try zone(id.zoneID, database),
                let record = try record(id.name, zone, database), isHidden(record)
            else { return }
            try refuseIfNewer(record)
        }
    }

    /// Whether a zone's first full fetch has ended, or the service has no such zone as far as this device knows. Before that
    /// a record that is missing here may exist at the service.
    func hasFetched(_ id: ZoneID) throws -> Bool {
        try read { database in
            let knowsZones = try flag(CacheFlag.databaseToken, database) != nil
            guard let zone = try zone(id, database) else { return knowsZones }
            if zone.state == .wanted { return knowsZones }
            return !zone.isNew && !(zone.isRefetching && zone.isFirstFetch)
        }
    }

    /// The zones on this device, in the order in which it learned of them.
    func zones() throws -> [ZoneID] {
        try read { database in
            try CachedZoneRow.all(where: "\(isHere) AND state <> 2 ORDER BY id", database).map(\.id)
        }
    }

    func attentionItems() throws -> [AttentionItem] {
        try read { database in
            let rows = try Row.fetchAll(
                database.cachedStatement(
                    sql: """
                        SELECT \(PendingRow.columns), zone.name, zone.owner
                        FROM pending JOIN zone ON zone.id = pending.zone
                        WHERE errorCode IS NOT NULL AND zone.\(isHere) ORDER BY sequence
                        """))
            return try rows.compactMap { row in
                let pending = try PendingRow(
                    row,
                    zone: ZoneID(
                        name: try row.decode(atIndex: PendingRow.columnCount),
                        ownerName: try row.decode(atIndex: PendingRow.columnCount + 1)))
                return pending.failure.map { AttentionItem(pending.change, $0, scope) }
            }
        }
    }

    /// The changes that the service has not confirmed, oldest first.
    func pendingIDs(limit: Int) throws -> [RecordID] {
        try read { database in
            try Row.fetchAll(
                database.cachedStatement(
                    sql: """
                        SELECT pending.name, zone.name, zone.owner FROM pending
                        JOIN zone ON zone.id = pending.zone WHERE zone.\(isHere)
                        ORDER BY sequence LIMIT ?
                        """), arguments: [limit]
            ).map { try RecordID($0) }
        }
    }

    /// The records of a zone that have a pending change, in the order of the changes.
    func pendingIDs(in zone: ZoneID) throws -> [RecordID] {
        try read { database in
            guard let row = try self.zone(zone, database) else { return [] }
            return try String.fetchAll(
                database.cachedStatement(
                    sql: "SELECT name FROM pending WHERE zone = ? ORDER BY sequence"),
                arguments: [row.key]
            ).map { RecordID(name: $0, zoneID: zone) }
        }
    }

    func fillCounts(_ status: inout CacheStatus) throws {
        let counts = try read { database in
            status.account =
                try flag(.account, database).flatMap { CacheAccount(rawValue: $0) } ?? .unknown
            status.userRecordName = try flag(.userRecordName, database)
            status.lastFetchMilliseconds = try flag(.lastFetch, database).flatMap { Int64($0) }
            status.lastSendMilliseconds = try flag(.lastSend, database).flatMap { Int64($0) }
            status.fetch = try FetchProgress.readAll(scope.rawValue, database)
            return try Row.fetchOne(database.cachedStatement(sql: countsSQL))
        }
        guard let counts else { return }
        let recordCount = try counts.decode(Int.self, atIndex: 2)
        status.zonesAwaitingUpdate += held.withLock { $0.count }
        status.pendingCount += try counts.decode(atIndex: 0)
        status.attentionCount += try counts.decode(atIndex: 1)
        status.recordCount += recordCount
        status.recordsWithChangeTagCount += recordCount - (try counts.decode(atIndex: 3))
        status.reportCount += try counts.decode(atIndex: 4)
    }

    /// Records are counted in an index, because their table has all fields. Each record that the
    /// service does not have is pending.
    var countsSQL: String {
        """
        SELECT (SELECT count(*) FROM pending
                WHERE errorCode IS NULL AND zone IN
                    (SELECT id FROM zone WHERE \(isHere) AND state <> 5)),
            (SELECT count(*) FROM pending
                WHERE errorCode IS NOT NULL AND zone IN \(zonesHere)),
            (SELECT count(*) FROM record WHERE zone IN \(zonesHere)),
            (SELECT count(*) FROM pending
                CROSS JOIN record ON \(CacheFormat.isOfPending)
                WHERE pending.zone IN \(zonesHere) AND system IS NULL),
            (SELECT count(*) FROM report WHERE \(isHere))
        """
    }
}
