extension SQLiteTransaction {
    func holders(
        of target: String, _ action: ReferenceRow.Action, in zone: ZoneRow.Key, limit: Int
    ) throws -> [String] {
        try statement(
            """
            SELECT holder FROM reference_ WHERE zone = ? AND target = ? AND action = ?
            ORDER BY holder LIMIT ?
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, target)
        .bind(3, Int64(action.rawValue))
        .bind(4, Int64(max(limit, 1)))
        .all { $0.text(0) }
    }

    func put(_ row: ReferenceRow) throws {
        try run("INSERT OR IGNORE INTO reference_ VALUES (?, ?, ?, ?)", row)
    }

    func delete(_ row: ReferenceRow) throws {
        try run(
            "DELETE FROM reference_ WHERE zone = ? AND target = ? AND action = ? AND holder = ?",
            row)
    }

    func deleteReferences(heldBy holder: String, in zone: ZoneRow.Key) throws {
        try statement("DELETE FROM reference_ WHERE zone = ? AND holder = ?")
            .bind(1, zone.rawValue)
            .bind(2, holder)
            .run()
    }

    private func run(_ sql: String, _ row: ReferenceRow) throws {
        try statement(sql)
            .bind(1, row.zone.rawValue)
            .bind(2, row.target)
            .bind(3, Int64(row.action.rawValue))
            .bind(4, row.holder)
            .run()
    }
}
