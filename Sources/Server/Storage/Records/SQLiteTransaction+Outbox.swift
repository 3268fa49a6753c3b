extension SQLiteTransaction {
    func outbox(after identifier: Int64, limit: Int) throws -> [OutboxRow] {
        try statement(
            """
            SELECT identifier, body, checksum FROM outbox WHERE identifier > ?
            ORDER BY identifier LIMIT ?
            """
        )
        .bind(1, identifier)
        .bind(2, Int64(max(limit, 1)))
        .all { row in
            let found = OutboxRow(identifier: row.integer(0), body: row.bytes(1))
            guard row.integer(2) == OutboxRow.checksum(body: found.body) else {
                throw StorageError.damaged(
                    DamagedRow(kind: "event of the outbox", name: "\(found.identifier)"))
            }
            return found
        }
    }

    func enqueue(_ body: [UInt8]) throws {
        try statement("INSERT INTO outbox (body, checksum) VALUES (?, ?)")
            .bind(1, body)
            .bind(2, OutboxRow.checksum(body: body))
            .run()
    }

    func dequeue(through identifier: Int64) throws {
        try statement("DELETE FROM outbox WHERE identifier <= ?").bind(1, identifier).run()
    }
}
