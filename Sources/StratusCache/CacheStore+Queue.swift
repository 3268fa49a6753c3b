import Foundation
import GRDB
import StratusRecords
import StratusSync

/// The queue of pending changes.
extension CacheStore {
    /// The condition for a pending change to go out: not set aside, and its zone is there.
    private static let sendable =
        "errorCode IS NULL AND zone IN (SELECT id FROM zone WHERE state = 1)"

    /// The oldest changes that fit both limits, one at least if there is any.
    func nextBatch(itemLimit: Int, bytesLimit: Int) throws -> [OutgoingChange] {
        try pool.read { database in
            var zones: [Int64: ZoneRow] = [:]
            let zoneRows = try Row.fetchCursor(
                database, sql: "SELECT \(ZoneRow.columns) FROM zone WHERE state = 1")
            while let row = try zoneRows.next() {
                let zone = ZoneRow(row)
                zones[zone.key] = zone
            }
            let statement = try database.cachedStatement(
                sql: """
                    SELECT \(PendingRow.columns), zone FROM pending WHERE \(Self.sendable)
                    ORDER BY sequence LIMIT ?
                    """)
            var batch: [OutgoingChange] = []
            var bytes = 0
            let rows = try Row.fetchCursor(statement, arguments: [itemLimit])
            while let row = try rows.next() {
                guard let zone = zones[row[14]] else { continue }
                let pending = try PendingRow(row, zone: zone.id)
                let client =
                    pending.change.kind == .save
                    ? try record(pending.change.id.name, zone, database) : nil
                bytes += client?.sizeEstimateBytes ?? 64
                if bytes > bytesLimit, !batch.isEmpty { break }
                batch.append(
                    OutgoingChange(change: pending.change, client: client, base: pending.base))
            }
            return batch
        }
    }

    func hasSendable() throws -> Bool {
        try pool.read { database in
            try Bool.fetchOne(
                database, sql: "SELECT EXISTS (SELECT 1 FROM pending WHERE \(Self.sendable))")
                ?? false
        }
    }

    /// Writes down what came of a batch, in one transaction.
    func settle(
        _ batch: [OutgoingChange], _ answers: [OutgoingAnswer], _ verdicts: [ItemVerdict]
    ) throws -> CacheNews {
        try write { database, news in
            for ((item, answer), verdict) in zip(zip(batch, answers), verdicts) {
                let id = item.change.id
                guard let zone = try zone(id.zoneID, database),
                    let row = try pending(id.name, zone, database)
                else { continue }
                switch verdict {
                case .confirmed: try confirm(item, answer, row, zone, database)
                case .conflict:
                    if case .failed(_, let server?) = answer {
                        try meet(server, row, zone, countsRound: true, &news, database)
                    } else {
                        try countRound(row, database)
                        news.staleZones.insert(id.zoneID)
                    }
                case .deletedElsewhere: try meetDeletion(of: id.name, zone, &news, database)
                case .pending: break
                case .countAttempt:
                    var row = row
                    row.change.attempts += 1
                    try update(row, database)
                case .setAside(let failure):
                    try setAside(row, item.change, failure, &news, database)
                }
            }
        }
    }

    /// Sets every item of a batch aside that failed as a whole and cannot be made smaller.
    func setAside(_ batch: [OutgoingChange], _ failure: SyncFailure) throws -> CacheNews {
        try write { database, news in
            for item in batch {
                guard let zone = try zone(item.change.id.zoneID, database),
                    let row = try pending(item.change.id.name, zone, database)
                else { continue }
                try setAside(row, item.change, failure, &news, database)
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
        case .deleted, .failed:
            if isLatest { return try removePending(row, database) }
            row.base = nil
            try putSystem(nil, of: item.change.id.name, zone, database)
        }
        try update(row, database)
    }

    private func countRound(_ row: PendingRow, _ database: Database) throws {
        var row = row
        row.change.conflictRounds += 1
        try update(row, database)
    }

    private func setAside(
        _ row: PendingRow, _ sent: PendingChange, _ failure: SyncFailure, _ news: inout CacheNews,
        _ database: Database
    ) throws {
        // A change that was edited meanwhile is another one, and gets its own chance.
        guard row.change.generation == sent.generation else { return }
        var row = row
        row.failure = failure
        try update(row, database)
        news.events.append(.setAside(AttentionItem(row.change, failure)))
    }

    /// Gives changes that were set aside another chance; all of them when no identity is named.
    func retrySetAside(_ ids: [RecordID]?) throws {
        try pool.write { database in
            let reset =
                "UPDATE pending SET errorCode = NULL, errorMessage = NULL, rounds = 0, attempts = 0"
            guard let ids else {
                try database.execute(sql: "\(reset) WHERE errorCode IS NOT NULL")
                return
            }
            for id in ids {
                guard let zone = try zone(id.zoneID, database) else { continue }
                try database.execute(
                    sql: "\(reset) WHERE zone = ? AND name = ?", arguments: [zone.key, id.name])
            }
        }
    }
}

extension RecordSnapshot {
    /// About what the record takes in a request.
    var sizeEstimateBytes: Int { FieldWriter.encode(fields).count + id.name.utf8.count + 128 }
}
