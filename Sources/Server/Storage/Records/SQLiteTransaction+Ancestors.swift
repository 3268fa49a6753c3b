import StratusSQLite

extension SQLiteTransaction {
    static let ancestorColumns = """
        zone, replaced_at, change_tag, modified_ms, modifier, modifier_device, parent, payload, checksum
        """

    func ancestor(replacedAt version: Int64, in zone: ZoneRow.Key) throws -> AncestorRow? {
        try statement(
            """
            SELECT \(Self.ancestorColumns) FROM record_ancestor WHERE zone = ? AND replaced_at = ?
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, version)
        .first { row in
            let found = Self.uncheckedAncestor(row)
            guard row.integer(8) == found.checksum else {
                throw StorageError.damaged(
                    DamagedRow(kind: "former state of a record", name: found.changeTag))
            }
            return found
        }
    }

    static func uncheckedAncestor(_ row: SQLStatement) -> AncestorRow {
        AncestorRow(
            zone: ZoneRow.Key(rawValue: row.integer(0)), replacedAt: row.integer(1),
            changeTag: row.text(2), modifiedMilliseconds: row.integer(3), modifier: row.text(4),
            modifierDevice: row.text(5), parent: row.optionalText(6), payload: row.bytes(7))
    }

    func put(_ row: AncestorRow) throws {
        try statement("INSERT OR REPLACE INTO record_ancestor VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
            .bind(1, row.zone.rawValue)
            .bind(2, row.replacedAt)
            .bind(3, row.changeTag)
            .bind(4, row.modifiedMilliseconds)
            .bind(5, row.modifier)
            .bind(6, row.modifierDevice)
            .bind(7, row.parent)
            .bind(8, row.payload)
            .bind(9, row.checksum)
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
