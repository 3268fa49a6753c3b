extension RecordFile {
    static let sharingTables = """
        -- Of a share what it says, of a shared root which share it has; null for all others.
        ALTER TABLE record ADD COLUMN sharing BLOB;
        CREATE INDEX record_by_share_root ON record (zone, share_root, version)
            WHERE share_root IS NOT NULL;

        -- Derived from the records of shares; root is null when the whole zone is shared.
        CREATE TABLE share (
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            root TEXT,
            short_guid TEXT NOT NULL UNIQUE,
            PRIMARY KEY (zone, name)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE share_access (
            zone INTEGER NOT NULL,
            user TEXT NOT NULL,
            share TEXT NOT NULL,
            root TEXT,
            can_write INTEGER NOT NULL,
            since INTEGER NOT NULL,
            PRIMARY KEY (zone, user, share)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX share_access_by_share ON share_access (zone, share);

        -- A record that left the view of a root's share.
        CREATE TABLE share_event (
            zone INTEGER NOT NULL,
            root TEXT NOT NULL,
            name TEXT NOT NULL,
            type TEXT NOT NULL,
            version INTEGER NOT NULL,
            commit_version INTEGER NOT NULL,
            PRIMARY KEY (zone, root, name)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX share_event_by_version
            ON share_event (zone, root, version, commit_version, type);
        CREATE INDEX share_event_by_zone ON share_event (zone, version);

        -- The zones of others that this database's owner takes part in.
        CREATE TABLE shared_zone (
            owner TEXT NOT NULL,
            name TEXT NOT NULL,
            seen_version INTEGER NOT NULL,
            seen_access INTEGER NOT NULL,
            changed_at_database_version INTEGER NOT NULL UNIQUE,
            deleted INTEGER NOT NULL,
            PRIMARY KEY (owner, name)
        ) STRICT, WITHOUT ROWID;
        """
}

extension DirectoryFile {
    static let sharingTables = """
        CREATE TABLE short_guid (
            short_guid TEXT PRIMARY KEY,
            container TEXT NOT NULL,
            environment TEXT NOT NULL,
            owner TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """
}
