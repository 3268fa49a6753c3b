import GRDB

extension RecordFile {
    /// What each zone holds; the rows of zones that hold nothing may be missing. In existing files the
    /// records are counted once; no asset was stored before.
    static let usageTables = """
        CREATE TABLE zone_usage (
            zone INTEGER PRIMARY KEY,
            record_bytes INTEGER NOT NULL,
            asset_bytes INTEGER NOT NULL
        ) STRICT;
        INSERT INTO zone_usage
            SELECT zone, sum(length(CAST(name AS BLOB)) + length(payload)), 0
            FROM record WHERE deleted = 0 GROUP BY zone;
        """
}

extension SQLiteTransaction {
    var usage: StoreUsage {
        get throws {
            let columns = "coalesce(sum(record_bytes), 0), coalesce(sum(asset_bytes), 0)"
            return try statement("SELECT \(columns) FROM zone_usage").first(Self.usage)
                ?? StoreUsage()
        }
    }

    func usage(of zone: ZoneRow.Key) throws -> StoreUsage {
        try statement("SELECT record_bytes, asset_bytes FROM zone_usage WHERE zone = ?")
            .bind(1, zone.rawValue)
            .first(Self.usage) ?? StoreUsage()
    }

    func countRecordBytes() throws -> Int64 {
        try statement(
            """
            SELECT coalesce(sum(length(CAST(name AS BLOB)) + length(payload)), 0) FROM record
            WHERE deleted = 0
            """
        ).first { $0.integer(0) } ?? 0
    }

    func addUsage(_ growth: StoreUsage, in zone: ZoneRow.Key) throws {
        guard growth != StoreUsage() else { return }
        try statement(
            """
            INSERT INTO zone_usage VALUES (?1, ?2, ?3)
            ON CONFLICT (zone) DO UPDATE SET
                record_bytes = record_bytes + ?2, asset_bytes = asset_bytes + ?3
            """
        )
        .bind(1, zone.rawValue)
        .bind(2, growth.recordBytes)
        .bind(3, growth.assetBytes)
        .run()
    }

    /// Forgets what a zone held, with its records.
    func clearUsage(of zone: ZoneRow.Key) throws {
        try statement("DELETE FROM zone_usage WHERE zone = ?").bind(1, zone.rawValue).run()
    }

    private static func usage(_ row: SQLStatement) -> StoreUsage {
        StoreUsage(recordBytes: row.integer(0), assetBytes: row.integer(1))
    }
}
