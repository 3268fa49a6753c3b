import Foundation
import GRDB
import StratusRecords
import StratusSQLite
import StratusSync
import StratusWire

/// Chooses the pending changes to send next.
extension CacheStore {
    /// The condition for a pending change to be sent: it is not set aside, and its zone exists and
    /// was fetched. Before that, a fetch could not distinguish a save that never arrived from one
    /// whose record was deleted since. A new record with the name of one that was deleted here
    /// waits until the zone's changes have reported that deletion; a later deletion is then one of
    /// the new record. Changes in a zone with records of a newer app wait for the update, and
    /// changes that are ``isUnanswered`` wait for the zone's changes.
    private var sendable: String {
        """
        errorCode IS NULL AND zone IN (SELECT id FROM zone WHERE \(isHere) AND state = 1
            AND token IS NOT NULL AND isRefetching <> 2)
        AND NOT (\(Self.waitsForDeletion)) AND NOT (\(Self.isUnanswered))
        AND zone NOT IN (\(held.withLock { $0.keys.map(String.init).joined(separator: ", ") }))
        """
    }

    /// The condition for a change of a new record that waits until the zone's changes have reported the deletion of the
    /// former record of its name.
    static let waitsForDeletion = "isMadeAnew AND baseType IS NULL"

    /// The zones whose changes must be fetched before all pending changes can be sent.
    func zonesWithUnanswered(_ database: Database) throws -> [ZoneID] {
        try CachedZoneRow.all(
            where: """
                \(isHere) AND state = 1
                    AND id IN (SELECT zone FROM pending
                        WHERE \(Self.isUnanswered) OR \(Self.waitsForDeletion))
                ORDER BY id
                """, database
        ).map(\.id)
    }

    /// The condition ``sendable``, without saves into the zones of the owners, which are the
    /// arguments.
    func sendable(withholding owners: Set<String>) -> String {
        guard !owners.isEmpty else { return sendable }
        let marks = owners.map { _ in "?" }.joined(separator: ", ")
        return sendable
            + " AND (kind = 1 OR zone NOT IN (SELECT id FROM zone WHERE owner IN (\(marks))))"
    }

    /// Returns the oldest changes that fit both limits, at least one if there is any. The records
    /// that a record needs, its parent or the target of a DELETE_SELF reference, come before it.
    ///
    /// The file marks them as being sent before they are sent, so that after a crash it is known
    /// that they may have arrived.
    /// - Parameters:
    ///   - owners: zone owners whose quota is exceeded; saves into their zones are left out.
    ///   - deletionsFirst: whether deletions, which free storage, are sent before saves.
    ///   - operation: the request that takes the batch.
    ///   - report: called with what was set aside instead; see ``Departures``.
    func nextBatch(
        itemLimit: Int, bytesLimit: Int, withholding owners: Set<String> = [],
        deletionsFirst: Bool = false, operation: SentOperation? = nil,
        report: (CacheOutcome) -> Void = { _ in }
    ) throws -> [OutgoingChange] {
        let (changes, outcome) = try file.write { database in
            try dropOldReceipts(database)
            let zones = try zonesToSend(database)
            let order = deletionsFirst ? "kind DESC, sequence" : "sequence"
            let statement = try database.cachedStatement(
                sql: """
                    SELECT \(PendingRow.columns), zone FROM pending
                    WHERE \(sendable(withholding: owners)) AND NOT (\(Self.waitsForUpload))
                        AND sequence NOT IN (SELECT value FROM json_each(?))
                    ORDER BY \(order) LIMIT ?
                    """)
            var walk = DependencyWalk<RecordID, OutgoingChange>()
            var batch = Batch(itemLimit: itemLimit, bytesLimit: bytesLimit)
            var departures = Departures(withholding: owners)
            while !batch.isFull, departures.needsPass {
                let rows = try Row.fetchCursor(
                    statement,
                    arguments: StatementArguments(owners.sorted())
                        + [departures.beginPass(), max(itemLimit, 400)])
                while !batch.isFull, let row = try rows.next() {
                    let key: Int64 = try row.decode(atIndex: PendingRow.columnCount)
                    guard let zone = zones[key] else { continue }
                    let pending = try PendingRow(row, zone: zone.id)
                    guard !walk.hasSeen(pending.change.id) else { continue }
                    let change = try outgoing(pending, zone, database)
                    if try departures.withholds(change, pending, zone, in: self, database) {
                        continue
                    }
                    walk.begin(at: change)
                    try take(&walk, into: &batch, zone, database)
                }
            }
            try noteSending(batch, database)
            if let operation, !batch.changes.isEmpty {
                let zones = Set(batch.changes.map(\.change.id.zoneID))
                try noteOperation(operation, of: zones, database)
            }
            return (batch.changes, try setAside(departures.refused, database))
        }
        report(outcome)
        return changes
    }

    /// The zones of this database that exist, by the keys of their rows.
    private func zonesToSend(_ database: Database) throws -> [Int64: CachedZoneRow] {
        let zones = try CachedZoneRow.all(where: "\(isHere) AND state = 1", database)
        return Dictionary(zones.map { ($0.key, $0) }) { $1 }
    }

    /// Adds the change that was begun to a batch, after the changes that it needs.
    private func take(
        _ walk: inout DependencyWalk<RecordID, OutgoingChange>, into batch: inout Batch,
        _ zone: CachedZoneRow, _ database: Database
    ) throws {
        while !batch.isFull, let step = walk.next() {
            switch step {
            case .look(let id):
                guard let needed = try pendingSave(of: id, zone, database) else { continue }
                if try needed.isUnanswered || needed.waitsForDeletion
                    || waitsForUpload(needed, database)
                {
                    batch.withhold(id)
                } else {
                    walk.begin(at: try outgoing(needed, zone, database))
                }
            case .take(let change): batch.take(change)
            }
        }
    }

    /// Marks the changes of a batch as being sent.
    func noteSending(_ batch: Batch, _ database: Database) throws {
        try note(
            "CASE isUncertain WHEN 0 THEN 2 ELSE 1 END", of: batch.changes.map(\.sequence), database
        )
        clock.noteSending()
    }

    func hasSendable(withholding owners: Set<String> = []) throws -> Bool {
        try read { database in
            let condition = sendable(withholding: owners)
            let statement = try SQLStatement(
                database, "SELECT EXISTS (SELECT 1 FROM pending WHERE \(condition))")
            for (place, owner) in owners.sorted().enumerated() {
                try statement.bind(Int32(place + 1), owner)
            }
            return try statement.first { $0.integer(0) != 0 } ?? false
        }
    }

    /// What is sent for a pending change: the change itself, or first the deletion of the former record of its name.
    func outgoing(
        _ pending: PendingRow, _ zone: CachedZoneRow, _ database: Database
    ) throws -> OutgoingChange {
        let client =
            pending.change.kind == .save
            ? try record(pending.change.id.name, zone, database) : nil
        if try deletesFormer(pending, zone, database) {
            var deletion = pending.change
            deletion.kind = .delete
            return OutgoingChange(
                change: deletion, client: nil, base: pending.base, sequence: pending.sequence,
                isOfFormer: true)
        }
        return OutgoingChange(
            change: pending.change, client: client, base: pending.base,
            sequence: pending.sequence, receipts: try receipts(for: client, zone, database),
            isWhole: client != nil && (pending.base.map { isMigratedLocally($0) } ?? false))
    }

    /// Whether a new record has the name of one that the service still has, which must be deleted
    /// before the new one is saved: all devices see it as a new record only if the former one was
    /// deleted first.
    ///
    /// False if the deletion would also delete other records that refer to it, or its share.
    func deletesFormer(
        _ row: PendingRow, _ zone: CachedZoneRow, _ database: Database
    ) throws -> Bool {
        guard row.change.kind == .save, row.isRecreated, let base = row.base,
            base.system?.sharing == nil, base.system?.shareRecordName == nil
        else { return false }
        let name = row.change.id.name
        // As in the stored JSON, in which quotes and backslashes are escaped.
        var text = JSONWriter()
        text.string(name)
        let isReferredTo = try Bool.fetchOne(
            database.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM record
                        WHERE zone = ? AND name <> ? AND (parent = ? OR instr(fields, ?) > 0))
                    """), arguments: [zone.key, name, name, Data(text.finish())])
        return isReferredTo != true
    }

    /// A pending save in the same zone that is not set aside; nil if there is none.
    private func pendingSave(
        of id: RecordID, _ zone: CachedZoneRow, _ database: Database
    ) throws -> PendingRow? {
        guard id.zoneID == zone.id, let row = try pending(id.name, zone, database),
            row.change.kind == .save, row.failure == nil
        else { return nil }
        return row
    }
}

/// The changes that are sent together.
struct Batch {
    let itemLimit: Int
    let bytesLimit: Int
    private(set) var changes: [OutgoingChange] = []
    private var bytes = 0
    /// The records that must wait for their files or for an answer.
    private var withheld: Set<RecordID> = []

    init(itemLimit: Int, bytesLimit: Int) {
        self.itemLimit = itemLimit
        self.bytesLimit = bytesLimit
    }

    var isFull: Bool { changes.count >= itemLimit || bytes > bytesLimit }

    /// Makes a record wait, and every change that needs it.
    mutating func withhold(_ id: RecordID) { withheld.insert(id) }

    /// Adds a change, unless it needs a record that waits: then it waits too. At least one change
    /// is added, however large.
    mutating func take(_ change: OutgoingChange) {
        guard withheld.isDisjoint(with: change.client?.neededRecordIDs ?? []) else {
            return withhold(change.change.id)
        }
        bytes += change.client?.sizeEstimateBytes ?? 64
        if bytes <= bytesLimit || changes.isEmpty { changes.append(change) }
    }
}

extension DependencyWalk where ID == RecordID, Item == OutgoingChange {
    mutating func begin(at change: OutgoingChange) {
        begin(
            at: change, id: change.change.id, needing: change.client?.neededRecordIDs ?? [])
    }
}

extension RecordSnapshot {
    /// The records that must exist before the service saves this one: its parent, and the targets
    /// of its DELETE_SELF references.
    var neededRecordIDs: [RecordID] {
        let names =
            (parentRecordName.map { [$0] } ?? [])
            + fields.flatMap(\.references).filter { $0.action == .deleteSelf }.map(\.recordName)
        return names.map { RecordID(name: $0, zoneID: id.zoneID) }
    }
}

extension Field {
    /// The references that the field has as its value.
    var references: [Reference] {
        switch value {
        case .reference(let reference): [reference]
        case .referenceList(let references): references
        default: []
        }
    }
}
