import GRDB
import StratusRuntime
import StratusSQLite

/// The tables of the directory's file.
enum DirectoryFile {
    /// "STRD" as a number.
    private static let applicationID: Int32 = 0x5354_5244
    private static let signingKeyBytes = 32

    /// - Parameter identity: The identity to store in the file, if it has none yet.
    static func format(world: World, identity: FileIdentity? = nil) -> StoredFormat {
        StoredFormat(
            applicationID: applicationID,
            migrations: [
                .init("directory", sql: tables),
                .init("schema marks", sql: schemaMarks),
                .init("schema roles", sql: schemaRoles),
                .init("accounts", sql: accountTables),
                .init("devices", sql: deviceTables),
                .init("sharing", sql: sharingTables),
                .init("marks") { database in
                    try database.execute(sql: historyTable)
                    try FileStamp.write(
                        identity ?? FileIdentity(address: "", identifier: world.randomNumber()),
                        into: database)
                },
                .init("marks of who made records", sql: creatorMarks),
                .init("devices of sessions", sql: sessionDevices),
                .init("accounts being removed", sql: accountRemovals),
            ],
            begin: { database in
                try SQLStatement(
                    database, "INSERT OR REPLACE INTO setting VALUES ('signing_key', ?)"
                )
                .bind(1, world.randomBytes(signingKeyBytes))
                .run()
            })
    }

    /// The database from which directories in memory are copied.
    static let template = MemoryTemplate("directory", format(world: .live))

    private static let historyTable = """
        -- One row: which file this is, and how many commits it has had.
        CREATE TABLE history (
            singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
            \(FileIdentity.columns)
        ) STRICT;
        INSERT INTO history (singleton) VALUES (1);
        """

    private static let tables = """
        CREATE TABLE setting (
            name TEXT PRIMARY KEY,
            value BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE container (
            container TEXT NOT NULL,
            environment TEXT NOT NULL,
            PRIMARY KEY (container, environment)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE api_token (
            token TEXT PRIMARY KEY,
            container TEXT NOT NULL,
            environment TEXT NOT NULL,
            name TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE user (
            record_name TEXT PRIMARY KEY,
            name TEXT NOT NULL UNIQUE
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE session (
            identifier TEXT PRIMARY KEY,
            user TEXT NOT NULL,
            stays_signed_in INTEGER NOT NULL,
            created_ms INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE device (
            push_token TEXT PRIMARY KEY,
            container TEXT NOT NULL,
            environment TEXT NOT NULL,
            user TEXT NOT NULL,
            client_id TEXT NOT NULL,
            last_used_ms INTEGER NOT NULL,
            is_registered INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX device_by_user
            ON device (user, container, environment, last_used_ms, push_token);

        -- A type without fields has one row whose field is empty and whose type is null.
        CREATE TABLE schema_field (
            container TEXT NOT NULL,
            environment TEXT NOT NULL,
            record_type TEXT NOT NULL,
            field TEXT NOT NULL,
            type TEXT,
            is_encrypted INTEGER NOT NULL,
            PRIMARY KEY (container, environment, record_type, field)
        ) STRICT, WITHOUT ROWID;
        """
}
