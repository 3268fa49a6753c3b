extension RecordFile {
    /// Assets by content and the records that hold them. The bytes are in blobs beside the file.
    static let assetTables = """
        -- touched_ms is null from the moment when the last record releases the asset until the
        -- next collection, which sets it.
        CREATE TABLE asset (
            sha256 BLOB PRIMARY KEY,
            generation INTEGER NOT NULL,
            size INTEGER NOT NULL,
            reference_count INTEGER NOT NULL,
            touched_ms INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX asset_unreferenced ON asset (touched_ms) WHERE reference_count = 0;

        CREATE TABLE asset_reference (
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            sha256 BLOB NOT NULL,
            PRIMARY KEY (zone, name, sha256)
        ) STRICT, WITHOUT ROWID;

        -- One row: the sum of asset.size.
        CREATE TABLE asset_usage (
            singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
            size INTEGER NOT NULL
        ) STRICT;
        INSERT INTO asset_usage VALUES (1, 0);
        """
}
