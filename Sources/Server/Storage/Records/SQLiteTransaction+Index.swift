import StratusRecords
import StratusSQLite

extension SQLiteTransaction {
    private static let indexColumns = """
        index_id, record_type, field, kind, value_type, phase, progress_zone, progress_name, \
        order_field, order_type
        """

    // MARK: Indexes

    func indexes() throws -> [IndexRow] {
        try statement("SELECT \(Self.indexColumns) FROM index_definition ORDER BY index_id")
            .all(Self.index)
    }

    func indexes(ofType recordType: String) throws -> [IndexRow] {
        try statement(
            """
            SELECT \(Self.indexColumns) FROM index_definition WHERE record_type = ?
            ORDER BY index_id
            """
        )
        .bind(1, recordType)
        .all(Self.index)
    }

    var hasRecordsOlderThanIndexes: Bool {
        get throws {
            try statement("SELECT has_older_records FROM index_origin WHERE singleton = 1")
                .first { $0.integer(0) != 0 } ?? false
        }
    }

    func createIndex(
        _ definition: IndexRow.Definition, phase: IndexRow.Phase
    ) throws -> IndexRow {
        let key = try statement(
            """
            INSERT INTO index_definition (\(Self.indexColumns))
            VALUES (NULL, ?, ?, ?, ?, ?, 0, '', ?, ?) RETURNING index_id
            """
        )
        .bind(1, definition.recordType)
        .bind(2, definition.field)
        .bind(3, Int64(definition.kind.rawValue))
        .bind(4, definition.valueType?.rawValue)
        .bind(5, Int64(phase.rawValue))
        .bind(6, definition.order?.field)
        .bind(7, definition.order?.valueType.rawValue)
        .first { $0.integer(0) }
        return IndexRow(
            key: IndexRow.Key(rawValue: key ?? 0), definition: definition, phase: phase)
    }

    func update(_ index: IndexRow) throws {
        try statement(
            """
            UPDATE index_definition SET phase = ?, progress_zone = ?, progress_name = ?
            WHERE index_id = ?
            """
        )
        .bind(1, Int64(index.phase.rawValue))
        .bind(2, index.progressZone.rawValue)
        .bind(3, index.progressName)
        .bind(4, index.key.rawValue)
        .run()
    }

    func deleteIndex(_ index: IndexRow.Key) throws {
        try statement("DELETE FROM index_definition WHERE index_id = ?")
            .bind(1, index.rawValue)
            .run()
    }

    private static func index(_ row: SQLStatement) throws -> IndexRow {
        let order = row.optionalText(9).flatMap(FieldType.init(rawValue:)).map {
            IndexRow.Definition.Order(field: row.text(8), valueType: $0)
        }
        guard let kind = IndexRow.Kind(rawValue: Int(row.integer(3))),
            let phase = IndexRow.Phase(rawValue: Int(row.integer(5))),
            (kind == .compound) == (order != nil)
        else {
            throw StorageError(
                .corrupt,
                "The database has an index of \(row.text(1)) with an unknown kind or phase. Restore it from "
                    + "a backup.")
        }
        return IndexRow(
            key: IndexRow.Key(rawValue: row.integer(0)),
            definition: IndexRow.Definition(
                recordType: row.text(1), field: row.text(2), kind: kind,
                valueType: row.optionalText(4).flatMap(FieldType.init(rawValue:)), order: order),
            phase: phase, progressZone: ZoneRow.Key(rawValue: row.integer(6)),
            progressName: row.text(7))
    }

    // MARK: Entries

    func entries(
        of index: IndexRow.Key, in zone: ZoneRow.Key, between bounds: (IndexEntry, IndexEntry),
        isAscending: Bool, limit: Int
    ) throws -> [IndexEntry] {
        let order = isAscending ? "key, name" : "key DESC, name DESC"
        return try bind(
            statement(
                """
                SELECT key, name FROM record_index
                WHERE zone = ? AND index_id = ? AND (key, name) > (?, ?) AND (key, name) < (?, ?)
                ORDER BY \(order) LIMIT ?
                """), index, zone, bounds, limit
        ).all { IndexEntry(key: $0.bytes(0), name: $0.text(1)) }
    }

    func entryCount(
        of index: IndexRow.Key, in zone: ZoneRow.Key, between bounds: (IndexEntry, IndexEntry),
        limit: Int
    ) throws -> Int {
        // Counts rows one by one, so that it stops at the limit without a subquery's table.
        var count = 0
        try bind(
            statement(
                """
                SELECT 1 FROM record_index
                WHERE zone = ? AND index_id = ? AND (key, name) > (?, ?) AND (key, name) < (?, ?)
                LIMIT ?
                """), index, zone, bounds, limit
        ).rows { _ in
            count += 1
            return true
        }
        return count
    }

    private func bind(
        _ statement: SQLStatement, _ index: IndexRow.Key, _ zone: ZoneRow.Key,
        _ bounds: (IndexEntry, IndexEntry), _ limit: Int
    ) throws -> SQLStatement {
        try statement
            .bind(1, zone.rawValue)
            .bind(2, index.rawValue)
            .bind(3, bounds.0.key)
            .bind(4, bounds.0.name)
            .bind(5, bounds.1.key)
            .bind(6, bounds.1.name)
            .bind(7, Int64(max(limit, 1)))
    }

    func put(_ entry: IndexEntry, of index: IndexRow.Key, in zone: ZoneRow.Key) throws {
        let statement = try putEntryStatement(
            "INSERT OR IGNORE INTO record_index (zone, index_id, key, name) VALUES (?, ?, ?, ?)")
        try run(statement, for: entry, of: index, in: zone)
    }

    func delete(_ entry: IndexEntry, of index: IndexRow.Key, in zone: ZoneRow.Key) throws {
        let statement = try deleteEntryStatement(
            "DELETE FROM record_index WHERE zone = ? AND index_id = ? AND key = ? AND name = ?")
        try run(statement, for: entry, of: index, in: zone)
    }

    private func run(
        _ statement: SQLStatement, for entry: IndexEntry, of index: IndexRow.Key,
        in zone: ZoneRow.Key
    ) throws {
        try statement.bind(1, zone.rawValue)
        try statement.bind(2, index.rawValue)
        try statement.bind(3, entry.key)
        try statement.bind(4, entry.name)
        try statement.run()
    }

    // MARK: Records

    func records(
        in zone: ZoneRow.Key, after name: String, limit: Int, payloadBytes: Int
    ) throws -> [RecordRow] {
        try statement(
            """
            SELECT \(Self.recordColumns) FROM record WHERE zone = ? AND name > ?
            ORDER BY name LIMIT ?
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, name)
        .bind(3, Int64(max(limit, 1)))
        .records(of: self, untilBytes: payloadBytes)
    }

    func names(
        madeBy creator: String?, in zone: ZoneRow.Key, after name: String, limit: Int
    ) throws -> CreatedNames {
        var found = CreatedNames(names: [], last: nil)
        var looked = 0
        try statement(
            """
            SELECT name, deleted = 0 AND (?1 IS NULL OR creator = ?1) FROM record
            WHERE zone = ?2 AND name > ?3 ORDER BY name LIMIT ?4
            """
        )
        .bind(1, creator)
        .bind(2, zone.rawValue)
        .bind(3, name)
        .bind(4, Int64(max(limit, 1)))
        .rows { row in
            looked += 1
            found.last = row.text(0)
            if row.integer(1) != 0 { found.names.append(row.text(0)) }
            return true
        }
        if looked < max(limit, 1) { found.last = nil }
        return found
    }
}
