import Foundation
import GRDB
import StratusRecords
import StratusSync

/// The deletions of a batch that would also delete a record which was moved away on this device: at the service, that
/// record still refers with DELETE_SELF to the record to be deleted. Such deletions wait until the save of the moved
/// record is confirmed.
///
/// If that save was set aside, or waits for storage, the deletion is set aside too: sending it would delete the moved
/// record for everyone, and if it waited, the app would not know why it stays in the queue.
struct Departures {
    /// By zone and name, the records from which pending saves move others away: true if one of these saves is still to
    /// be sent, false if all of them were set aside.
    private var left: [Int64: [String: Bool]] = [:]
    private let owners: Set<String>
    /// The sequences of the deletions that are not sent.
    private var withheld: [Int64] = []
    private(set) var refused: [PendingRow] = []
    /// Whether deletions were withheld since the last pass over the queue: then another pass may add other changes to
    /// the batch.
    private(set) var needsPass = true

    /// - Parameter owners: zone owners whose quota is exceeded.
    init(withholding owners: Set<String> = []) { self.owners = owners }

    /// The withheld deletions as JSON, which a pass over the queue leaves out.
    mutating func beginPass() -> String {
        needsPass = false
        return "[\(withheld.map { "\($0)" }.joined(separator: ","))]"
    }

    /// Withholds a deletion that would also delete a record that was moved away.
    ///
    /// - Returns: whether it did.
    mutating func withholds(
        _ change: OutgoingChange, _ row: PendingRow, _ zone: CachedZoneRow, in store: CacheStore,
        _ database: Database
    ) throws -> Bool {
        guard change.client == nil else { return false }
        let names =
            try left[zone.key]
            ?? store.recordsLeft(
                in: zone, withholding: owners, database)
        left[zone.key] = names
        guard let isToBeSent = names[row.change.id.name] else { return false }
        withheld.append(row.sequence)
        needsPass = true
        if !isToBeSent { refused.append(row) }
        return true
    }
}

extension CacheStore {
    /// The records of a zone whose deletion would also delete records that pending saves move away; and for each,
    /// whether one of these saves is still to be sent.
    ///
    /// - Parameter owners: owners whose quota is exceeded: their saves wait for a long time, while deletions are sent.
    fileprivate func recordsLeft(
        in zone: CachedZoneRow, withholding owners: Set<String>, _ database: Database
    ) throws -> [String: Bool] {
        let rows = try Row.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT \(PendingRow.columns) FROM pending
                    WHERE zone = ? AND isMoved AND kind = 0 AND NOT isMadeAnew
                    """), arguments: [zone.key])
        var left: [String: Bool] = [:]
        for row in rows {
            let pending = try PendingRow(row, zone: zone.id)
            let record = try record(pending.change.id.name, zone, database)
            guard let base = pending.base, let record else { continue }
            let isToBeSent = pending.failure == nil && !owners.contains(zone.id.ownerName)
            for name in try holders(of: record.deleteSelfNames(leftSince: base), zone, database) {
                left[name] = isToBeSent || left[name] == true
            }
        }
        return left
    }

    /// These records, and those whose deletion at the service would also delete them.
    private func holders(
        of names: Set<String>, _ zone: CachedZoneRow, _ database: Database
    ) throws -> Set<String> {
        var found = names
        var next = names.sorted()
        while let name = next.popLast() {
            let there: RecordSnapshot? =
                if let row = try pending(name, zone, database) { row.base } else {
                    try record(name, zone, database)
                }
            for target in there?.deleteSelfNames.sorted() ?? []
            where found.insert(target).inserted { next.append(target) }
        }
        return found
    }

    /// Sets aside deletions that would also delete records that were moved away by saves that were set aside.
    ///
    /// - Returns: what the app is notified of.
    func setAside(
        _ refused: [PendingRow], _ database: Database
    ) throws -> CacheOutcome {
        guard !refused.isEmpty else { return CacheOutcome(scope: scope) }
        return try write(in: database) { database, outcome in
            for row in refused {
                try setAside(row, row.change, Self.wouldTakeMoved, &outcome, database)
            }
        }
    }

    private static let wouldTakeMoved = SyncFailure(
        .constraintViolation,
        message: """
            The deletion would also delete a record that was moved away on this device, because the service refused \
            the save that moves it. Resolve that save, then delete again.
            """)
}
