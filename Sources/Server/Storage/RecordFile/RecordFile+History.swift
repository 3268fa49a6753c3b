extension RecordFile {
    /// The states that later changes replaced, for the ancestor in a conflict, and the tombstones by their versions.
    /// The design is in Documentation/Decisions/0004.
    static let historyTables = """
        CREATE TABLE record_ancestor (
            zone INTEGER NOT NULL,
            replaced_at INTEGER NOT NULL,
            change_tag TEXT NOT NULL,
            modified_ms INTEGER NOT NULL,
            modifier TEXT NOT NULL,
            modifier_device TEXT NOT NULL,
            parent TEXT,
            payload BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX record_ancestor_by_version ON record_ancestor (zone, replaced_at);

        -- deleted is there so that the index covers what is asked of it.
        CREATE INDEX record_tombstone ON record (zone, deleted, version, modified_ms)
            WHERE deleted = 1;
        """
}
