import StratusSQLite

/// The subscriptions.
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

/// The outbox: the events that are not dispatched yet.
extension SQLiteTransaction {
    func outbox(after identifier: Int64, limit: Int) throws -> [OutboxRow] {
        try statement(
            """
            SELECT identifier, body, epoch_number, epoch_identifier, checksum FROM outbox
            WHERE identifier > ? ORDER BY identifier LIMIT ?
            """
        )
        .bind(1, identifier)
        .bind(2, Int64(max(limit, 1)))
        .all { row in
            let body = row.bytes(1)
            let isWell = row.integer(4) == OutboxRow.checksum(body: body)
            // A damaged event gets an empty body: events are hints, and those after it must not wait for it.
            return OutboxRow(
                identifier: row.integer(0), body: isWell ? body : [],
                epoch: Self.epoch(row, at: 2))
        }
    }

    func enqueue(_ body: [UInt8]) throws {
        if writtenEpoch == nil { try enterEpoch(after: epoch, at: databaseVersion) }
        let epoch = try epoch
        try statement(
            """
            INSERT INTO outbox (body, epoch_number, epoch_identifier, checksum)
            VALUES (?, ?, ?, ?)
            """
        )
        .bind(1, body)
        .bind(2, epoch.number)
        .bind(3, Int64(bitPattern: epoch.identifier))
        .bind(4, OutboxRow.checksum(body: body))
        .run()
    }

    func dequeue(through identifier: Int64) throws {
        try statement("DELETE FROM outbox WHERE identifier <= ?").bind(1, identifier).run()
    }
}
