import Foundation
import GRDB
import StratusRecords
import StratusSync

/// What goes out next from the queue of pending changes.
extension CacheStore {
    /// The condition for a pending change to go out: not set aside, and its zone is there and was fetched: else the
    /// first fetch could not tell a save that never arrived from one whose record was deleted since. A new record
    /// of a name that was deleted here waits until the zone's changes have told of that deletion: one that
    /// they tell later is then a deletion of the new one. A zone with records of a newer app waits for it.
    /// What ``isUnanswered`` waits too.
    private var sendable: String {
        """
        errorCode IS NULL AND zone IN (SELECT id FROM zone WHERE \(isHere) AND state = 1
            AND token IS NOT NULL AND isRefetching <> 2)
        AND NOT (isMadeAnew AND baseType IS NULL) AND NOT (\(Self.isUnanswered))
        AND zone NOT IN (\(held.withLock { $0.keys.map(String.init).joined(separator: ", ") }))
        """
    }

    /// The condition for a pending change to be one that may have arrived, and that would do more than was meant if it
    /// arrived again: a new record would come back that somebody deleted since, and what somebody made anew since would
    /// be deleted. An edit goes out with a change tag, and arrives once. The zone's changes, as they are fetched next,
    /// tell whether it did.
    static let isUnanswered =
        "isUncertain <> 0 AND (kind = 1 OR baseSystem IS NULL OR isMadeAnew)"

    /// The zones whose changes must be fetched before all that is pending can be sent.
    func zonesWithUnanswered() throws -> [ZoneID] { try read { try zonesWithUnanswered($0) } }

    func zonesWithUnanswered(_ database: Database) throws -> [ZoneID] {
        let statement = try database.cachedStatement(
            sql: """
                SELECT \(ZoneRow.columns) FROM zone WHERE \(isHere) AND state = 1
                    AND id IN (SELECT zone FROM pending WHERE \(Self.isUnanswered)) ORDER BY id
                """)
        let rows = try Row.fetchAll(statement)
        return rows.map { ZoneRow($0).id }
    }

    /// All changes of a zone are here: what was sent without an answer and is still pending did not arrive.
    func heardOfUnanswered(in zone: ZoneRow, _ database: Database) throws {
        try database.cachedStatement(
            sql: "UPDATE pending SET isUncertain = 0 WHERE zone = ? AND isUncertain <> 0"
        ).execute(arguments: [zone.key])
    }

    /// The same, with the owners as arguments whose zones take no saves.
    func sendable(withholding owners: Set<String>) -> String {
        guard !owners.isEmpty else { return sendable }
        let marks = owners.map { _ in "?" }.joined(separator: ", ")
        return sendable
            + " AND (kind = 1 OR zone NOT IN (SELECT id FROM zone WHERE owner IN (\(marks))))"
    }

    /// Takes the oldest changes that fit both limits, one at least if there is any; what a record needs,
    /// its parent or the target of a DELETE_SELF reference, goes before it.
    ///
    /// The file says that they are under way before they are: a process that dies before the answer finds
    /// in it that the service may have them.
    /// - Parameters:
    ///   - owners: no saves into their zones: their quota is used up.
    ///   - deletionsFirst: what makes room goes before what takes it.
    func nextBatch(
        itemLimit: Int, bytesLimit: Int, withholding owners: Set<String> = [],
        deletionsFirst: Bool = false
    ) throws -> [OutgoingChange] {
        try file.write { database in
            var zones: [Int64: ZoneRow] = [:]
            let order = deletionsFirst ? "kind DESC, sequence" : "sequence"
            let zoneRows = try Row.fetchCursor(
                database.cachedStatement(
                    sql: "SELECT \(ZoneRow.columns) FROM zone WHERE \(isHere) AND state = 1"))
            while let row = try zoneRows.next() {
                let zone = ZoneRow(row)
                zones[zone.key] = zone
            }
            let statement = try database.cachedStatement(
                sql: """
                    SELECT \(PendingRow.columns), zone FROM pending
                    WHERE \(sendable(withholding: owners)) AND NOT (\(Self.waitsForUpload))
                    ORDER BY \(order) LIMIT ?
                    """)
            var walk = DependencyWalk<RecordID, OutgoingChange>()
            var batch = Batch(itemLimit: itemLimit, bytesLimit: bytesLimit)
            let rows = try Row.fetchCursor(
                statement, arguments: StatementArguments(owners.sorted()) + [itemLimit])
            while !batch.isFull, let row = try rows.next() {
                guard let zone = zones[row[PendingRow.columnCount]] else { continue }
                let pending = try PendingRow(row, zone: zone.id)
                guard !walk.hasSeen(pending.change.id) else { continue }
                walk.begin(at: try outgoing(pending, zone, database))
                while !batch.isFull, let step = walk.next() {
                    switch step {
                    case .look(let id):
                        guard let needed = try sendableSave(of: id, zone, database) else {
                            continue
                        }
                        if try needed.isUnanswered || waitsForUpload(needed, database) {
                            batch.withhold(id)
                        } else {
                            walk.begin(at: try outgoing(needed, zone, database))
                        }
                    case .take(let change): batch.take(change)
                    }
                }
            }
            try noteSending(batch, database)
            return batch.changes
        }
    }

    /// Writes down that a batch is under way, before it is.
    func noteSending(_ batch: Batch, _ database: Database) throws {
        try note(
            "CASE isUncertain WHEN 0 THEN 2 ELSE 1 END", of: batch.changes.map(\.sequence), database
        )
        clock.noteSending()
    }

    func hasSendable(withholding owners: Set<String> = []) throws -> Bool {
        try read { database in
            let condition = sendable(withholding: owners)
            let statement = try database.cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM pending WHERE \(condition))")
            return try Bool.fetchOne(
                statement, arguments: StatementArguments(owners.sorted())) ?? false
        }
    }

    private func outgoing(
        _ pending: PendingRow, _ zone: ZoneRow, _ database: Database
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
            sequence: pending.sequence, receipts: try receipts(for: client, zone, database))
    }

    /// Whether a record was made under the name of one that the service still has, which is deleted there before it is
    /// saved: only another record at the service, made after the deletion of the first, is one to all devices.
    ///
    /// Not where the deletion would take others with it: what refers to the record, or its share.
    func deletesFormer(
        _ row: PendingRow, _ zone: ZoneRow, _ database: Database
    ) throws -> Bool {
        guard row.change.kind == .save, row.isMadeAnew, let base = row.base,
            base.system?.sharing == nil, base.system?.shareRecordName == nil
        else { return false }
        let name = row.change.id.name
        let isReferredTo = try Bool.fetchOne(
            database.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM record
                        WHERE zone = ? AND name <> ? AND (parent = ? OR instr(fields, ?) > 0))
                    """), arguments: [zone.key, name, name, Data("\"\(name)\"".utf8)])
        return isReferredTo != true
    }

    /// A pending save that goes out like one of the same zone; nil where there is none.
    private func sendableSave(
        of id: RecordID, _ zone: ZoneRow, _ database: Database
    ) throws -> PendingRow? {
        guard id.zoneID == zone.id, let row = try pending(id.name, zone, database),
            row.change.kind == .save, row.failure == nil, !(row.isMadeAnew && row.base == nil)
        else { return nil }
        return row
    }
}

/// What goes out together.
struct Batch {
    let itemLimit: Int
    let bytesLimit: Int
    private(set) var changes: [OutgoingChange] = []
    private var bytes = 0
    /// The records that wait, for their files or for an answer.
    private var withheld: Set<RecordID> = []

    init(itemLimit: Int, bytesLimit: Int) {
        self.itemLimit = itemLimit
        self.bytesLimit = bytesLimit
    }

    var isFull: Bool { changes.count >= itemLimit || bytes > bytesLimit }

    /// Has a record wait, and with it every change that needs the record.
    mutating func withhold(_ id: RecordID) { withheld.insert(id) }

    /// Takes a change, unless it needs a record that waits: it then waits too. One change at least is taken, however
    /// large.
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
    /// The records without which the service does not save this one: its parent, and what it refers to
    /// with DELETE_SELF.
    var neededRecordIDs: [RecordID] {
        let references = fields.flatMap { field -> [Reference] in
            switch field.value {
            case .reference(let reference): [reference]
            case .referenceList(let references): references
            default: []
            }
        }
        let names =
            (parentRecordName.map { [$0] } ?? [])
            + references.filter { $0.action == .deleteSelf }.map(\.recordName)
        return names.map { RecordID(name: $0, zoneID: id.zoneID) }
    }
}
