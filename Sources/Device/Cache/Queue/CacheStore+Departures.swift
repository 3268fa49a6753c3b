import Foundation
import GRDB
import StratusRecords
import StratusSync

/// The deletions of a batch that would take a record along which was moved away here: at the service it still refers
/// with DELETE_SELF to the one to be deleted. They wait until its save was confirmed.
///
/// Where the save was set aside, the deletion is set aside too: sent, it would take the record from everybody, and
/// waiting it would stay in the queue without the app's knowing.
struct Departures {
    /// Whether a record that is to be deleted is left by a save that is still to be sent, or only by some that were
    /// set aside; by zone and name.
    private var left: [Int64: [String: Bool]] = [:]
    /// The sequences of the deletions that are not sent.
    private var withheld: [Int64] = []
    private(set) var refused: [PendingRow] = []
    /// Whether deletions were withheld since the last pass over the queue, so that others have room.
    private(set) var needsPass = true

    /// The withheld deletions as JSON, which a pass over the queue leaves out.
    mutating func beginPass() -> String {
        needsPass = false
        return "[\(withheld.map { "\($0)" }.joined(separator: ","))]"
    }

    /// Withholds a deletion that would take along what was moved away.
    ///
    /// - Returns: whether it did.
    mutating func withholds(
        _ change: OutgoingChange, _ row: PendingRow, _ zone: ZoneRow, in store: CacheStore,
        _ database: Database
    ) throws -> Bool {
        guard change.client == nil else { return false }
        let names = try left[zone.key] ?? store.recordsLeft(in: zone, database)
        left[zone.key] = names
        guard let isToBeSent = names[row.change.id.name] else { return false }
        withheld.append(row.sequence)
        needsPass = true
        if !isToBeSent { refused.append(row) }
        return true
    }
}

extension CacheStore {
    /// The records that are to be deleted in a zone and that pending saves leave; and whether one of these saves is still
    /// to be sent.
    ///
    /// One pass over the zone's changes. It decodes only saves that name one of these records, and of those that name
    /// the same ones no more than needed.
    fileprivate func recordsLeft(
        in zone: ZoneRow, _ database: Database
    ) throws -> [String: Bool] {
        let deleted = Set(
            try String.fetchAll(
                database.cachedStatement(
                    sql: "SELECT name FROM pending WHERE +zone = ? AND (kind = 1 OR isMadeAnew)"),
                arguments: [zone.key]))
        var left: [String: Bool] = [:]
        let rows = try Row.fetchCursor(
            database.cachedStatement(
                sql: """
                    SELECT name, errorCode IS NULL, baseFields FROM pending
                    WHERE +zone = ? AND kind = 0 AND instr(baseFields, ?) > 0
                    """), arguments: [zone.key, Data("\"DELETE_SELF\"".utf8)])
        while let row = try rows.next() {
            let isToBeSent: Bool = try row.decode(atIndex: 1)
            let named = try row.withUnsafeData(atIndex: 2) { data in
                data.map { Self.names(in: $0, among: deleted) } ?? []
            }
            guard named.contains(where: { left[$0] == nil || isToBeSent && left[$0] == false })
            else { continue }
            let name: String = try row.decode(atIndex: 0)
            let base = try pending(name, zone, database)?.base
            let kept = try record(name, zone, database)?.deleteSelfNames ?? []
            for target in base?.deleteSelfNames ?? []
            where deleted.contains(target) && !kept.contains(target) {
                left[target] = isToBeSent || left[target] == true
            }
        }
        return left
    }

    /// Which of these records the stored fields of another one may refer to, without decoding them.
    private static func names(in fields: Data, among names: Set<String>) -> Set<String> {
        var found: Set<String> = []
        var last = [Data.SubSequence](repeating: Data(), count: 2)
        for part in fields.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false) {
            if last[0].elementsEqual("recordName".utf8) {
                // A name with escapes is read when it is decoded.
                if part.contains(UInt8(ascii: "\\")) { return names }
                let name = String(decoding: part, as: UTF8.self)
                if names.contains(name) { found.insert(name) }
            }
            last = [last[1], part]
        }
        return found
    }

    /// Sets aside deletions that would take along what was moved away, and whose moves were set aside.
    ///
    /// - Returns: what the app is told.
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
            The deletion would take a record that was moved away, and whose save was refused. Decide about that one, \
            then try again.
            """)
}

extension RecordSnapshot {
    /// The records with which the service deletes this one.
    var deleteSelfNames: Set<String> {
        Set(fields.flatMap(\.references).filter { $0.action == .deleteSelf }.map(\.recordName))
    }
}
