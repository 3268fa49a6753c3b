import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusWire

/// Reports what one process did to the others that have the file: a row for each transaction.
extension CacheFile {
    /// The maximum number of records kept in the rows; an observer that missed more reads everything.
    static let recordsKept: Int64 = 20_000
    /// A number that no row reaches unless it is damaged.
    private static let endOfNumbers: Int64 = 1 << 60

    /// The changes that another process made in a database.
    struct ForeignChange {
        var scope: CKDatabase.Scope
        var ids: Set<RecordID>
        /// Whether only the system fields of the records changed.
        var isOfSystem = false
    }

    /// The row of one transaction.
    private struct ChangeRow {
        var id: Int64
        var origin: Int64
        var scope: CKDatabase.Scope
        var isOfSystem: Bool
        /// The changed records; nil if there were too many.
        var ids: Set<RecordID>?

        init(_ row: Row) throws {
            id = try row.decode(atIndex: 0)
            origin = try row.decode(atIndex: 1)
            let number: Int = try row.decode(atIndex: 2)
            isOfSystem = number < 0
            scope = CKDatabase.Scope(rawValue: isOfSystem ? 0 &- number : number) ?? .private
            let groups = try StoredJSON.decode(
                [[String]]?.self, from: try row.decode(atIndex: 3))
            ids = groups.map { groups in
                var ids: Set<RecordID> = []
                for group in groups where group.count > 2 {
                    let zone = ZoneID(name: group[0], ownerName: group[1])
                    for name in group.dropFirst(2) {
                        ids.insert(RecordID(name: name, zoneID: zone))
                    }
                }
                return ids
            }
        }
    }

    /// Notes what a transaction changed; without records, notes that there is something to do.
    ///
    /// - Parameter isOfSystem: whether only the system fields of the records changed; such a row stores the database as
    ///   a negative number.
    func noteChange(
        of ids: Set<RecordID>, in scope: CKDatabase.Scope, isOfSystem: Bool = false,
        _ database: Database
    ) throws {
        let last =
            try Int64.fetchOne(database.cachedStatement(sql: "SELECT max(id) FROM change")) ?? 0
        guard (0..<Self.endOfNumbers).contains(last) else {
            throw CacheError.damagedNumber
        }
        let id = last + max(1, Int64(ids.count))
        var content = JSONWriter(reservingBytes: 64 + ids.count * 48)
        if ids.count <= Self.recordsKept {
            // A page has many records, all of one zone.
            let first = ids.first.flatMap { id in
                ids.allSatisfy { $0.zoneID == id.zoneID } ? id.zoneID : nil
            }
            let zones = (first.map { [$0: Array(ids)] } ?? Dictionary(grouping: ids, by: \.zoneID))
                .sorted { ($0.key.name, $0.key.ownerName) < ($1.key.name, $1.key.ownerName) }
            content.array { content in
                for (zone, ids) in zones {
                    content.array { content in
                        content.string(zone.name)
                        content.string(zone.ownerName)
                        for name in ids.map(\.name).sorted() { content.string(name) }
                    }
                }
            }
        } else {
            content.null()
        }
        try database.cachedStatement(
            sql: "INSERT INTO change (id, origin, database, records) VALUES (?, ?, ?, ?)"
        ).execute(arguments: [
            id, origin, isOfSystem ? -scope.rawValue : scope.rawValue,
            Data(content.finish()),
        ])
        try database.cachedStatement(sql: "DELETE FROM change WHERE id <= ?")
            .execute(arguments: [id - Self.recordsKept])
    }

    static func lastChange(in pool: any DatabaseReader) throws -> Int64 {
        // A single statement reads one snapshot even without a transaction.
        try pool.unsafeRead {
            try Int64.fetchOne($0.cachedStatement(sql: "SELECT max(id) FROM change")) ?? 0
        }
    }

    /// The changes of other processes since the last call; nil if there are none.
    func takeForeignChanges() throws -> [ForeignChange]? {
        // One call at a time, so that nothing is reported twice.
        try seenChange.withLock { seen in
            let (rows, oldest) = try read { database in
                (
                    try Row.fetchAll(
                        database.cachedStatement(
                            sql:
                                "SELECT id, origin, database, records FROM change WHERE id > ? ORDER BY id"
                        ), arguments: [seen]
                    ).map { try ChangeRow($0) },
                    try Int64.fetchOne(database.cachedStatement(sql: "SELECT min(id) FROM change"))
                        ?? 0
                )
            }
            guard let last = rows.last else { return nil }
            // If the oldest kept row is the first unseen one and does not follow the last seen row, rows between them
            // were dropped. In a new file the first row follows none; the numbers tell whether any was dropped.
            let hasGap =
                rows.first?.id == oldest && oldest - 1 > seen
                && (seen > 0 || last.id > Self.recordsKept)
            seen = last.id
            var found: [ForeignChange] = []
            var wholes: Set<CKDatabase.Scope> = []
            var isForeign = false
            for row in rows where row.origin != origin {
                isForeign = true
                guard let ids = row.ids else {
                    wholes.insert(row.scope)
                    continue
                }
                found.append(ForeignChange(scope: row.scope, ids: ids, isOfSystem: row.isOfSystem))
            }
            if hasGap {
                // The dropped rows may be those of another process.
                isForeign = true
                wholes = [.private, .shared]
            }
            for scope in wholes.sorted(by: { $0.rawValue < $1.rawValue }) {
                found.append(ForeignChange(scope: scope, ids: try everyID(in: scope)))
            }
            return isForeign ? found : nil
        }
    }

    /// All records of a database, including deleted ones.
    private func everyID(in scope: CKDatabase.Scope) throws -> Set<RecordID> {
        try read { database in
            let rows = try Row.fetchAll(
                database,
                sql: """
                    SELECT record.name, zone.name, zone.owner FROM record
                    JOIN zone ON zone.id = record.zone WHERE zone.database = ?
                    UNION SELECT name, zone, owner FROM tombstone
                    WHERE database = ? AND name <> ''
                    """, arguments: [scope.rawValue, scope.rawValue])
            return Set(try rows.map { try RecordID($0) })
        }
    }
}
