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
