extension SQLiteTransaction {
    func counts(of zone: ZoneRow.Key) throws -> ZoneCounts {
        let records = try statement("SELECT count(version) FROM record WHERE zone = ?")
            .bind(1, zone.rawValue)
            .first { Int($0.integer(0)) }
        let tombstones = try statement(
            """
            SELECT count(version) FROM record INDEXED BY record_tombstone
            WHERE zone = ? AND deleted = 1
            """
        )
        .bind(1, zone.rawValue)
        .first { Int($0.integer(0)) }
        return ZoneCounts(records: records ?? 0, tombstones: tombstones ?? 0)
    }

    func tombstoneCounts() throws -> [ZoneRow.Key: Int] {
        var counts: [ZoneRow.Key: Int] = [:]
        try statement(
            """
            SELECT zone, count(version) FROM record INDEXED BY record_tombstone
            WHERE deleted = 1 GROUP BY zone
            """
        )
        .rows { row in
            counts[ZoneRow.Key(rawValue: row.integer(0))] = Int(row.integer(1))
            return true
        }
        return counts
    }

    func oldTombstones(
        before milliseconds: Int64, in zone: ZoneRow.Key, limit: Int
    ) throws -> Int64? {
        var last: Int64?
        try statement(
            """
            SELECT version, modified_ms FROM record INDEXED BY record_tombstone
            WHERE zone = ? AND deleted = 1 ORDER BY version LIMIT ?
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, Int64(max(limit, 1)))
        .rows { row in
            guard row.integer(1) < milliseconds else { return false }
            last = row.integer(0)
            return true
        }
        return last
    }
}
