extension RecordFile {
    /// Assets by content and the records that hold them. The bytes are in blobs beside the file.
    static let assetTables = """
        -- touched_ms is null from the moment in which the last record lets go until the next
        -- collection, whose clock says when that was.
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

    static let assetLaws: [StoredLaw] = [
        StoredLaw(
            "An asset is held by as many records as are counted.",
            breaches: """
                SELECT hex(sha256) FROM asset WHERE reference_count <>
                    (SELECT count(*) FROM asset_reference WHERE sha256 = asset.sha256)
                """),
        StoredLaw(
            "A record that holds an asset is there, and so is the asset.",
            breaches: """
                SELECT holder.name FROM asset_reference AS holder
                LEFT JOIN record ON record.zone = holder.zone AND record.name = holder.name
                    AND record.deleted = 0
                LEFT JOIN asset USING (sha256)
                WHERE record.name IS NULL OR asset.sha256 IS NULL
                """),
        StoredLaw(
            "The size of all assets is their sum.",
            breaches: """
                SELECT asset_usage.size || ' bytes' FROM asset_usage
                WHERE asset_usage.size <> (SELECT coalesce(sum(size), 0) FROM asset)
                """),
    ]
}
