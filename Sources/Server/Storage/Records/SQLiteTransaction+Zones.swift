import StratusRecords
import StratusSQLite

extension SQLiteTransaction {
    /// All but the last two are the columns of a ``ZoneRow``.
    private static let columns = """
        zone, name, generation, version, floor, has_feed, changed_at_database_version, deletion,
        encryption_scope, epoch, checksum
        """

    func zones() throws -> [ZoneRow] {
        // The index of names would look up each row of a deleted zone: reading the table takes a tenth of that time.
        try statement(
            "SELECT \(Self.columns) FROM zone NOT INDEXED WHERE deletion IS NULL ORDER BY name"
        )
        .all { try Self.zone($0).row }
    }

    func zoneCount() throws -> Int {
        // Zones are numbered, and no row is ever removed.
        try statement("SELECT max(zone) FROM zone").first { Int($0.integer(0)) } ?? 0
    }

    func zone(named name: String) throws -> ZoneRow? {
        try statement("SELECT \(Self.columns) FROM zone WHERE name = ?")
            .bind(1, name)
            .first { try Self.zone($0).row }
    }

    func zones(
        changedAfter databaseVersion: Int64, deletedAfter deletionVersion: Int64, limit: Int
    ) throws -> [ZoneRow] {
        try statement(
            """
            SELECT \(Self.columns) FROM zone WHERE changed_at_database_version > ?1
            AND (deletion IS NULL OR changed_at_database_version > ?2)
            ORDER BY changed_at_database_version LIMIT ?3
            """
        )
        .bind(1, databaseVersion)
        .bind(2, deletionVersion)
        .bind(3, Int64(max(limit, 1)))
        .all { try Self.zone($0).row }
    }

    func createZone(
        named name: String, hasFeed: Bool, encryptionScope: ZoneEncryptionScope
    ) throws -> ZoneRow {
        let former = try zone(named: name)
        if let former, former.deletion == nil { return former }
        let key: ZoneRow.Key
        if let former {
            key = former.key
        } else {
            let made = try statement(
                """
                INSERT INTO zone (
                    name, generation, version, floor, has_feed, changed_at_database_version, checksum)
                VALUES (?, 0, 0, 0, 0, -1, ?) RETURNING zone
                """
            )
            .bind(1, name)
            .bind(2, RowChecksum.none)
            .first { ZoneRow.Key(rawValue: $0.integer(0)) }
            guard let made else { throw StorageError.zoneMissing() }
            key = made
        }
        let version = try takeDatabaseVersion()
        return try change(key) { zone in
            zone.row.generation += 1
            zone.row.hasFeed = hasFeed
            zone.row.changedAtDatabaseVersion = version
            zone.row.deletion = nil
            zone.row.encryptionScope = encryptionScope
        }
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
        guard try storedZone(zone).row.deletion == nil else { throw StorageError.zoneMissing() }
        let version = try takeDatabaseVersion()
        try change(zone) { zone in
            zone.row.deletion = reason
            zone.row.changedAtDatabaseVersion = version
        }
    }

    func takeVersions(_ count: Int, in zone: ZoneRow.Key) throws -> ClosedRange<Int64> {
        guard count > 0 else { throw StorageError.noVersions() }
        var found = try storedZone(zone)
        guard found.row.deletion == nil else { throw StorageError.zoneMissing() }
        let before = found.row.version
        let last = before + Int64(count)
        found.row.version = last
        found.row.changedAtDatabaseVersion = try takeDatabaseVersion()
        let epoch = try self.epoch
        if found.epoch != epoch.number {
            found.epoch = epoch.number
            try noteEpoch(of: zone, at: before)
        }
        try put(found)
        return (before + 1)...last
    }

    // MARK: One zone's row

    /// A zone's row with the columns that ``ZoneRow`` does not have.
    struct StoredZone {
        var row: ZoneRow
        /// The number of the epoch of the newest change; 0 before the first.
        var epoch: Int64
    }

    /// - Throws: ``StorageError`` when there is no such zone.
    private func storedZone(_ zone: ZoneRow.Key) throws -> StoredZone {
        let found = try statement("SELECT \(Self.columns) FROM zone WHERE zone = ?")
            .bind(1, zone.rawValue)
            .first(Self.zone)
        guard let found else { throw StorageError.zoneMissing() }
        return found
    }

    /// Changes a zone's row and its checksum.
    @discardableResult
    func change(_ zone: ZoneRow.Key, _ body: (inout StoredZone) throws -> Void) throws -> ZoneRow {
        var found = try storedZone(zone)
        try body(&found)
        try put(found)
        return found.row
    }

    /// Stores all columns but the key and the name, which never change.
    private func put(_ zone: StoredZone) throws {
        let update = try statement(
            """
            UPDATE zone SET
                generation = ?, version = ?, floor = ?, has_feed = ?,
                changed_at_database_version = ?, deletion = ?, encryption_scope = ?, epoch = ?,
                checksum = ?
            WHERE zone = ?
            """
        )
        .bind(1, zone.row.generation)
        .bind(2, zone.row.version)
        .bind(3, zone.row.purgeHorizon)
        .bind(4, zone.row.hasFeed ? 1 : 0)
        .bind(5, zone.row.changedAtDatabaseVersion)
        .bind(7, zone.row.encryptionScope.rawValue)
        .bind(8, zone.epoch)
        .bind(9, zone.checksum)
        .bind(10, zone.row.key.rawValue)
        if let deletion = zone.row.deletion {
            try update.bind(6, Int64(deletion.rawValue))
        } else {
            try update.bind(6, nil as String?)
        }
        try update.run()
    }

    /// Computes the checksum of every zone's row again.
    func stampZones() throws {
        let zones = try statement("SELECT \(Self.columns) FROM zone").all(Self.uncheckedZone)
        for zone in zones { try put(zone) }
    }

    /// Calls `body` for each zone's row and whether its checksum is wrong, until it returns false.
    func lookAtZones(_ body: (StoredZone, _ isDamaged: Bool) -> Bool) throws {
        try statement("SELECT \(Self.columns) FROM zone").rows { row in
            var columns = SummedColumns(row)
            let zone = Self.zone(&columns)
            return body(zone, row.integer(10) != columns.checksum)
        }
    }

    /// The zone's version; nil when there is no such zone.
    func version(of zone: ZoneRow.Key) throws -> Int64? {
        try statement("SELECT version FROM zone WHERE zone = ?")
            .bind(1, zone.rawValue)
            .first { $0.integer(0) }
    }

    /// The current row, after comparing its checksum.
    private static func zone(_ row: SQLStatement) throws -> StoredZone {
        var columns = SummedColumns(row)
        let zone = zone(&columns)
        let checksum = row.integer(10)
        guard checksum == columns.checksum || checksum == RowChecksum.none else {
            throw StorageError.damaged(DamagedRow(kind: "zone", name: zone.row.name))
        }
        return zone
    }

    private static func uncheckedZone(_ row: SQLStatement) -> StoredZone {
        var columns = SummedColumns(row)
        return zone(&columns)
    }

    /// Reads the columns in their order, which is also the order of the checksum.
    private static func zone(_ row: inout SummedColumns) -> StoredZone {
        StoredZone(
            row: ZoneRow(
                key: ZoneRow.Key(rawValue: row.integer(0)), name: row.text(1),
                generation: row.integer(2), version: row.integer(3), purgeHorizon: row.integer(4),
                hasFeed: row.flag(5), changedAtDatabaseVersion: row.integer(6),
                deletion: row.optionalInteger(7).flatMap { ZoneRow.Deletion(rawValue: Int($0)) },
                // No release has written any other text.
                encryptionScope: ZoneEncryptionScope(rawValue: row.text(8)) ?? .perRecord),
            epoch: row.integer(9))
    }
}
