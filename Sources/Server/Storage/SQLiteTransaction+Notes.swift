/// What a database keeps beside its records: subscriptions, outcomes, the outbox.
extension SQLiteTransaction {
    // MARK: Subscriptions

    func subscriptions(of user: String?) throws -> [SubscriptionRow] {
        let columns = "SELECT user, identifier, body FROM subscription"
        let rows =
            if let user {
                try statement("\(columns) WHERE user = ? ORDER BY identifier").bind(1, user)
            } else {
                try statement("\(columns) ORDER BY user, identifier")
            }
        return try rows.all {
            SubscriptionRow(user: $0.text(0), identifier: $0.text(1), body: $0.bytes(2))
        }
    }

    func put(_ row: SubscriptionRow) throws {
        try statement("INSERT OR REPLACE INTO subscription VALUES (?, ?, ?)")
            .bind(1, row.user)
            .bind(2, row.identifier)
            .bind(3, row.body)
            .run()
    }

    func deleteSubscription(_ identifier: String, of user: String) throws {
        try statement("DELETE FROM subscription WHERE user = ? AND identifier = ?")
            .bind(1, user)
            .bind(2, identifier)
            .run()
    }

    // MARK: Outcomes of operations

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

    // MARK: Outbox

    func outbox(after identifier: Int64, limit: Int) throws -> [OutboxRow] {
        try statement(
            "SELECT identifier, body FROM outbox WHERE identifier > ? ORDER BY identifier LIMIT ?"
        )
        .bind(1, identifier)
        .bind(2, Int64(max(limit, 1)))
        .all { OutboxRow(identifier: $0.integer(0), body: $0.bytes(1)) }
    }

    func enqueue(_ body: [UInt8]) throws {
        try statement("INSERT INTO outbox (body) VALUES (?)").bind(1, body).run()
    }

    func dequeue(through identifier: Int64) throws {
        try statement("DELETE FROM outbox WHERE identifier <= ?").bind(1, identifier).run()
    }
}
