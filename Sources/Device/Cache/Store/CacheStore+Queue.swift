import Foundation
import GRDB
import StratusRecords
import StratusSync

/// The queue of pending changes.
extension CacheStore {
    /// The condition for a pending change to go out: not set aside, and its zone is there.
    private var sendable: String {
        "errorCode IS NULL AND zone IN (SELECT id FROM zone WHERE \(isHere) AND state = 1)"
    }

    /// The same, with the owners as arguments whose zones take no saves.
    private func sendable(withholding owners: Set<String>) -> String {
        guard !owners.isEmpty else { return sendable }
        let marks = owners.map { _ in "?" }.joined(separator: ", ")
        return sendable
            + " AND (kind = 1 OR zone NOT IN (SELECT id FROM zone WHERE owner IN (\(marks))))"
    }

    /// The oldest changes that fit both limits, one at least if there is any.
    ///
    /// - Parameters:
    ///   - owners: no saves into their zones: their quota is used up.
    ///   - deletionsFirst: what makes room goes before what takes it.
    func nextBatch(
        itemLimit: Int, bytesLimit: Int, withholding owners: Set<String> = [],
        deletionsFirst: Bool = false
    ) throws -> [OutgoingChange] {
        try pool.read { database in
            var zones: [Int64: ZoneRow] = [:]
            let order = deletionsFirst ? "kind DESC, sequence" : "sequence"
            let zoneRows = try Row.fetchCursor(
                database, sql: "SELECT \(ZoneRow.columns) FROM zone WHERE \(isHere) AND state = 1")
            while let row = try zoneRows.next() {
                let zone = ZoneRow(row)
                zones[zone.key] = zone
            }
            let statement = try database.cachedStatement(
                sql: """
                    SELECT \(PendingRow.columns), zone FROM pending
                    WHERE \(sendable(withholding: owners)) ORDER BY \(order) LIMIT ?
                    """)
            var batch: [OutgoingChange] = []
            var bytes = 0
            let rows = try Row.fetchCursor(
                statement, arguments: StatementArguments(owners.sorted()) + [itemLimit])
            while let row = try rows.next() {
                guard let zone = zones[row[PendingRow.columnCount]] else { continue }
                let pending = try PendingRow(row, zone: zone.id)
                let client =
                    pending.change.kind == .save
                    ? try record(pending.change.id.name, zone, database) : nil
                bytes += client?.sizeEstimateBytes ?? 64
                if bytes > bytesLimit, !batch.isEmpty { break }
                batch.append(
                    OutgoingChange(
                        change: pending.change, client: client, base: pending.base,
                        sequence: pending.sequence))
            }
            return batch
        }
    }

    func hasSendable(withholding owners: Set<String> = []) throws -> Bool {
        try pool.read { database in
            let condition = sendable(withholding: owners)
            return try Bool.fetchOne(
                database, sql: "SELECT EXISTS (SELECT 1 FROM pending WHERE \(condition))",
                arguments: StatementArguments(owners.sorted())) ?? false
        }
    }

    /// Notes that nobody knows whether these changes arrived.
    func noteUncertain(_ batch: [OutgoingChange]) throws {
        try file.write { database in
            for item in batch where item.base == nil {
                try database.cachedStatement(
                    sql: "UPDATE pending SET isUncertain = 1 WHERE sequence = ?"
                ).execute(arguments: [item.sequence])
            }
        }
    }

    /// Writes down what came of a batch, in one transaction.
    func confirm(
        _ batch: [OutgoingChange], _ answers: [OutgoingAnswer], _ verdicts: [ItemVerdict]
    ) throws -> CacheOutcome {
        try write { database, outcome in
            for ((item, answer), verdict) in zip(zip(batch, answers), verdicts) {
                let id = item.change.id
                // A change that is not this one any more came after its zone was deleted.
                guard let zone = try zone(id.zoneID, database),
                    let row = try pending(id.name, zone, database),
                    row.sequence == item.sequence
                else { continue }
                switch verdict {
                case .confirmed: try confirm(item, answer, row, zone, database)
                case .conflict:
                    if case .failed(_, let server?) = answer {
                        try meet(server, row, zone, countsRound: true, &outcome, database)
                    } else {
                        try countRound(row, database)
                        outcome.staleZones.insert(id.zoneID)
                    }
                case .deletedElsewhere: try meetDeletion(of: id.name, zone, &outcome, database)
                case .pending: break
                case .countAttempt:
                    var row = row
                    row.change.attempts += 1
                    try update(row, database)
                    try moveBehind(row, database)
                case .setAside(let failure):
                    try setAside(row, item.change, failure, &outcome, database)
                }
            }
        }
    }

    /// Sets every item of a batch aside that failed as a whole and cannot be made smaller.
    func setAside(_ batch: [OutgoingChange], _ failure: SyncFailure) throws -> CacheOutcome {
        try write { database, outcome in
            for item in batch {
                guard let zone = try zone(item.change.id.zoneID, database),
                    let row = try pending(item.change.id.name, zone, database),
                    row.sequence == item.sequence
                else { continue }
                try setAside(row, item.change, failure, &outcome, database)
            }
        }
    }

    private func confirm(
        _ item: OutgoingChange, _ answer: OutgoingAnswer, _ row: PendingRow, _ zone: ZoneRow,
        _ database: Database
    ) throws {
        var row = row
        let isLatest = row.change.generation == item.change.generation
        switch answer {
        case .saved(let system):
            if row.change.kind == .save {
                try putSystem(system, of: item.change.id.name, zone, database)
            }
            if isLatest { return try removePending(row, database) }
            // Edited again meanwhile: the later edit goes on from what the service has now.
            row.base = item.client
            row.base?.system = system
            row.earlier = []
            row.isUncertain = false
        case .deleted, .failed:
            if isLatest { return try removePending(row, database) }
            row.base = nil
            try putSystem(nil, of: item.change.id.name, zone, database)
        }
        try update(row, database)
    }

    /// Puts a change behind all others: what it depends on may be among them.
    private func moveBehind(_ row: PendingRow, _ database: Database) throws {
        // The counter too: no later change may get the number again.
        try database.execute(sql: "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'pending'")
        try database.execute(
            sql: """
                UPDATE pending SET sequence =
                    (SELECT seq FROM sqlite_sequence WHERE name = 'pending') WHERE sequence = ?
                """, arguments: [row.sequence])
    }

    private func countRound(_ row: PendingRow, _ database: Database) throws {
        var row = row
        row.change.conflictRounds += 1
        try update(row, database)
    }

    private func setAside(
        _ row: PendingRow, _ sent: PendingChange, _ failure: SyncFailure,
        _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws {
        // A change that was edited meanwhile is another one, and gets its own chance.
        guard row.change.generation == sent.generation else { return }
        var row = row
        row.failure = failure
        try update(row, database)
        outcome.events.append(.setAside(AttentionItem(row.change, failure, scope)))
    }

    /// Gives changes that were set aside another chance, with their zones; all of them when no
    /// identity is named.
    ///
    /// - Returns: zones that must be created.
    func retrySetAside(_ ids: [RecordID]?) throws -> [ZoneID] {
        try file.write { database in
            let reset =
                "UPDATE pending SET errorCode = NULL, errorMessage = NULL, rounds = 0, attempts = 0"
            var zones: Set<ZoneID> = []
            if let ids {
                for id in ids {
                    guard let zone = try zone(id.zoneID, database) else { continue }
                    zones.insert(id.zoneID)
                    try database.execute(
                        sql: "\(reset) WHERE zone = ? AND name = ?",
                        arguments: [zone.key, id.name])
                }
            } else {
                try database.execute(
                    sql: "\(reset) WHERE errorCode IS NOT NULL AND zone IN \(zonesHere)")
                zones = Set(
                    try Row.fetchAll(
                        database,
                        sql: "SELECT \(ZoneRow.columns) FROM zone WHERE \(isHere) AND state = 4"
                    ).map { ZoneRow($0).id })
            }
            try file.noteChange(of: [], in: scope, database)
            var wanted: [ZoneID] = []
            for id in zones {
                guard let row = try zone(id, database), row.state == .refused else { continue }
                try setState(.wanted, of: row, database)
                wanted.append(id)
            }
            return wanted
        }
    }
}

extension RecordSnapshot {
    /// About what the record takes in a request.
    var sizeEstimateBytes: Int { fieldsData.count + id.name.utf8.count + 128 }
}
