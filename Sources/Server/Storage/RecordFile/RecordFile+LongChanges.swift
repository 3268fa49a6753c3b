extension RecordFile {
    /// One table for all kinds: each table or index costs every database a page.
    static let longChangeTables = """
        -- What is still to be done of changes that are carried out in steps.
        CREATE TABLE long_change (
            zone INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            name TEXT NOT NULL,
            detail TEXT NOT NULL,
            PRIMARY KEY (kind, zone, name)
        ) STRICT, WITHOUT ROWID;
        """
}
