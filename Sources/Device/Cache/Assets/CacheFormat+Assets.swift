import GRDB

/// The tables of assets, and the triggers that track their uses.
extension CacheFormat {
    // asset: a file on this device, by the checksum that fields have of it: the service's, or before the upload its
    // own. Several rows may have the same file. If another file gets the checksum, the former file's key becomes
    // 'former:' and its name. assetUse: which rows use which asset: record (source 0, its id), the base of a pending
    // change (1, its sequence), a report (2, its id). Triggers write it, so that it includes the effect of every
    // statement and cascade. assetReceipt: proofs of uploads, valid for a day in one zone.
    static let assets = """
        CREATE TABLE asset (
            key TEXT PRIMARY KEY, file TEXT NOT NULL, sizeBytes INTEGER NOT NULL) WITHOUT ROWID;
        CREATE INDEX assetByFile ON asset (file);
        CREATE TABLE assetUse (
            source INTEGER NOT NULL, row INTEGER NOT NULL, field TEXT NOT NULL, key TEXT NOT NULL,
            sizeBytes INTEGER, PRIMARY KEY (source, row, field, key)) WITHOUT ROWID;
        CREATE INDEX assetUseByKey ON assetUse (key);
        CREATE TABLE assetReceipt (
            key TEXT NOT NULL, zone INTEGER NOT NULL REFERENCES zone ON DELETE CASCADE,
            receipt TEXT NOT NULL, time INTEGER NOT NULL, PRIMARY KEY (key, zone)) WITHOUT ROWID;
        CREATE TRIGGER recordAssetsMade AFTER INSERT ON record WHEN \(hasAssets("NEW.fields"))
        BEGIN \(use(0, "NEW.id", "NEW.fields")); END;
        CREATE TRIGGER recordAssetsChanged AFTER UPDATE OF fields ON record
        WHEN (\(hasAssets("NEW.fields")) OR \(hasAssets("OLD.fields")))
            AND NEW.fields IS NOT OLD.fields
        BEGIN
            DELETE FROM assetUse WHERE source = 0 AND row = OLD.id;
            \(use(0, "NEW.id", "NEW.fields"));
        END;
        CREATE TRIGGER recordAssetsGone AFTER DELETE ON record WHEN \(hasAssets("OLD.fields"))
        BEGIN DELETE FROM assetUse WHERE source = 0 AND row = OLD.id; END;
        CREATE TRIGGER baseAssetsMade AFTER INSERT ON pending WHEN \(hasAssets("NEW.baseFields"))
        BEGIN \(use(1, "NEW.sequence", "NEW.baseFields")); END;
        CREATE TRIGGER baseAssetsChanged AFTER UPDATE OF sequence, baseFields ON pending
        WHEN (\(hasAssets("NEW.baseFields")) OR \(hasAssets("OLD.baseFields")))
            AND (NEW.baseFields IS NOT OLD.baseFields OR NEW.sequence <> OLD.sequence)
        BEGIN
            DELETE FROM assetUse WHERE source = 1 AND row = OLD.sequence;
            \(use(1, "NEW.sequence", "NEW.baseFields"));
        END;
        CREATE TRIGGER baseAssetsGone AFTER DELETE ON pending
        WHEN \(hasAssets("OLD.baseFields"))
        BEGIN DELETE FROM assetUse WHERE source = 1 AND row = OLD.sequence; END;
        CREATE TRIGGER reportAssetsGone AFTER DELETE ON report
        BEGIN DELETE FROM assetUse WHERE source = 2 AND row = OLD.id; END;
        \(use(0, "record.id", "record.fields", from: "record, "));
        \(use(1, "pending.sequence", "pending.baseFields", from: "pending, "));
        """

    /// A cheap condition that is true for all fields with an asset, and perhaps others.
    private static func hasAssets(_ fields: String) -> String {
        "coalesce(instr(\(fields), CAST('\"ASSETID' AS BLOB)), 0) > 0"
    }

    /// Inserts the uses of assets by fields.
    private static func use(
        _ source: Int, _ row: String, _ fields: String, from: String = ""
    ) -> String {
        """
        INSERT OR IGNORE INTO assetUse (source, row, field, key, sizeBytes)
        SELECT \(source), \(row), field.key, json_extract(item.value, '$.fileChecksum'),
            json_extract(item.value, '$.size')
        FROM \(from)json_each(CAST(\(fields) AS TEXT)) AS field,
            json_each(CASE json_extract(field.value, '$.type')
                WHEN 'ASSETID' THEN json_array(json_extract(field.value, '$.value'))
                WHEN 'ASSETID_LIST' THEN json_extract(field.value, '$.value')
                ELSE '[]' END) AS item
        WHERE \(hasAssets(fields)) AND json_extract(item.value, '$.fileChecksum') IS NOT NULL
        """
    }
}
