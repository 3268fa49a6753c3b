import GRDB
import StratusRecords
import StratusRuntime
import StratusSQLite

/// The tables of one database's file. The design is in Documentation/Decisions/0003.
enum RecordFile {
    /// "STRR" as a number.
    private static let applicationID: Int32 = 0x5354_5252

    /// - Parameter identity: The identity to store in the file, if it has none yet.
    static func format(world: World, identity: FileIdentity? = nil) -> StoredFormat {
        StoredFormat(
            applicationID: applicationID,
            migrations: [
                .init("records", sql: tables),
                .init("references and ancestors", sql: referenceTables + historyTables),
                .init("assets", sql: assetTables),
                .init("usage", sql: usageTables),
                .init("sharing", sql: sharingTables),
                .init("indexes", sql: indexTables),
                .init("encryption scope", sql: encryptionColumn),
                addMarks(world: world, identity: identity),
                .init("epochs", sql: epochTables),
                .init("long changes", sql: longChangeTables),
                addCompoundIndexesAndZoneChecksums,
            ],
            begin: { database in
                try begin(database, Epoch(number: 1, identifier: world.randomNumber()))
            })
    }

    /// The database from which databases in memory are copied.
    static let template = MemoryTemplate("records", format(world: .live))

    /// Stores the history's identifier and the zone that every database has.
    private static func begin(_ database: Database, _ epoch: Epoch) throws {
        if try !renameFirstEpoch(database, epoch) {
            // Here the columns have the names of the first format.
            try SQLStatement(database, "INSERT INTO history VALUES (1, ?, ?, 1)")
                .bind(1, epoch.number)
                .bind(2, Int64(bitPattern: epoch.identifier))
                .run()
        }
        // Columns of later migrations have default values.
        try SQLStatement(
            database,
            """
            INSERT OR IGNORE INTO zone (
                name, generation, version, floor, has_feed, changed_at_database_version)
            VALUES (?, 1, 0, 0, 0, 1)
            """
        )
        .bind(1, ZoneID.defaultZoneName)
        .run()
    }

    private static let encryptionColumn = """
        -- How far a key of the zone's encrypted values reaches, as the protocol says it.
        ALTER TABLE zone ADD COLUMN encryption_scope TEXT NOT NULL DEFAULT 'PER_RECORD';
        """

    /// A zone's purge horizon is the column `floor`, whose name is part of the format.
    private static let tables = """
        -- One row. version counts the changes of the database.
        CREATE TABLE history (
            singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
            incarnation_number INTEGER NOT NULL,
            incarnation_identifier INTEGER NOT NULL,
            version INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE zone (
            zone INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            generation INTEGER NOT NULL,
            version INTEGER NOT NULL,
            floor INTEGER NOT NULL,
            has_feed INTEGER NOT NULL,
            changed_at_database_version INTEGER NOT NULL UNIQUE,
            deletion INTEGER
        ) STRICT;

        CREATE TABLE record (
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            type TEXT NOT NULL,
            version INTEGER NOT NULL,
            commit_version INTEGER NOT NULL,
            change_tag TEXT NOT NULL,
            deleted INTEGER NOT NULL,
            creator_device TEXT NOT NULL,
            created_ms INTEGER NOT NULL,
            modified_ms INTEGER NOT NULL,
            creator TEXT NOT NULL,
            modifier TEXT NOT NULL,
            modifier_device TEXT NOT NULL,
            parent TEXT,
            share_root TEXT,
            payload BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX record_by_name ON record (zone, name);
        CREATE UNIQUE INDEX record_by_version ON record (zone, version);
        CREATE INDEX record_by_parent ON record (zone, parent, name) WHERE parent IS NOT NULL;

        CREATE TABLE subscription (
            user TEXT NOT NULL,
            identifier TEXT NOT NULL,
            body BLOB NOT NULL,
            PRIMARY KEY (user, identifier)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE applied_operation (
            user TEXT NOT NULL,
            device TEXT NOT NULL,
            operation TEXT NOT NULL,
            outcome BLOB NOT NULL,
            expires_ms INTEGER NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX applied_operation_by_key
            ON applied_operation (user, device, operation);
        CREATE INDEX applied_operation_by_expiry ON applied_operation (expires_ms);

        -- AUTOINCREMENT, so that no identifier is used twice after the outbox was emptied.
        CREATE TABLE outbox (
            identifier INTEGER PRIMARY KEY AUTOINCREMENT,
            body BLOB NOT NULL
        ) STRICT;
        """
}
