import Foundation
import GRDB
import StratusRecords
import StratusSQLite

/// Declares types, which makes their tables, columns and views.
extension CacheFile {
    /// The names of the tables that the declared types must have.
    func tables(ofTypes database: Database) throws -> Set<String> {
        Set(
            try types(database).values.flatMap { type in
                [type.table] + (type.searchable.isEmpty ? [] : [type.wordTable])
            })
    }

    /// Updates columns, words and views to the app's declaration.
    ///
    /// - Throws: ``CacheError`` `invalidTypes`.
    func declare(_ declared: [CachedType]) throws {
        try Self.check(declared)
        let isUpToDate = try read { database in
            let types = try types(database)
            return types.count == declared.count
                && declared.allSatisfy { types[$0.recordType]?.conforms(to: $0) == true }
        }
        if isUpToDate { return }
        try write { database in
            let before = try types(database)
            var next = (before.values.map(\.number).max() ?? 0) + 1
            var after: [IndexedType] = []
            for type in declared {
                if let old = before[type.recordType], old.conforms(to: type) {
                    after.append(old)
                    continue
                }
                let new = IndexedType(
                    recordType: type.recordType, number: next,
                    columns: type.indexed.map { IndexedType.Column(key: $0) },
                    searchable: type.searchable, shown: type.columns)
                next += 1
                after.append(new)
            }
            let kept = Set(after.map(\.number))
            for old in before.values where !kept.contains(old.number) {
                try drop(old, database)
            }
            for index in after.indices where !before.values.contains(after[index]) {
                try create(after[index], database)
                try fill(&after[index], database)
            }
            try set(after, database)
        }
    }

    private static func check(_ declared: [CachedType]) throws {
        let names = declared.map { $0.recordType.lowercased() }
        let keys = declared.flatMap { $0.indexed + $0.searchable + $0.columns }
        guard Set(names).count == names.count, (names + keys).allSatisfy(Names.isIdentifier),
            declared.allSatisfy({ Set($0.indexed).count == $0.indexed.count })
        else {
            throw CacheError(
                .invalidTypes,
                "The declared types (\(declared.map(\.recordType).joined(separator: ", "))) have a record type or field twice, or with a name that records cannot have. Declare each once, with letters, digits and underscores."
            )
        }
    }

    private func drop(_ type: IndexedType, _ database: Database) throws {
        try database.execute(
            sql: """
                DROP VIEW IF EXISTS "\(type.view)";
                DROP TABLE IF EXISTS \(type.wordTable);
                DROP TABLE IF EXISTS \(type.table);
                """)
    }

    private func create(_ type: IndexedType, _ database: Database) throws {
        let texts = Self.schema(of: type)
        let found = try String.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT sql FROM sqlite_schema
                    WHERE sql IS NOT NULL AND tbl_name IN (?, ?, ?) ORDER BY rowid
                    """), arguments: [type.table, type.wordTable, type.view])
        if !found.isEmpty {
            // A file in memory that reuses a connection already has them; see SpareCacheFiles.
            if try found == texts && isEmpty(type, database) { return }
            try drop(type, database)
        }
        for text in texts { try database.execute(sql: text) }
    }

    private func isEmpty(_ type: IndexedType, _ database: Database) throws -> Bool {
        let tables = [type.table] + (type.searchable.isEmpty ? [] : [type.wordTable])
        return try tables.allSatisfy { table in
            try Bool.fetchOne(
                database.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM \(table))")) == false
        }
    }

    /// The texts of a type's tables, indexes and view, as SQLite keeps them.
    private static func schema(of type: IndexedType) -> [String] {
        let columns = type.columns.indices.map { ", k\($0) BLOB NOT NULL" }.joined()
        var texts = [
            """
            CREATE TABLE \(type.table) (
                record INTEGER PRIMARY KEY REFERENCES record ON DELETE CASCADE,
                zone INTEGER NOT NULL, zoneName TEXT NOT NULL, name TEXT NOT NULL\(columns))
            """,
            "CREATE INDEX \(type.table)_name ON \(type.table) (zoneName, name, zone)",
        ]
        for column in type.columns.indices {
            texts.append(
                """
                CREATE INDEX \(type.table)_k\(column)
                ON \(type.table) (k\(column), zoneName, name, zone)
                """)
        }
        if !type.searchable.isEmpty {
            texts += [
                """
                CREATE TABLE \(type.wordTable) (
                    word BLOB NOT NULL,
                    record INTEGER NOT NULL REFERENCES record ON DELETE CASCADE,
                    PRIMARY KEY (word, record)) WITHOUT ROWID
                """,
                "CREATE INDEX \(type.wordTable)_record ON \(type.wordTable) (record)",
            ]
        }
        return texts + [type.viewSQL]
    }

    /// Reads every record of the type once.
    private func fill(_ type: inout IndexedType, _ database: Database) throws {
        let rows = try Row.fetchCursor(
            database,
            sql: """
                SELECT \(RecordSnapshot.columns), record.id, record.name, zone.id, zone.name, zone.owner
                FROM record JOIN zone ON zone.id = record.zone WHERE type = ?
                """, arguments: [type.recordType])
        while let row = try rows.next() {
            let zone = ZoneID(
                name: try row.decode(atIndex: 7), ownerName: try row.decode(atIndex: 8))
            let record = try RecordSnapshot(
                row, id: RecordID(name: try row.decode(atIndex: 5), zoneID: zone),
                type: try row.decode(atIndex: 0), at: 1)
            _ = try type.index(
                record, key: try row.decode(atIndex: 4), zoneKey: try row.decode(atIndex: 6),
                database)
        }
    }
}

extension IndexedType {
    /// A column for each field, by the JSON of the record.
    fileprivate var viewSQL: String {
        var fields: [String] = []
        for key in columns.map(\.key) + searchable + shown
        where !fields.contains(key) && !["creationDate", "modificationDate"].contains(key) {
            fields.append(key)
        }
        let json = "CAST(record.fields AS TEXT)"
        let columns = fields.map { key in
            """
            ,
                coalesce(json_extract(\(json), '$."\(key)".value.recordName'),
                    json_extract(\(json), '$."\(key)".value')) AS "\(key)"
            """
        }
        let system = "CAST(record.system AS TEXT)"
        return """
            CREATE VIEW "\(view)" AS SELECT record.name AS _recordName, zone.name AS _zoneName,
                zone.owner AS _zoneOwner,
                CASE zone.database WHEN 3 THEN 'shared' ELSE 'private' END AS _database,
                json_extract(\(system), '$.created') AS _created,
                json_extract(\(system), '$.modified') AS _modified\(columns.joined())
            FROM record JOIN zone ON zone.id = record.zone
            WHERE record.type = '\(recordType)'
            """
    }
}
