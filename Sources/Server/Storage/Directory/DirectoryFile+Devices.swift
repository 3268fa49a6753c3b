extension DirectoryFile {
    /// Devices with a channel, and one push token for several containers.
    static let deviceTables = """
        ALTER TABLE device RENAME TO device_before;

        -- channel: 0 the web courier, 1 and 2 Apple's push service (development, production).
        CREATE TABLE device (
            push_token TEXT NOT NULL,
            container TEXT NOT NULL,
            environment TEXT NOT NULL,
            user TEXT NOT NULL,
            client_id TEXT NOT NULL,
            last_used_ms INTEGER NOT NULL,
            is_registered INTEGER NOT NULL,
            channel INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (push_token, container, environment)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO device SELECT *, 0 FROM device_before;
        DROP TABLE device_before;
        CREATE INDEX device_by_user
            ON device (user, container, environment, last_used_ms, push_token);
        """
}
