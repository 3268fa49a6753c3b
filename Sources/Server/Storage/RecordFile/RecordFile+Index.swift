import GRDB

extension RecordFile {
    /// The indexes and their entries. The service adds the entries of a file that already has records step by step; a
    /// new file has them from its first record on.
    static let indexTables = """
        CREATE TABLE index_definition (
            index_id INTEGER PRIMARY KEY AUTOINCREMENT,
            record_type TEXT NOT NULL,
            field TEXT NOT NULL,
            kind INTEGER NOT NULL,
            value_type TEXT,
            phase INTEGER NOT NULL,
            progress_zone INTEGER NOT NULL,
            progress_name TEXT NOT NULL
        ) STRICT;
        CREATE INDEX index_definition_by_type ON index_definition (record_type);

        CREATE TABLE record_index (
            zone INTEGER NOT NULL,
            index_id INTEGER NOT NULL,
            key BLOB NOT NULL,
            name TEXT NOT NULL,
            PRIMARY KEY (zone, index_id, key, name)
        ) STRICT, WITHOUT ROWID;

        -- One row: whether there were records before there were indexes.
        CREATE TABLE index_origin (
            singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
            has_older_records INTEGER NOT NULL
        ) STRICT;
        INSERT INTO index_origin SELECT 1, EXISTS (SELECT 1 FROM record);
        """

    /// The second field of compound indexes.
    static let compoundColumns = """
        ALTER TABLE index_definition ADD COLUMN order_field TEXT;
        ALTER TABLE index_definition ADD COLUMN order_type TEXT;
        """
}
