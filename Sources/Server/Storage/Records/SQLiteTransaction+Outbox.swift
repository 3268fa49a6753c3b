extension SQLiteTransaction {
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
