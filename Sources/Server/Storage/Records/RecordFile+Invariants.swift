extension RecordFile {
    /// What holds between the rows of a database's file. What their bytes mean is examined above, in
    /// StratusService.
    static let laws: [StoredLaw] = tableLaws + indexLaws

    private static let tableLaws: [StoredLaw] = [
        StoredLaw(
            "A database has one history.",
            breaches: """
                SELECT count(*) || ' histories' FROM history HAVING count(*) <> 1
                """),
        StoredLaw(
            "The default zone is always there.",
            breaches: """
                SELECT '_defaultZone' WHERE NOT EXISTS
                    (SELECT 1 FROM zone WHERE name = '_defaultZone' AND deletion IS NULL)
                """),
        StoredLaw(
            "A zone changed at a version that the database has reached.",
            breaches: """
                SELECT name FROM zone
                WHERE changed_at_database_version > (SELECT version FROM history)
                """),
        StoredLaw(
            "A zone's floor is no higher than its version.",
            breaches: "SELECT name FROM zone WHERE floor > version OR floor < 0"),
        StoredLaw(
            "A record lies in a zone that is not deleted.",
            breaches: """
                SELECT record.name FROM record LEFT JOIN zone USING (zone)
                WHERE zone.name IS NULL OR zone.deletion IS NOT NULL
                """),
        StoredLaw(
            "A record's version is between 1 and its zone's, and its request ended at or after it.",
            breaches: """
                SELECT record.name FROM record JOIN zone USING (zone)
                WHERE record.version < 1 OR record.version > zone.version
                    OR record.commit_version < record.version
                    OR record.commit_version > zone.version
                """),
        StoredLaw(
            "A tombstone holds nothing of its record.",
            breaches: """
                SELECT name FROM record WHERE deleted <> 0
                    AND (length(payload) > 0 OR parent IS NOT NULL OR share_root IS NOT NULL)
                """),
        StoredLaw(
            "A tombstone lies above its zone's floor.",
            breaches: """
                SELECT record.name FROM record JOIN zone USING (zone)
                WHERE record.deleted <> 0 AND record.version <= zone.floor
                """),
        StoredLaw(
            "A record's parent is there.",
            breaches: """
                SELECT child.name FROM record AS child LEFT JOIN record AS parent
                    ON parent.zone = child.zone AND parent.name = child.parent
                        AND parent.deleted = 0
                WHERE child.parent IS NOT NULL AND parent.name IS NULL
                """),
        usageLaw,
        StoredLaw(
            "A share has its record.",
            breaches: """
                SELECT share.name FROM share LEFT JOIN record
                    ON record.zone = share.zone AND record.name = share.name
                        AND record.deleted = 0 AND record.type = 'cloudkit.share'
                WHERE record.name IS NULL
                """),
        StoredLaw(
            "What lies under a root is shared.",
            breaches: """
                SELECT record.name FROM record LEFT JOIN share
                    ON share.zone = record.zone AND share.root = record.share_root
                WHERE record.share_root IS NOT NULL AND share.name IS NULL
                """),
        StoredLaw(
            "Access is by a share.",
            breaches: """
                SELECT share_access.user FROM share_access LEFT JOIN share
                    ON share.zone = share_access.zone AND share.name = share_access.share
                WHERE share.name IS NULL
                """),
        StoredLaw(
            "Who has a reference with an action is there.",
            breaches: """
                SELECT reference_.holder FROM reference_ LEFT JOIN record
                    ON record.zone = reference_.zone AND record.name = reference_.holder
                        AND record.deleted = 0
                WHERE record.name IS NULL
                """),
        StoredLaw(
            "The target of a VALIDATE reference is there.",
            breaches: """
                SELECT reference_.target FROM reference_ LEFT JOIN record
                    ON record.zone = reference_.zone AND record.name = reference_.target
                        AND record.deleted = 0
                WHERE reference_.action = 2 AND record.name IS NULL
                """),
        StoredLaw(
            "A replaced state was replaced at a version that its zone has reached.",
            breaches: """
                SELECT replaced_at || '' FROM record_ancestor LEFT JOIN zone USING (zone)
                WHERE zone.name IS NULL OR zone.deletion IS NOT NULL OR replaced_at > zone.version
                """),
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
