extension SQLiteTransaction {
    func outcome(of operation: OperationKey) throws -> [UInt8]? {
        try statement(
            """
            SELECT outcome FROM applied_operation WHERE user = ? AND device = ? AND operation = ?
            """
        )
        .bind(1, operation.user)
        .bind(2, operation.device)
        .bind(3, operation.operation)
        .first { $0.bytes(0) }
    }

    func put(outcome: [UInt8], of operation: OperationKey, expiresMilliseconds: Int64) throws {
        try statement("INSERT OR REPLACE INTO applied_operation VALUES (?, ?, ?, ?, ?)")
            .bind(1, operation.user)
            .bind(2, operation.device)
            .bind(3, operation.operation)
            .bind(4, outcome)
            .bind(5, expiresMilliseconds)
            .run()
    }

    func deleteOutcomes(expiredAt milliseconds: Int64) throws {
        try statement("DELETE FROM applied_operation WHERE expires_ms <= ?")
            .bind(1, milliseconds)
            .run()
    }
}
