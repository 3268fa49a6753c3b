extension SQLiteTransaction {
    func outcome(of operation: OperationKey) throws -> [UInt8]? {
        try statement(
            """
            SELECT outcome, checksum FROM applied_operation
            WHERE user = ? AND device = ? AND operation = ?
            """
        )
        .bind(1, operation.user)
        .bind(2, operation.device)
        .bind(3, operation.operation)
        .first { row in
            let outcome = row.bytes(0)
            guard row.integer(1) == operation.checksum(outcome: outcome) else {
                throw StorageError.damaged(
                    DamagedRow(kind: "outcome of a request", name: operation.operation))
            }
            return outcome
        }
    }

    func put(outcome: [UInt8], of operation: OperationKey, expiresMilliseconds: Int64) throws {
        try statement("INSERT OR REPLACE INTO applied_operation VALUES (?, ?, ?, ?, ?, ?)")
            .bind(1, operation.user)
            .bind(2, operation.device)
            .bind(3, operation.operation)
            .bind(4, outcome)
            .bind(5, expiresMilliseconds)
            .bind(6, operation.checksum(outcome: outcome))
            .run()
    }

    func deleteOutcomes(expiredAt milliseconds: Int64) throws {
        try statement("DELETE FROM applied_operation WHERE expires_ms <= ?")
            .bind(1, milliseconds)
            .run()
    }
}
