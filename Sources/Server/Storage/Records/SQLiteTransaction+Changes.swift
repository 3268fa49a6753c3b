extension SQLiteTransaction {
    func changes(
        in zone: ZoneRow.Key, after cursor: ChangeCursor, limit: Int, payloadBytes: Int
    ) throws -> ChangePage {
        guard let zoneVersion = try version(of: zone) else { throw StorageError.zoneMissing() }
        let limit = max(limit, 1)
        var rows: [RecordRow] = []
        var bytes = 0
        var moreComing = false
        // No LIMIT: rows are read one by one, and reading stops at the first that is too many.
        try statement(
            """
            SELECT \(Self.recordColumns) FROM record
            WHERE zone = ? AND version > ? AND (deleted = 0 OR version > ? OR creator_device = ?)
            ORDER BY version
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, cursor.version)
        .bind(3, cursor.skipTombstonesThrough)
        .bind(4, cursor.device)
        .rows { row in
            if rows.count >= limit || bytes >= payloadBytes, let last = rows.last,
                !cursor.wantsWholeBatches || row.integer(4) != last.commitVersion
            {
                moreComing = true
                return false
            }
            let found = try record(row)
            bytes += found.payload.count
            rows.append(found)
            return true
        }
        let version = moreComing ? rows.last?.version : zoneVersion
        return ChangePage(rows: rows, version: version ?? zoneVersion, moreComing: moreComing)
    }

    func purgeTombstones(through version: Int64, in zone: ZoneRow.Key) throws -> Int {
        let count = try deleteTombstones(through: version, in: zone)
        try statement("DELETE FROM share_event WHERE zone = ? AND version <= ?")
            .bind(1, zone.rawValue)
            .bind(2, version)
            .run()
        guard try self.version(of: zone) != nil else { return count }
        try change(zone) { zone in
            zone.row.purgeHorizon = max(zone.row.purgeHorizon, min(zone.row.version, version))
        }
        return count
    }
}
