extension RecordFile {
    /// A condition: no long change is still to remove the record's row.
    private static func isStaying(_ record: String) -> String {
        """
        NOT EXISTS (SELECT 1 FROM long_change WHERE long_change.zone = \(record).zone
            AND (kind = 3 OR kind = 2 AND long_change.name = \(record).name))
        """
    }

    /// A join with the living record that a row names in one of its columns.
    private static func joiningRecord(of row: String, named column: String) -> String {
        """
        LEFT JOIN record ON record.zone = \(row).zone AND record.name = \(row).\(column)
            AND record.deleted = 0
        """
    }

    /// Invariants between the rows of a database. The meaning of their bytes is checked in StratusService.
    static let invariants: [StoredInvariant] = tableInvariants + epochInvariants + indexInvariants

    private static let tableInvariants: [StoredInvariant] = [
        StoredInvariant(
            "A database has one history.",
            violations: """
                SELECT count(*) || ' histories' FROM history HAVING count(*) <> 1
                """),
        StoredInvariant(
            "The default zone always exists.",
            violations: """
                SELECT '_defaultZone' WHERE NOT EXISTS
                    (SELECT 1 FROM zone WHERE name = '_defaultZone' AND deletion IS NULL)
                """),
        StoredInvariant(
            "A zone changed at a version that the database has reached.",
            violations: """
                SELECT name FROM zone
                WHERE changed_at_database_version > (SELECT version FROM history)
                """),
        StoredInvariant(
            "A zone's purge horizon is no higher than its version.",
            violations: "SELECT name FROM zone WHERE floor > version OR floor < 0"),
        StoredInvariant(
            "A record lies in a zone that is not deleted.",
            violations: """
                SELECT record.name FROM record LEFT JOIN zone USING (zone)
                WHERE (zone.name IS NULL OR zone.deletion IS NOT NULL)
                    AND record.zone NOT IN (SELECT zone FROM long_change WHERE kind = 3)
                """),
        StoredInvariant(
            "A record's version is between 1 and its zone's, and its request ended at or after it.",
            violations: """
                SELECT record.name FROM record JOIN zone USING (zone)
                WHERE record.version < 1 OR record.version > zone.version
                    OR record.commit_version < record.version
                    OR record.commit_version > zone.version
                """),
        StoredInvariant(
            "A tombstone holds nothing of its record.",
            violations: """
                SELECT name FROM record WHERE deleted <> 0
                    AND (length(payload) > 0 OR parent IS NOT NULL OR share_root IS NOT NULL)
                """),
        StoredInvariant(
            "A tombstone lies above its zone's purge horizon.",
            violations: """
                SELECT record.name FROM record JOIN zone USING (zone)
                WHERE record.deleted <> 0 AND record.version <= zone.floor
                """),
        StoredInvariant(
            "A record's parent exists.",
            violations: """
                SELECT child.name FROM record AS child LEFT JOIN record AS parent
                    ON parent.zone = child.zone AND parent.name = child.parent
                        AND parent.deleted = 0
                WHERE child.parent IS NOT NULL AND parent.name IS NULL
                    AND \(isStaying("child"))
                """),
        usageInvariant,
        StoredInvariant(
            "A share has its record.",
            recoveryAction: .rebuild,
            violations: """
                SELECT share.name FROM share \(joiningRecord(of: "share", named: "name"))
                    AND record.type = 'cloudkit.share'
                WHERE record.name IS NULL
                """),
        StoredInvariant(
            "A root that a record names as shared has a share.",
            recoveryAction: .rebuild,
            violations: """
                SELECT covered.name FROM record AS covered LEFT JOIN share
                    ON share.zone = covered.zone AND share.root = covered.share_root
                WHERE covered.share_root IS NOT NULL AND share.name IS NULL
                    AND covered.zone NOT IN (SELECT zone FROM long_change WHERE kind IN (1, 3))
                    AND \(isStaying("covered"))
                """),
        StoredInvariant(
            "Access belongs to a share.",
            recoveryAction: .rebuild,
            violations: """
                SELECT share_access.user FROM share_access LEFT JOIN share
                    ON share.zone = share_access.zone AND share.name = share_access.share
                WHERE share.name IS NULL
                """),
        StoredInvariant(
            "A record that has a reference with an action exists.",
            recoveryAction: .rebuild,
            violations: """
                SELECT reference_.holder FROM reference_
                \(joiningRecord(of: "reference_", named: "holder"))
                WHERE record.name IS NULL
                """),
        StoredInvariant(
            "The target of a VALIDATE reference exists.",
            violations: """
                SELECT reference_.target FROM reference_
                \(joiningRecord(of: "reference_", named: "target"))
                WHERE reference_.action = 2 AND record.name IS NULL
                    AND NOT EXISTS (SELECT 1 FROM long_change
                        WHERE kind = 2 AND long_change.zone = reference_.zone
                            AND long_change.name = reference_.holder)
                """),
        StoredInvariant(
            "A replaced state was replaced at a version that its zone has reached.",
            recoveryAction: .rebuild,
            violations: """
                SELECT replaced_at || '' FROM record_ancestor LEFT JOIN zone USING (zone)
                WHERE (zone.name IS NULL OR zone.deletion IS NOT NULL OR replaced_at > zone.version)
                    AND record_ancestor.zone NOT IN (SELECT zone FROM long_change WHERE kind = 3)
                """),
        StoredInvariant(
            "An asset is held by as many records as are counted.",
            recoveryAction: .rebuild,
            violations: """
                SELECT hex(sha256) FROM asset WHERE reference_count <>
                    (SELECT count(*) FROM asset_reference WHERE sha256 = asset.sha256)
                """),
        StoredInvariant(
            "A record that holds an asset exists, and so does the asset.",
            recoveryAction: .rebuild,
            violations: """
                SELECT holder.name FROM asset_reference AS holder
                \(joiningRecord(of: "holder", named: "name"))
                LEFT JOIN asset USING (sha256)
                WHERE record.name IS NULL OR asset.sha256 IS NULL
                """),
        StoredInvariant(
            "The size of all assets is their sum.",
            recoveryAction: .rebuild,
            violations: """
                SELECT asset_usage.size || ' bytes' FROM asset_usage
                WHERE asset_usage.size <> (SELECT coalesce(sum(size), 0) FROM asset)
                """),
    ]
}
