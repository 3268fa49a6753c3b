import Foundation
import GRDB
import StratusClient
import StratusMatching
import StratusRecords

/// A record that a query found.
struct FoundRecord: Sendable {
    var record: RecordSnapshot
    var place: CompiledQuery.Place
}

/// Queries over the rows of a database.
///
/// For a declared type SQLite reads the rows in order and skips those that the columns exclude;
/// every row that is read is checked by ``CompiledQuery/matches(_:searchable:)``. For other types
/// all records are read.
extension CacheStore {
    /// How many rows are read in the query's order before the conditions are used instead.
    private static let rowsTriedInOrder = 300
    /// The maximum number of queries whose statements are cached.
    static let queriesKept = 100

    /// The records of the query's page, in order; one more than the limit if more follow.
    func find(_ query: CompiledQuery, _ database: Database) throws -> [FoundRecord] {
        let type = try file.types(database)[query.recordType]
        let zones = try zoneIDs(database)
        let wanted = query.limit.map { $0 == .max ? .max : $0 + 1 } ?? .max
        guard let type, let order = type.order(of: query) else {
            return try sorted(query, type, zones, wanted, database)
        }
        let filter = query.condition.columnFilter(type)
        if filter != nil, wanted < Self.rowsTriedInOrder {
            // The first rows are often enough, and SQLite does not know how selective the
            // conditions are.
            let count = max(Self.rowsTriedInOrder, 8 * wanted)
            let found = try read(
                query, type, order, filter, zones, wanted, first: count, database)
            if found.count >= wanted { return found }
        }
        return try read(query, type, order, filter, zones, wanted, first: nil, database)
    }

    func count(_ query: CompiledQuery, _ database: Database) throws -> Int {
        var count = 0
        let type = try file.types(database)[query.recordType]
        let zones = try zoneIDs(database)
        try forEach(query, type, zones, database) { record, zoneKey in
            if query.isOnPage(query.place(of: record, zoneKey: zoneKey)) { count += 1 }
        }
        return min(count, query.limit ?? .max)
    }

    /// The records with these IDs that are here and visible to the app, with the keys of their
    /// zones.
    func rows(
        of ids: [RecordID], _ database: Database
    ) throws -> [(record: RecordSnapshot, zoneKey: Int64)] {
        try ids.compactMap { id in
            guard let zone = try zone(id.zoneID, database) else { return nil }
            file.rowsRead.add(1, ordering: .relaxed)
            return try record(id.name, zone, database)
                .flatMap { isHidden($0) ? nil : ($0, zone.key) }
        }
    }

    private func zoneIDs(_ database: Database) throws -> [Int64: ZoneID] {
        Dictionary(try CachedZoneRow.all(where: isHere, database).map { ($0.key, $0.id) }) { $1 }
    }

    /// Calls a closure with every match, in any order.
    private func forEach(
        _ query: CompiledQuery, _ type: IndexedType?, _ zones: [Int64: ZoneID],
        _ database: Database, _ body: (RecordSnapshot, Int64) -> Void
    ) throws {
        let keys = zones.filter { query.zoneID == nil || query.zoneID == $0.value }.keys
        var sql = "SELECT r.type, r.system, r.parent, r.fields, r.name, r.zone FROM "
        sql +=
            type.map { "\($0.table) AS i CROSS JOIN record AS r ON r.id = i.record" }
            ?? "record AS r"
        sql += " WHERE \(Self.list("r.zone", keys)) AND r.type = ?"
        var arguments: StatementArguments = [query.recordType]
        if let filter = query.condition.columnFilter(type) {
            sql += " AND \(filter.sql)"
            arguments += StatementArguments(filter.arguments)
        }
        let rows = try Row.fetchCursor(statement(sql, database), arguments: arguments)
        while let row = try rows.next() {
            guard let (record, zoneKey) = try found(row, zones),
                query.matches(record, searchable: type?.searchedFields)
            else { continue }
            body(record, zoneKey)
        }
    }

    /// Reads all matches, and keeps those of the page.
    private func sorted(
        _ query: CompiledQuery, _ type: IndexedType?, _ zones: [Int64: ZoneID], _ wanted: Int,
        _ database: Database
    ) throws -> [FoundRecord] {
        var matches: [FoundRecord] = []
        let isInOrder: (FoundRecord, FoundRecord) -> Bool = { query.isBefore($0.place, $1.place) }
        let most = wanted > 1_000_000 ? Int.max : 2 * wanted + 1_000
        try forEach(query, type, zones, database) { record, zoneKey in
            let place = query.place(of: record, zoneKey: zoneKey)
            guard query.isOnPage(place) else { return }
            matches.append(FoundRecord(record: record, place: place))
            if matches.count > most {
                matches.sort(by: isInOrder)
                matches.removeSubrange(wanted...)
            }
        }
        matches.sort(by: isInOrder)
        return matches.count > wanted ? Array(matches[..<wanted]) : matches
    }

    /// Reads rows in SQLite's order, only as many as are needed.
    private func read(
        _ query: CompiledQuery, _ type: IndexedType, _ order: IndexedType.Order,
        _ filter: ColumnFilter?, _ zones: [Int64: ZoneID], _ wanted: Int, first count: Int?,
        _ database: Database
    ) throws -> [FoundRecord] {
        let keys = zones.filter { query.zoneID == nil || query.zoneID == $0.value }.keys
        let start = order.after(query.start)
        var arguments = StatementArguments(start.arguments)
        var source = "\(type.table) AS i"
        var conditions = [Self.list("i.zone", keys)]
        if let count {
            source =
                "(SELECT * FROM \(source) WHERE \(start.sql) ORDER BY \(order.sql) LIMIT \(count)) AS i"
        } else {
            conditions.append(start.sql)
        }
        if let filter {
            conditions.append(filter.sql)
            arguments += StatementArguments(filter.arguments)
        }
        let statement = try statement(
            """
            SELECT r.type, r.system, r.parent, r.fields, r.name, r.zone
            FROM \(source) CROSS JOIN record AS r ON r.id = i.record
            WHERE \(conditions.joined(separator: " AND ")) ORDER BY \(order.sql)
            """, database)
        let rows = try Row.fetchCursor(statement, arguments: arguments)
        var matches: [FoundRecord] = []
        while matches.count < wanted, let row = try rows.next() {
            guard let (record, zoneKey) = try found(row, zones),
                query.matches(record, searchable: type.searchedFields)
            else { continue }
            matches.append(
                FoundRecord(record: record, place: query.place(of: record, zoneKey: zoneKey)))
        }
        return matches
    }

    /// A query's statement, which the connection caches: an app has few queries, and observers
    /// repeat theirs. Beyond the limit, statements are prepared each time.
    private func statement(_ sql: String, _ database: Database) throws -> Statement {
        let isKept = file.keptQueries.withLock { kept in
            if kept.count < Self.queriesKept { kept.insert(sql) }
            return kept.contains(sql)
        }
        return try isKept ? database.cachedStatement(sql: sql) : database.makeStatement(sql: sql)
    }

    private static func list(_ column: String, _ keys: some Collection<Int64>) -> String {
        "\(column) IN (" + keys.sorted().map { "\($0)" }.joined(separator: ", ") + ")"
    }

    private func found(
        _ row: Row, _ zones: [Int64: ZoneID]
    ) throws -> (RecordSnapshot, Int64)? {
        file.rowsRead.add(1, ordering: .relaxed)
        let zoneKey: Int64 = try row.decode(atIndex: 5)
        guard let zone = zones[zoneKey] else { return nil }
        let record = try RecordSnapshot(
            row, id: RecordID(name: try row.decode(atIndex: 4), zoneID: zone),
            type: try row.decode(atIndex: 0), at: 1)
        return isHidden(record) ? nil : (record, zoneKey)
    }
}

extension IndexedType {
    /// A query's order by columns.
    struct Order {
        var columns: [(name: String, isAscending: Bool)]

        var sql: String {
            columns.map { "i.\($0.name) \($0.isAscending ? "ASC" : "DESC")" }
                .joined(separator: ", ")
        }

        /// The rows after a cursor's.
        func after(_ cursor: CacheCursor?) -> ColumnFilter {
            guard let cursor else { return ColumnFilter(sql: "1") }
            let values: [DatabaseValue] =
                cursor.place.keys.map { Data($0).databaseValue }
                + [
                    cursor.place.zoneName.databaseValue, cursor.place.recordName.databaseValue,
                    cursor.zoneKey.databaseValue,
                ]
            var ways: [String] = []
            var arguments: [DatabaseValue] = []
            // A condition with which SQLite can begin within the index.
            var all = "1"
            if let first = columns.first {
                all = "i.\(first.name) \(first.isAscending ? ">=" : "<=") ?"
                arguments.append(values[0])
            }
            for index in columns.indices {
                var parts = columns[..<index].map { "i.\($0.name) = ?" }
                let column = columns[index]
                parts.append("i.\(column.name) \(column.isAscending ? ">" : "<") ?")
                ways.append("(" + parts.joined(separator: " AND ") + ")")
                arguments += values[...index]
            }
            return ColumnFilter(
                sql: "\(all) AND (\(ways.joined(separator: " OR ")))", arguments: arguments)
        }
    }

    /// Nil if a sort key has no column.
    func order(of query: CompiledQuery) -> Order? {
        var columns: [(name: String, isAscending: Bool)] = []
        for key in query.order.keys {
            guard key.centre == nil else { return nil }
            if key.field == .system(.recordName) { return nil }
            guard let index = column(of: key.field) else { return nil }
            columns.append(("k\(index)", key.isAscending))
        }
        return Order(
            columns: columns + [("zoneName", true), ("name", true), ("zone", true)])
    }

    /// The fields whose words `SELF` searches; nil means all.
    var searchedFields: [String]? { searchable.isEmpty ? nil : searchable }
}
