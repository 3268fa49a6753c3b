extension SQLiteTransaction {
    func outbox(after identifier: Int64, limit: Int) throws -> [OutboxRow] {
        try statement(
            """
            SELECT identifier, body, epoch_number, epoch_identifier FROM outbox
            WHERE identifier > ? ORDER BY identifier LIMIT ?
            """
        )
        .bind(1, identifier)
        .bind(2, Int64(max(limit, 1)))
        .all {
            OutboxRow(
                identifier: $0.integer(0), body: $0.bytes(1), epoch: Self.epoch($0, at: 2))
        }
    }

    func enqueue(_ body: [UInt8]) throws {
        if writtenEpoch == nil { try enterEpoch(after: epoch, at: databaseVersion) }
        let epoch = try epoch
        try statement(
            "INSERT INTO outbox (body, epoch_number, epoch_identifier) VALUES (?, ?, ?)"
        )
        .bind(1, body)
        .bind(2, epoch.number)
        .bind(3, Int64(bitPattern: epoch.identifier))
        .run()
    }

    func dequeue(through identifier: Int64) throws {
        try statement("DELETE FROM outbox WHERE identifier <= ?").bind(1, identifier).run()
    }
}
