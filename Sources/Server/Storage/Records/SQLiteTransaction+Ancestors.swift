extension SQLiteTransaction {
    func ancestor(replacedAt version: Int64, in zone: ZoneRow.Key) throws -> AncestorRow? {
        try statement(
            """
            SELECT change_tag, modified_ms, modifier, modifier_device, parent, payload
            FROM record_ancestor WHERE zone = ? AND replaced_at = ?
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, version)
        .first { row in
            AncestorRow(
                zone: zone, replacedAt: version, changeTag: row.text(0),
                modifiedMilliseconds: row.integer(1), modifier: row.text(2),
                modifierDevice: row.text(3), parent: row.optionalText(4), payload: row.bytes(5))
        }
    }

    func put(_ row: AncestorRow) throws {
        try statement("INSERT OR REPLACE INTO record_ancestor VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
            .bind(1, row.zone.rawValue)
            .bind(2, row.replacedAt)
            .bind(3, row.changeTag)
            .bind(4, row.modifiedMilliseconds)
            .bind(5, row.modifier)
            .bind(6, row.modifierDevice)
            .bind(7, row.parent)
            .bind(8, row.payload)
            .run()
    }

    func deleteAncestor(replacedAt version: Int64, in zone: ZoneRow.Key) throws {
        try statement("DELETE FROM record_ancestor WHERE zone = ? AND replaced_at = ?")
            .bind(1, zone.rawValue)
            .bind(2, version)
            .run()
    }

    func deleteAncestors(replacedThrough version: Int64, in zone: ZoneRow.Key) throws {
        try statement("DELETE FROM record_ancestor WHERE zone = ? AND replaced_at <= ?")
            .bind(1, zone.rawValue)
            .bind(2, version)
            .run()
    }
}
