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

    /// From format 9 to 10: names are found by their hashes. `CacheStore+RecordRows.swift`, through which all writes
    /// go, keeps names unique, because SQLite no longer has an index of names.
    ///
    /// The table is recreated, because SQLite cannot drop a constraint. References, views and triggers, including the
    /// app's own, refer to it by name, so their SQL stays unchanged.
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
