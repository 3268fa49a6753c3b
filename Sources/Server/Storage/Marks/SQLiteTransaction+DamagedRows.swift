extension SQLiteTransaction {
    /// Looks at the checksum of every row that has one, and calls `body` for those that are damaged, until it
    /// returns false.
    func damagedRows(_ body: (DamagedRow) -> Bool) throws {
        var goesOn = true
        func look(
            at sql: String, checksum: Int32, _ row: (SQLStatement) -> (Int64, DamagedRow)
        ) throws {
            guard goesOn else { return }
            try statement(sql).rows { found in
                let (expected, name) = row(found)
                if found.integer(checksum) != expected { goesOn = body(name) }
                return goesOn
            }
        }
        try look(
            at: "SELECT \(Self.recordColumns) FROM record", checksum: Self.checksumColumn
        ) { found in
            let row = Self.uncheckedRecord(found)
            return (row.checksum, DamagedRow(kind: "record", name: row.name))
        }
        try look(at: "SELECT \(Self.ancestorColumns) FROM record_ancestor", checksum: 8) { found in
            let row = Self.uncheckedAncestor(found)
            return (
                row.checksum, DamagedRow(kind: "former state of a record", name: row.changeTag)
            )
        }
        try look(at: "SELECT user, identifier, body, checksum FROM subscription", checksum: 3) {
            let row = SubscriptionRow(user: $0.text(0), identifier: $0.text(1), body: $0.bytes(2))
            return (row.checksum, DamagedRow(kind: "subscription", name: row.identifier))
        }
        try look(
            at: "SELECT user, device, operation, outcome, checksum FROM applied_operation",
            checksum: 4
        ) {
            let key = OperationKey(user: $0.text(0), device: $0.text(1), operation: $0.text(2))
            return (
                key.checksum(outcome: $0.bytes(3)),
                DamagedRow(kind: "outcome of a request", name: key.operation)
            )
        }
        try look(at: "SELECT identifier, body, checksum FROM outbox", checksum: 2) {
            (
                OutboxRow.checksum(body: $0.bytes(1)),
                DamagedRow(kind: "event of the outbox", name: "\($0.integer(0))")
            )
        }
    }
}
