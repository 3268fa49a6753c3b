extension DirectoryFile {
    /// The names that the devices of sessions send.
    static let sessionDevices = "ALTER TABLE session ADD COLUMN device TEXT"

    /// Accounts that are being deleted; there are few at a time.
    static let accountRemovals = """
        ALTER TABLE user ADD COLUMN is_being_removed INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX user_being_removed ON user (record_name) WHERE is_being_removed = 1;
        """

    /// Users with passwords and identities, their consents, the containers of tokens and sessions, and the
    /// keys of servers.
    static let accountTables = """
        -- One origin per line.
        ALTER TABLE api_token ADD COLUMN allowed_origins TEXT NOT NULL DEFAULT '';
        ALTER TABLE api_token ADD COLUMN callback_url TEXT;
        ALTER TABLE api_token ADD COLUMN created_ms INTEGER NOT NULL DEFAULT 0;

        ALTER TABLE user ADD COLUMN email TEXT;
        ALTER TABLE user ADD COLUMN is_email_verified INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE user ADD COLUMN password TEXT;
        ALTER TABLE user ADD COLUMN given_name TEXT;
        ALTER TABLE user ADD COLUMN family_name TEXT;
        ALTER TABLE user ADD COLUMN is_disabled INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE user ADD COLUMN created_ms INTEGER NOT NULL DEFAULT 0;
        CREATE UNIQUE INDEX user_by_verified_email ON user (email) WHERE is_email_verified = 1;

        -- Null is every container.
        ALTER TABLE session ADD COLUMN container TEXT;
        ALTER TABLE session ADD COLUMN environment TEXT;
        ALTER TABLE session ADD COLUMN last_used_ms INTEGER NOT NULL DEFAULT 0;
        UPDATE session SET last_used_ms = created_ms;
        CREATE INDEX session_by_use ON session (stays_signed_in, last_used_ms);
        CREATE INDEX session_by_user ON session (user);

        CREATE TABLE identity (
            issuer TEXT NOT NULL,
            subject TEXT NOT NULL,
            user TEXT NOT NULL,
            PRIMARY KEY (issuer, subject)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX identity_by_user ON identity (user);

        -- A row says that the user can be found in the container.
        CREATE TABLE discoverable (
            user TEXT NOT NULL,
            container TEXT NOT NULL,
            environment TEXT NOT NULL,
            PRIMARY KEY (user, container, environment)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE server_key (
            identifier TEXT PRIMARY KEY,
            container TEXT NOT NULL,
            environment TEXT NOT NULL,
            name TEXT NOT NULL,
            public_key TEXT NOT NULL,
            user TEXT NOT NULL,
            created_ms INTEGER NOT NULL,
            spent_through_ms INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """
}
