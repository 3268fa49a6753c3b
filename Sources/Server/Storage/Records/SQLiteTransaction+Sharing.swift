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

/// Reads a zone's records as participants of shares see them.
extension SQLiteTransaction {
    /// The most roots for which a page is merged from their indexes. With more roots the zone's own feed is filtered
    /// instead, because a user with that many shares of a zone sees much of it.
    private static let rootsMerged = 16

    /// The columns of a record that left a view, as far as they are known.
    private static let eventColumns = """
        zone, name, type, version, commit_version, '', 1, '', 0, 0, '', '', '', NULL, root, X'', NULL, \
        \(RowChecksum.none)
        """

    func descendants(
        of name: String, in zone: ZoneRow.Key, limit: Int, payloadBytes: Int
    ) throws -> [RecordRow] {
        try statement(
            """
            \(Self.below)
            SELECT \(Self.recordColumns(of: "record")) FROM below JOIN record
            ON record.zone = ?1 AND record.name = below.name WHERE below.name <> ?2 LIMIT ?3
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, name)
        .bind(3, Int64(max(limit, 1)))
        .records(of: self, untilBytes: payloadBytes)
    }

    func descendantNames(of name: String, in zone: ZoneRow.Key, limit: Int) throws -> [String] {
        try statement("\(Self.below) SELECT name FROM below WHERE name <> ?2 LIMIT ?3")
            .bind(1, zone.rawValue)
            .bind(2, name)
            .bind(3, Int64(max(limit, 1)))
            .all { $0.text(0) }
    }

    private static let below = """
        WITH RECURSIVE below (name) AS (
            SELECT name FROM record WHERE zone = ?1 AND parent = ?2 AND deleted = 0
            UNION
            SELECT record.name FROM below JOIN record
            ON record.zone = ?1 AND record.parent = below.name AND record.deleted = 0
        )
        """

    private static func recordColumns(of table: String) -> String {
        recordColumns.split(separator: ", ").map { "\(table).\($0)" }.joined(separator: ", ")
    }

    func sharedChanges(
        in zone: ZoneRow.Key, roots: [String], after cursor: ChangeCursor, limit: Int,
        payloadBytes: Int
    ) throws -> ChangePage {
        guard let zoneVersion = try version(of: zone) else { throw StorageError.zoneMissing() }
        guard !roots.isEmpty else {
            return ChangePage(rows: [], version: zoneVersion, moreComing: false)
        }
        let isMerged = roots.count <= Self.rootsMerged
        let statement = try statement(
            isMerged ? Self.mergedFeed(roots: roots.count) : Self.filteredFeed)
        try statement.bind(1, zone.rawValue)
        try statement.bind(2, cursor.version)
        try statement.bind(3, max(cursor.version, cursor.skipTombstonesThrough))
        if isMerged {
            for (index, root) in roots.enumerated() { try statement.bind(Int32(index) + 4, root) }
        }
        let wanted = Set(roots)
        var rows: [RecordRow] = []
        var bytes = 0
        var moreComing = false
        var passed = 0
        try statement.rows { row in
            if !isMerged, !wanted.contains(row.text(14)) {
                passed += 1
                return true
            }
            // A version may have two rows (see below), and no page ends between them.
            if rows.count >= max(limit, 1) || bytes >= payloadBytes, let last = rows.last,
                cursor.wantsWholeBatches
                    ? row.integer(4) != last.commitVersion : row.integer(3) != last.version
            {
                moreComing = true
                return false
            }
            var found = try record(row)
            if found.isDeleted { found.shareRoot = nil }
            // The record moved from the view of one root into that of another requested one: it exists, and was not
            // deleted. The order of the two rows of a version is not defined.
            if let last = rows.last, last.version == found.version {
                if !found.isDeleted { rows[rows.count - 1] = found }
                return true
            }
            bytes += found.payload.count
            rows.append(found)
            return true
        }
        let version = moreComing ? rows.last?.version : zoneVersion
        return ChangePage(
            rows: rows, version: version ?? zoneVersion, moreComing: moreComing,
            passedChanges: passed)
    }

    /// Each term has the order of its index, and SQLite merges them: a page costs only its own rows.
    private static func mergedFeed(roots: Int) -> String {
        let terms = (0..<roots).flatMap { index in
            [
                """
                SELECT \(recordColumns) FROM record
                WHERE zone = ?1 AND share_root = ?\(index + 4) AND version > ?2
                """,
                """
                SELECT \(eventColumns) FROM share_event
                WHERE zone = ?1 AND root = ?\(index + 4) AND version > ?3
                """,
            ]
        }
        return terms.joined(separator: "\nUNION ALL\n") + "\nORDER BY 4"
    }

    private static let filteredFeed = """
        SELECT \(recordColumns) FROM record INDEXED BY record_by_version
        WHERE zone = ?1 AND version > ?2 AND share_root IS NOT NULL
        UNION ALL
        SELECT \(eventColumns) FROM share_event INDEXED BY share_event_by_zone
        WHERE zone = ?1 AND version > ?3
        ORDER BY 4
        """

    func sharedVersion(of zone: ZoneRow.Key, roots: [String]) throws -> Int64 {
        var highest: Int64 = 0
        for root in roots {
            for sql in [
                "SELECT max(version) FROM record WHERE zone = ? AND share_root = ?",
                "SELECT max(version) FROM share_event WHERE zone = ? AND root = ?",
            ] {
                let version = try statement(sql)
                    .bind(1, zone.rawValue)
                    .bind(2, root)
                    .first { $0.integer(0) }
                highest = max(highest, version ?? 0)
            }
        }
        return highest
    }

    // MARK: Events

    func put(_ row: ShareEventRow) throws {
        try statement("INSERT OR REPLACE INTO share_event VALUES (?, ?, ?, ?, ?, ?)")
            .bindAll(
                row.zone.rawValue, row.root, row.name, row.type, row.version, row.commitVersion
            )
            .run()
    }

    func deleteShareEvent(of name: String, root: String, in zone: ZoneRow.Key) throws {
        try statement("DELETE FROM share_event WHERE zone = ? AND root = ? AND name = ?")
            .bind(1, zone.rawValue)
            .bind(2, root)
            .bind(3, name)
            .run()
    }
}
