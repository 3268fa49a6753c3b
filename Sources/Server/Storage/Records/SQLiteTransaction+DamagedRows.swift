import StratusSQLite

extension SQLiteTransaction {
    func damagedRecord(named name: String, in zone: ZoneRow.Key) throws -> StorageError {
        let zoneName = try statement("SELECT name FROM zone WHERE zone = ?")
            .bind(1, zone.rawValue)
            .first { $0.text(0) }
        return .damaged(DamagedRow(kind: "record", zone: zoneName, name: name))
    }

    /// Compares the checksum of every row that has one, and calls `body` for damaged rows until it returns false.
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
        if goesOn {
            try lookAtZones { zone, isDamaged in
                if isDamaged { goesOn = body(DamagedRow(kind: "zone", name: zone.row.name)) }
                return goesOn
            }
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

/// The damaged rows of a database that are removed.
package struct DroppedRows: Sendable {
    /// All of them, for a report.
    package var rows: [DamagedRow] = []
    /// The damaged records, as they can be read. They are still stored: the caller replaces them by tombstones.
    package var records: [RecordRow] = []
}

extension SQLiteTransaction {
    /// Removes the damaged rows, except for records and zones. Zones keep their rows, whose checksums are computed
    /// again.
    func dropDamagedRows() throws -> DroppedRows {
        var dropped = DroppedRows()
        try dropDamageOfZones(&dropped)
        dropped.records = try statement("SELECT \(Self.recordColumns) FROM record")
            .all { (row: Self.uncheckedRecord($0), checksum: $0.integer(Self.checksumColumn)) }
            .filter { $0.row.checksum != $0.checksum }
            .map(\.row)
        for record in dropped.records {
            dropped.rows.append(DamagedRow(kind: "record", name: record.name))
        }
        var subscriptions: [SubscriptionRow] = []
        try statement("SELECT user, identifier, body, checksum FROM subscription").rows {
            let row = SubscriptionRow(user: $0.text(0), identifier: $0.text(1), body: $0.bytes(2))
            if row.checksum != $0.integer(3) { subscriptions.append(row) }
            return true
        }
        for row in subscriptions {
            try statement("DELETE FROM subscription WHERE user = ? AND identifier = ?")
                .bind(1, row.user)
                .bind(2, row.identifier)
                .run()
            dropped.rows.append(DamagedRow(kind: "subscription", name: row.identifier))
        }
        try drop(from: "record_ancestor", Self.ancestorColumns, at: 8, &dropped) {
            let row = Self.uncheckedAncestor($0)
            return (row.checksum, DamagedRow(kind: "former state of a record", name: row.changeTag))
        }
        try drop(
            from: "applied_operation", "user, device, operation, outcome, checksum", at: 4, &dropped
        ) {
            let key = OperationKey(user: $0.text(0), device: $0.text(1), operation: $0.text(2))
            return (
                key.checksum(outcome: $0.bytes(3)),
                DamagedRow(kind: "outcome of a request", name: key.operation)
            )
        }
        try drop(from: "outbox", "identifier, body, checksum", at: 2, &dropped) {
            (
                OutboxRow.checksum(body: $0.bytes(1)),
                DamagedRow(kind: "event of the outbox", name: "\($0.integer(0))")
            )
        }
        return dropped
    }

    /// - Parameter checksum: The number of the checksum's column, which is the last.
    private func drop(
        from table: String, _ columns: String, at checksum: Int32, _ dropped: inout DroppedRows,
        _ row: (SQLStatement) -> (Int64, DamagedRow)
    ) throws {
        var found: [(Int64, DamagedRow)] = []
        try statement("SELECT \(columns), rowid FROM \(table)").rows {
            let (expected, name) = row($0)
            if $0.integer(checksum) != expected { found.append(($0.integer(checksum + 1), name)) }
            return true
        }
        for (rowid, name) in found {
            try statement("DELETE FROM \(table) WHERE rowid = ?").bind(1, rowid).run()
            dropped.rows.append(name)
        }
    }

    /// A zone cannot be removed without its records, so its row stays as it is. Only its version is raised to that of
    /// its newest record.
    private func dropDamageOfZones(_ dropped: inout DroppedRows) throws {
        var damaged: [ZoneRow] = []
        try lookAtZones { zone, isDamaged in
            if isDamaged { damaged.append(zone.row) }
            return true
        }
        guard !damaged.isEmpty else { return }
        try stampZones()
        for zone in damaged {
            let newest = try statement("SELECT max(commit_version) FROM record WHERE zone = ?")
                .bind(1, zone.key.rawValue)
                .first { $0.integer(0) }
            try change(zone.key) { $0.row.version = max($0.row.version, newest ?? 0) }
            dropped.rows.append(DamagedRow(kind: "zone", name: zone.name))
        }
    }
}
