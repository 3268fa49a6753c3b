import StratusRecords
import StratusSQLite

extension SQLiteStorageEngine {
    /// Removes the derived rows of a database, recomputes the counters, and lets `body` derive the rows again, in one
    /// transaction.
    ///
    /// For a process that has exclusive access to the folder and does not serve requests.
    ///
    /// - Parameters:
    ///   - dropsDamaged: Whether rows whose checksum does not match are removed. `body` gets the damaged records, which
    ///     it must replace by tombstones.
    ///   - body: Derives the rows.
    /// - Returns: The rows that were dropped.
    package func rebuildDerivedRows(
        of address: DatabaseAddress, dropsDamaged: Bool = false,
        _ body: @escaping @Sendable (any RecordTransaction, [RecordRow]) throws -> Void
    ) async throws -> [DamagedRow] {
        let epoch = epochs.epoch(of: address)
        let (version, rows) = try await withDatabase(of: address) { file in
            try await file.write { database in
                for sql in Self.clearing + [Self.counting] {
                    try SQLStatement(database, sql).run()
                }
                let transaction = SQLiteTransaction(database, writing: epoch)
                let dropped =
                    dropsDamaged ? try transaction.dropDamagedRows() : DroppedRows()
                try body(transaction, dropped.records)
                return (transaction.takenVersion, dropped.rows)
            }
        }
        if let version { epoch.committed(version) }
        return rows
    }

    /// The next collection sets the time of an asset that no record holds, as if its last record had just released it.
    private static let clearing = [
        "DELETE FROM record_index",
        "DELETE FROM reference_",
        "DELETE FROM asset_reference",
        "UPDATE asset SET reference_count = 0, touched_ms = NULL",
        "DELETE FROM share",
        "DELETE FROM share_access",
        """
        DELETE FROM record_ancestor WHERE NOT EXISTS (
            SELECT 1 FROM zone WHERE zone.zone = record_ancestor.zone AND zone.deletion IS NULL
                AND record_ancestor.replaced_at <= zone.version)
        """,
        "UPDATE asset_usage SET size = (SELECT coalesce(sum(size), 0) FROM asset)",
    ]
    private static let counting = """
        UPDATE record_usage SET bytes =
            (SELECT coalesce(sum(\(RecordFile.bytes(of: "record"))), 0) FROM record
            WHERE deleted = 0)
        """
}
