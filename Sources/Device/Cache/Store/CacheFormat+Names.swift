import GRDB
import StratusClient

/// How a record is found by its name.
extension CacheFormat {
    /// `NameHash.of` in SQL, on every connection of the cache.
    static let nameHash = DatabaseFunction("stratus_name_hash", argumentCount: 1, pure: true) {
        String.fromDatabaseValue($0[0]).map { NameHash.of($0) }
    }

    /// A record by its zone's key, its name's hash and its name.
    static let isNamed = "zone = ? AND nameHash = ? AND name = ?"

    /// The record of a pending change.
    static let isOfPending = """
        record.zone = pending.zone AND record.nameHash = stratus_name_hash(pending.name)
        AND record.name = pending.name
        """

    /// From format 9 to 10: names are found by their hashes. That a name is one record's is seen to by the gate to
    /// the table, `CacheStore+RecordRows.swift`, as SQLite has no index of names any more.
    ///
    /// The table is made anew, as SQLite cannot take a constraint away. What refers to it does so by its name: the
    /// texts of references, views and triggers, the app's own too, stay as they are.
    static func findByHash(_ database: Database) throws {
        database.add(function: nameHash)
        let triggers = try String.fetchAll(
            database,
            sql: """
                SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'record' ORDER BY rowid
                """)
        try database.execute(
            sql: """
                CREATE TABLE newRecord (
                    id INTEGER PRIMARY KEY, zone INTEGER NOT NULL REFERENCES zone ON DELETE CASCADE,
                    nameHash INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, system BLOB,
                    parent TEXT, fields BLOB NOT NULL, pass INTEGER NOT NULL);
                INSERT INTO newRecord
                SELECT id, zone, stratus_name_hash(name), name, type, system, parent, fields, pass
                FROM record ORDER BY id;
                DROP TABLE record;
                PRAGMA legacy_alter_table = ON;
                ALTER TABLE newRecord RENAME TO record;
                PRAGMA legacy_alter_table = OFF;
                CREATE INDEX recordByName ON record (zone, nameHash);
                CREATE INDEX recordByType ON record (zone, type);
                """)
        for trigger in triggers { try database.execute(sql: trigger) }
    }
}
