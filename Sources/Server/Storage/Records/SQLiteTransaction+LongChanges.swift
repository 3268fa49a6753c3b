extension SQLiteTransaction {
    func longChanges(in zone: ZoneRow.Key) throws -> Set<LongChangeRow.Kind> {
        let kinds = try statement(
            """
            SELECT EXISTS (SELECT 1 FROM long_change WHERE kind = 1 AND zone = ?1),
                EXISTS (SELECT 1 FROM long_change WHERE kind = 2 AND zone = ?1),
                EXISTS (SELECT 1 FROM long_change WHERE kind = 3 AND zone = ?1),
                EXISTS (SELECT 1 FROM long_change WHERE kind = 4 AND zone = ?1),
                EXISTS (SELECT 1 FROM long_change WHERE kind = 5 AND zone = ?1)
            """
        )
        .bind(1, zone.rawValue)
        .first { row in
            LongChangeRow.Kind.allCases.filter { row.integer(Int32($0.rawValue) - 1) != 0 }
        }
        return Set(kinds ?? [])
    }

    func longChanges(_ kind: LongChangeRow.Kind, limit: Int) throws -> [LongChangeRow] {
        try statement(
            """
            SELECT zone, name, detail FROM long_change WHERE kind = ? ORDER BY zone, name LIMIT ?
            """
        )
        .bind(1, Int64(kind.rawValue))
        .bind(2, Int64(max(limit, 1)))
        .all { row in
            LongChangeRow(
                zone: ZoneRow.Key(rawValue: row.integer(0)), kind: kind, name: row.text(1),
                detail: row.text(2))
        }
    }

    func hasLongChange(
        _ kind: LongChangeRow.Kind, of name: String, in zone: ZoneRow.Key
    ) throws -> Bool {
        try statement("SELECT 1 FROM long_change WHERE kind = ? AND zone = ? AND name = ?")
            .bind(1, Int64(kind.rawValue))
            .bind(2, zone.rawValue)
            .bind(3, name)
            .first { _ in true } ?? false
    }

    func longChangeDetail(
        _ kind: LongChangeRow.Kind, of name: String, in zone: ZoneRow.Key
    ) throws -> String? {
        try statement("SELECT detail FROM long_change WHERE kind = ? AND zone = ? AND name = ?")
            .bind(1, Int64(kind.rawValue))
            .bind(2, zone.rawValue)
            .bind(3, name)
            .first { $0.text(0) }
    }

    func decidedDeletions(limit: Int) throws -> [LongChangeRow] {
        try statement(
            """
            SELECT zone, name, detail FROM long_change WHERE kind = 2 AND NOT EXISTS (
                SELECT 1 FROM long_change AS claim WHERE claim.kind = 5
                    AND claim.zone = long_change.zone AND claim.name = long_change.detail)
            ORDER BY zone, name LIMIT ?
            """
        )
        .bind(1, Int64(max(limit, 1)))
        .all { row in
            LongChangeRow(
                zone: ZoneRow.Key(rawValue: row.integer(0)), kind: .deletion, name: row.text(1),
                detail: row.text(2))
        }
    }

    func claimedDeletions(_ claim: LongChangeRow, limit: Int) throws -> [LongChangeRow] {
        try statement(
            "SELECT name FROM long_change WHERE kind = 2 AND zone = ? AND detail = ? LIMIT ?"
        )
        .bind(1, claim.zone.rawValue)
        .bind(2, claim.name)
        .bind(3, Int64(max(limit, 1)))
        .all { row in
            LongChangeRow(
                zone: claim.zone, kind: .deletion, name: row.text(0), detail: claim.name)
        }
    }

    func put(_ row: LongChangeRow) throws {
        try statement(
            "INSERT OR REPLACE INTO long_change (kind, zone, name, detail) VALUES (?, ?, ?, ?)"
        )
        .bind(1, Int64(row.kind.rawValue))
        .bind(2, row.zone.rawValue)
        .bind(3, row.name)
        .bind(4, row.detail)
        .run()
    }

    func delete(_ row: LongChangeRow) throws {
        try statement("DELETE FROM long_change WHERE kind = ? AND zone = ? AND name = ?")
            .bind(1, Int64(row.kind.rawValue))
            .bind(2, row.zone.rawValue)
            .bind(3, row.name)
            .run()
    }

    func children(
        of parent: String, after name: String, in zone: ZoneRow.Key, limit: Int, payloadBytes: Int
    ) throws -> [RecordRow] {
        try statement(
            """
            SELECT \(Self.recordColumns) FROM record
            WHERE zone = ? AND parent = ? AND name > ? AND deleted = 0 ORDER BY name LIMIT ?
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, parent)
        .bind(3, name)
        .bind(4, Int64(max(limit, 1)))
        .records(of: self, untilBytes: payloadBytes)
    }

    func hasRecords(under root: String, in zone: ZoneRow.Key) throws -> Bool {
        try statement("SELECT 1 FROM record WHERE zone = ? AND share_root = ? LIMIT 1")
            .bind(1, zone.rawValue)
            .bind(2, root)
            .first { _ in true } ?? false
    }
}

/// Removes the rows of a deleted zone, in steps if there are many.
extension SQLiteTransaction {
    /// The tables whose rows are removed after the assets are released, each with the columns that identify its rows in
    /// a zone, in the order of its index.
    private static let zoneTables: [(name: String, key: String)] = [
        ("record_index", "index_id, key, name"), ("record_ancestor", "replaced_at"),
        ("reference_", "target, action, holder"), ("share_event", "root, name"),
    ]

    func holdsMoreRecords(than count: Int, in zone: ZoneRow.Key) throws -> Bool {
        try statement("SELECT 1 FROM record WHERE zone = ? LIMIT 1 OFFSET ?")
            .bind(1, zone.rawValue)
            .bind(2, Int64(max(count, 0)))
            .first { _ in true } ?? false
    }

    func hideZone(_ zone: ZoneRow.Key, reason: ZoneRow.Deletion) throws {
        try markDeleted(zone, reason: reason)
        for table in ["share", "share_access"] {
            try statement("DELETE FROM \(table) WHERE zone = ?").bind(1, zone.rawValue).run()
        }
    }

    func removeRows(ofHiddenZone zone: ZoneRow.Key, limit: Int) throws -> Bool {
        let limit = max(limit, 1)
        let holders = try statement(
            "SELECT DISTINCT name FROM asset_reference WHERE zone = ? LIMIT ?"
        )
        .bind(1, zone.rawValue)
        .bind(2, Int64(limit))
        .all { $0.text(0) }
        for holder in holders { try setAssets([], of: holder, in: zone) }
        if !holders.isEmpty { return true }
        for table in Self.zoneTables {
            if try deleteRows(of: table.name, by: table.key, in: zone, limit: limit) { return true }
        }
        return try deleteRecords(in: zone, limit: limit) > 0
    }

    /// - Returns: Whether there were any.
    private func deleteRows(
        of table: String, by key: String, in zone: ZoneRow.Key, limit: Int
    ) throws -> Bool {
        // Up to a row, not by a list of rows: SQLite would search the whole zone for those.
        try statement(
            """
            DELETE FROM \(table) WHERE zone = ?1 AND (\(key)) < (
                SELECT \(key) FROM \(table) WHERE zone = ?1 ORDER BY \(key) LIMIT 1 OFFSET ?2)
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, Int64(limit))
        .run()
        if database.changesCount > 0 { return true }
        try statement("DELETE FROM \(table) WHERE zone = ?").bind(1, zone.rawValue).run()
        return database.changesCount > 0
    }
}
