import StratusRecords

extension SQLiteTransaction {
    private static let columns = """
        zone, name, generation, version, floor, has_feed, changed_at_database_version, deletion,
        encryption_scope
        """

    func zones() throws -> [ZoneRow] {
        try statement("SELECT \(Self.columns) FROM zone WHERE deletion IS NULL ORDER BY name")
            .all(Self.zone)
    }

    func zone(named name: String) throws -> ZoneRow? {
        try statement("SELECT \(Self.columns) FROM zone WHERE name = ?")
            .bind(1, name)
            .first(Self.zone)
    }

    func zones(changedAfter databaseVersion: Int64, limit: Int) throws -> [ZoneRow] {
        try statement(
            """
            SELECT \(Self.columns) FROM zone WHERE changed_at_database_version > ?
            ORDER BY changed_at_database_version LIMIT ?
            """
        )
        .bind(1, databaseVersion)
        .bind(2, Int64(max(limit, 1)))
        .all(Self.zone)
    }

    func createZone(
        named name: String, hasFeed: Bool, encryptionScope: ZoneEncryptionScope
    ) throws -> ZoneRow {
        if let zone = try zone(named: name), zone.deletion == nil { return zone }
        let row = try statement(
            """
            INSERT INTO zone (\(Self.columns)) VALUES (NULL, ?1, 1, 0, 0, ?2, ?3, NULL, ?4)
            ON CONFLICT (name) DO UPDATE SET
                generation = generation + 1, has_feed = ?2, changed_at_database_version = ?3,
                deletion = NULL, encryption_scope = ?4
            RETURNING \(Self.columns)
            """
        )
        .bind(1, name)
        .bind(2, hasFeed ? 1 : 0)
        .bind(3, takeDatabaseVersion())
        .bind(4, encryptionScope.rawValue)
        .first(Self.zone)
        guard let row else { throw StorageError.zoneMissing() }
        return row
    }

    func deleteZone(_ zone: ZoneRow.Key, reason: ZoneRow.Deletion) throws {
        try markDeleted(zone, reason: reason)
        try deleteRecords(in: zone)
        for table in ["reference_", "record_ancestor", "record_index", "long_change"] {
            try statement("DELETE FROM \(table) WHERE zone = ?").bind(1, zone.rawValue).run()
        }
        try releaseAssets(in: zone)
        try deleteSharing(in: zone)
    }

    func markDeleted(_ zone: ZoneRow.Key, reason: ZoneRow.Deletion) throws {
        let deleted = try statement(
            """
            UPDATE zone SET deletion = ?, changed_at_database_version = ?
            WHERE zone = ? AND deletion IS NULL RETURNING zone
            """
        )
        .bind(1, Int64(reason.rawValue))
        .bind(2, takeDatabaseVersion())
        .bind(3, zone.rawValue)
        .first { _ in true }
        guard deleted != nil else { throw StorageError.zoneMissing() }
    }

    func takeVersions(_ count: Int, in zone: ZoneRow.Key) throws -> ClosedRange<Int64> {
        guard count > 0 else { throw StorageError.noVersions() }
        // Not by RETURNING, which makes a table of its own for its one row.
        let found = try statement(
            "SELECT version, epoch FROM zone WHERE zone = ? AND deletion IS NULL"
        )
        .bind(1, zone.rawValue)
        .first { (version: $0.integer(0), epoch: $0.integer(1)) }
        guard let found else { throw StorageError.zoneMissing() }
        let before = found.version
        let last = before + Int64(count)
        try statement(
            "UPDATE zone SET version = ?, changed_at_database_version = ? WHERE zone = ?"
        )
        .bind(1, last)
        .bind(2, takeDatabaseVersion())
        .bind(3, zone.rawValue)
        .run()
        if try found.epoch != epoch.number { try enterEpoch(zone, at: before) }
        return (before + 1)...last
    }

    /// The zone's version; nil when there is no such zone.
    func version(of zone: ZoneRow.Key) throws -> Int64? {
        try statement("SELECT version FROM zone WHERE zone = ?")
            .bind(1, zone.rawValue)
            .first { $0.integer(0) }
    }

    private static func zone(_ row: SQLStatement) -> ZoneRow {
        ZoneRow(
            key: ZoneRow.Key(rawValue: row.integer(0)), name: row.text(1),
            generation: row.integer(2), version: row.integer(3), purgeHorizon: row.integer(4),
            hasFeed: row.integer(5) != 0, changedAtDatabaseVersion: row.integer(6),
            deletion: row.isNull(7) ? nil : ZoneRow.Deletion(rawValue: Int(row.integer(7))),
            // Another word is none that any release has written.
            encryptionScope: ZoneEncryptionScope(rawValue: row.text(8)) ?? .perRecord)
    }
}
