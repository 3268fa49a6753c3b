import GRDB

/// The tables of the directory's file.
enum DirectoryFile {
    /// "STRD" as a number.
    private static let applicationID: Int64 = 0x5354_5244
    private static let signingKeyBytes = 32

    static func format(random: RandomSource) -> FileFormat {
        FileFormat(
            applicationID: applicationID,
            steps: [
                { database in
                    try database.execute(sql: tables)
                    try SQLStatement(database, "INSERT INTO setting VALUES ('signing_key', ?)")
                        .bind(1, random.bytes(signingKeyBytes))
                        .run()
                },
                { try $0.execute(sql: schemaMarks) },
                { try $0.execute(sql: schemaRoles) },
                { try $0.execute(sql: accountTables) },
                { try $0.execute(sql: deviceTables) },
                { try $0.execute(sql: sharingTables) },
            ])
    }

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
