extension SQLiteTransaction {
    func longChanges(in zone: ZoneRow.Key) throws -> Set<LongChangeRow.Kind> {
        let kinds = try statement(
            """
            SELECT EXISTS (SELECT 1 FROM long_change WHERE kind = 1 AND zone = ?1),
                EXISTS (SELECT 1 FROM long_change WHERE kind = 2 AND zone = ?1),
                EXISTS (SELECT 1 FROM long_change WHERE kind = 3 AND zone = ?1)
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
        var rows: [RecordRow] = []
        var bytes = 0
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
        .rows { row in
            let record = Self.record(row)
            bytes += record.payload.count
            rows.append(record)
            return bytes < payloadBytes
        }
        return rows
    }

    func hasRecords(under root: String, in zone: ZoneRow.Key) throws -> Bool {
        try statement("SELECT 1 FROM record WHERE zone = ? AND share_root = ? LIMIT 1")
            .bind(1, zone.rawValue)
            .bind(2, root)
            .first { _ in true } ?? false
    }
}
