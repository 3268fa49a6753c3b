import StratusSQLite

/// The assets of a database and the records that hold them.
extension SQLiteTransaction {
    private static let assetColumns = "sha256, generation, size, reference_count, touched_ms"

    func asset(_ sha256: [UInt8]) throws -> AssetRow? {
        try statement("SELECT \(Self.assetColumns) FROM asset WHERE sha256 = ?")
            .bind(1, sha256)
            .first(Self.asset)
    }

    func unreferencedAssets(
        generationPrefix: UInt32, amongLast count: Int
    ) throws -> [AssetRow] {
        var found: [AssetRow] = []
        // No time is negative: the comparison leaves out null.
        try statement(
            """
            SELECT \(Self.assetColumns) FROM asset INDEXED BY asset_unreferenced
            WHERE reference_count = 0 AND touched_ms >= 0 ORDER BY touched_ms DESC LIMIT ?
            """
        )
        .bind(1, Int64(max(count, 1)))
        .rows { row in
            let asset = Self.asset(row)
            if asset.blob.generation >> 32 == UInt64(generationPrefix) { found.append(asset) }
            return true
        }
        return found
    }

    var assetBytes: Int64 {
        get throws {
            try statement("SELECT size FROM asset_usage WHERE singleton = 1").first {
                $0.integer(0)
            } ?? 0
        }
    }

    func admit(_ row: AssetRow) throws -> AssetRow {
        let stored = try statement(
            """
            INSERT INTO asset VALUES (?1, ?2, ?3, 0, ?4)
            ON CONFLICT (sha256) DO UPDATE SET touched_ms = excluded.touched_ms
            RETURNING \(Self.assetColumns)
            """
        )
        .bind(1, row.blob.sha256)
        .bind(2, Int64(bitPattern: row.blob.generation))
        .bind(3, row.sizeBytes)
        .bind(4, row.touchedMilliseconds ?? 0)
        .first(Self.asset)
        guard let stored else { throw StorageError.assetMissing() }
        if stored.blob == row.blob { try addAssetBytes(row.sizeBytes) }
        return stored
    }

    func setAssets(_ digests: Set<[UInt8]>, of record: String, in zone: ZoneRow.Key) throws {
        let held = try statement("SELECT sha256 FROM asset_reference WHERE zone = ? AND name = ?")
            .bind(1, zone.rawValue)
            .bind(2, record)
            .all { $0.bytes(0) }
        for digest in held where !digests.contains(digest) {
            try statement(
                "DELETE FROM asset_reference WHERE zone = ? AND name = ? AND sha256 = ?"
            )
            .bind(1, zone.rawValue)
            .bind(2, record)
            .bind(3, digest)
            .run()
            try count(digest, by: -1)
        }
        for digest in digests.subtracting(held) {
            try statement("INSERT INTO asset_reference VALUES (?, ?, ?)")
                .bind(1, zone.rawValue)
                .bind(2, record)
                .bind(3, digest)
                .run()
            try count(digest, by: 1)
        }
    }

    /// Releases the assets of all records of a zone.
    func releaseAssets(in zone: ZoneRow.Key) throws {
        try statement(
            """
            UPDATE asset SET reference_count = reference_count - gone.count, touched_ms = NULL
            FROM (SELECT sha256, COUNT(*) AS count FROM asset_reference WHERE zone = ?
                GROUP BY sha256) AS gone
            WHERE asset.sha256 = gone.sha256
            """
        )
        .bind(1, zone.rawValue)
        .run()
        try statement("DELETE FROM asset_reference WHERE zone = ?").bind(1, zone.rawValue).run()
    }

    func touchUnreferencedAssets(atMilliseconds milliseconds: Int64) throws {
        try statement(
            "UPDATE asset SET touched_ms = ? WHERE reference_count = 0 AND touched_ms IS NULL"
        )
        .bind(1, milliseconds)
        .run()
    }

    func takeUnreferencedAssets(
        touchedBefore milliseconds: Int64, limit: Int
    ) throws -> [AssetRow] {
        let taken = try statement(
            """
            DELETE FROM asset WHERE sha256 IN (
                SELECT sha256 FROM asset WHERE reference_count = 0 AND touched_ms < ?
                ORDER BY touched_ms LIMIT ?)
            RETURNING \(Self.assetColumns)
            """
        )
        .bind(1, milliseconds)
        .bind(2, Int64(max(limit, 1)))
        .all(Self.asset)
        try addAssetBytes(-taken.reduce(0) { $0 + $1.sizeBytes })
        return taken
    }

    private func count(_ digest: [UInt8], by difference: Int64) throws {
        let counted = try statement(
            """
            UPDATE asset SET reference_count = reference_count + ?, touched_ms = NULL
            WHERE sha256 = ? RETURNING 1
            """
        )
        .bind(1, difference)
        .bind(2, digest)
        .first { _ in true }
        guard counted != nil else { throw StorageError.assetMissing() }
    }

    private func addAssetBytes(_ difference: Int64) throws {
        try statement("UPDATE asset_usage SET size = size + ? WHERE singleton = 1").bind(
            1, difference
        ).run()
    }

    private static func asset(_ row: SQLStatement) -> AssetRow {
        AssetRow(
            blob: BlobName(
                sha256: row.bytes(0), generation: UInt64(bitPattern: row.integer(1))),
            sizeBytes: row.integer(2), references: row.integer(3),
            touchedMilliseconds: row.isNull(4) ? nil : row.integer(4))
    }
}
