extension SQLiteTransaction {
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
}
