import StratusSQLite

extension SQLiteTransaction {
    // MARK: Shares

    private static let shareColumns = "zone, name, root, short_guid"
    private static let accessColumns = "share, user, root, can_write, since"

    func hasShares(in zone: ZoneRow.Key) throws -> Bool {
        try statement("SELECT 1 FROM share WHERE zone = ? LIMIT 1")
            .bind(1, zone.rawValue)
            .first { _ in true } ?? false
    }

    func shares(in zone: ZoneRow.Key, limit: Int) throws -> [ShareRow] {
        try statement("SELECT \(Self.shareColumns) FROM share WHERE zone = ? ORDER BY name LIMIT ?")
            .bind(1, zone.rawValue)
            .bind(2, Int64(max(limit, 1)))
            .all(Self.share)
    }

    func share(shortGUID: String) throws -> ShareRow? {
        try statement("SELECT \(Self.shareColumns) FROM share WHERE short_guid = ?")
            .bind(1, shortGUID)
            .first(Self.share)
    }

    func access(of user: String, in zone: ZoneRow.Key) throws -> [ShareAccessRow] {
        try statement(
            """
            SELECT \(Self.accessColumns) FROM share_access WHERE zone = ? AND user = ?
            ORDER BY share
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, user)
        .all(Self.access)
    }

    func audience(of zone: ZoneRow.Key) throws -> [ShareAccessRow] {
        try statement(
            """
            SELECT \(Self.accessColumns) FROM share_access WHERE zone = ? ORDER BY user, share
            """
        )
        .bind(1, zone.rawValue)
        .all(Self.access)
    }

    func put(_ row: ShareRow, access: [ShareAccessRow]) throws {
        try statement("INSERT OR REPLACE INTO share (\(Self.shareColumns)) VALUES (?, ?, ?, ?)")
            .bind(1, row.zone.rawValue)
            .bind(2, row.name)
            .bind(3, row.root)
            .bind(4, row.shortGUID)
            .run()
        try deleteAccess(by: row.name, in: row.zone)
        for access in access {
            try statement(
                """
                INSERT OR REPLACE INTO share_access (zone, \(Self.accessColumns))
                VALUES (?, ?, ?, ?, ?, ?)
                """
            )
            .bind(1, row.zone.rawValue)
            .bind(2, access.share)
            .bind(3, access.user)
            .bind(4, access.root)
            .bind(5, access.canWrite ? 1 : 0)
            .bind(6, access.since)
            .run()
        }
    }

    func deleteShare(_ name: String, in zone: ZoneRow.Key) throws {
        let root: String?? = try statement(
            "DELETE FROM share WHERE zone = ? AND name = ? RETURNING root"
        )
        .bind(1, zone.rawValue)
        .bind(2, name)
        .first { $0.optionalText(0) }
        try deleteAccess(by: name, in: zone)
        if case let root?? = root {
            try statement("DELETE FROM share_event WHERE zone = ? AND root = ?")
                .bind(1, zone.rawValue)
                .bind(2, root)
                .run()
        }
    }

    private func deleteAccess(by share: String, in zone: ZoneRow.Key) throws {
        try statement("DELETE FROM share_access WHERE zone = ? AND share = ?")
            .bind(1, zone.rawValue)
            .bind(2, share)
            .run()
    }

    /// Removes the shares of a zone that is deleted, with their access and events.
    func deleteSharing(in zone: ZoneRow.Key) throws {
        for table in ["share", "share_access", "share_event"] {
            try statement("DELETE FROM \(table) WHERE zone = ?").bind(1, zone.rawValue).run()
        }
    }

    private static func share(_ row: SQLStatement) -> ShareRow {
        ShareRow(
            zone: ZoneRow.Key(rawValue: row.integer(0)), name: row.text(1),
            root: row.optionalText(2), shortGUID: row.text(3))
    }

    private static func access(_ row: SQLStatement) -> ShareAccessRow {
        ShareAccessRow(
            share: row.text(0), user: row.text(1), root: row.optionalText(2),
            canWrite: row.integer(3) != 0, since: row.integer(4))
    }

    // MARK: The zones of others

    private static let sharedZoneColumns = """
        owner, name, seen_version, seen_access, changed_at_database_version, deleted
        """

    func sharedZones() throws -> [SharedZoneRow] {
        try statement(
            """
            SELECT \(Self.sharedZoneColumns) FROM shared_zone WHERE deleted = 0
            ORDER BY owner, name
            """
        )
        .all(Self.sharedZone)
    }

    func sharedZones(changedAfter databaseVersion: Int64, limit: Int) throws -> [SharedZoneRow] {
        try rows(
            Self.sharedZoneColumns, of: "shared_zone", changedAfter: databaseVersion, limit: limit
        )
        .all(Self.sharedZone)
    }

    func sharedZone(owner: String, name: String) throws -> SharedZoneRow? {
        try statement(
            "SELECT \(Self.sharedZoneColumns) FROM shared_zone WHERE owner = ? AND name = ?"
        )
        .bind(1, owner)
        .bind(2, name)
        .first(Self.sharedZone)
    }

    @discardableResult
    func put(_ row: SharedZoneRow) throws -> SharedZoneRow {
        var row = row
        row.changedAtDatabaseVersion = try takeDatabaseVersion()
        try statement(
            """
            INSERT OR REPLACE INTO shared_zone (\(Self.sharedZoneColumns)) VALUES (?, ?, ?, ?, ?, ?)
            """
        )
        .bindAll(
            row.owner, row.name, row.seenVersion, row.seenAccess, row.changedAtDatabaseVersion,
            row.isDeleted
        )
        .run()
        return row
    }

    private static func sharedZone(_ row: SQLStatement) -> SharedZoneRow {
        SharedZoneRow(
            owner: row.text(0), name: row.text(1), seenVersion: row.integer(2),
            seenAccess: row.integer(3), changedAtDatabaseVersion: row.integer(4),
            isDeleted: row.integer(5) != 0)
    }
}
