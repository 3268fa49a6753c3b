import StratusSQLite

extension SQLiteTransaction {
    func subscriptions(of user: String?) throws -> [SubscriptionRow] {
        try subscriptionRows(of: user) { row in
            var found = Self.subscription(row)
            // A damaged subscription gets an empty body: it can be listed and deleted, and never
            // fires.
            if row.integer(3) != found.checksum { found.body = [] }
            return found
        }
    }

    /// For rows that have no checksum yet.
    func uncheckedSubscriptions() throws -> [SubscriptionRow] {
        try subscriptionRows(of: nil, Self.subscription)
    }

    private static func subscription(_ row: SQLStatement) -> SubscriptionRow {
        SubscriptionRow(user: row.text(0), identifier: row.text(1), body: row.bytes(2))
    }

    private func subscriptionRows(
        of user: String?, _ body: (SQLStatement) throws -> SubscriptionRow
    ) throws -> [SubscriptionRow] {
        let columns = "SELECT user, identifier, body, checksum FROM subscription"
        let rows =
            if let user {
                try statement("\(columns) WHERE user = ? ORDER BY identifier").bind(1, user)
            } else {
                try statement("\(columns) ORDER BY user, identifier")
            }
        return try rows.all(body)
    }

    func put(_ row: SubscriptionRow) throws {
        try statement("INSERT OR REPLACE INTO subscription VALUES (?, ?, ?, ?)")
            .bind(1, row.user)
            .bind(2, row.identifier)
            .bind(3, row.body)
            .bind(4, row.checksum)
            .run()
    }

    func deleteSubscription(_ identifier: String, of user: String) throws {
        try statement("DELETE FROM subscription WHERE user = ? AND identifier = ?")
            .bind(1, user)
            .bind(2, identifier)
            .run()
    }
}
