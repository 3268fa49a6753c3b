/// Reads a zone's records as participants of shares see them.
extension SQLiteTransaction {
    /// The most roots for which a page is merged from their indexes. For more, the zone's own feed is
    /// filtered: a user with that many shares of a zone sees much of it.
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
        try statement.rows { row in
            if !isMerged, !wanted.contains(row.text(14)) { return true }
            // A version may have two rows, see below: no page ends between them.
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
        return ChangePage(rows: rows, version: version ?? zoneVersion, moreComing: moreComing)
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
