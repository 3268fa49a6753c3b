import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import StratusWire

/// A transaction, and what it leaves for others: the changed records for other processes, and reports for the app.
extension CacheStore {
    /// Runs one transaction and collects its outcome; its reports are written with it.
    func write(_ body: (Database, inout CacheOutcome) throws -> Void) throws -> CacheOutcome {
        try file.write { try write(in: $0, body) }
    }

    /// Collects the outcome of a body within an open transaction.
    func write(
        in database: Database, _ body: (Database, inout CacheOutcome) throws -> Void
    ) throws -> CacheOutcome {
        let heldBefore = held.withLock { $0 }
        do {
            let outcome = try outcome(of: body, database)
            if held.withLock({ $0 }) != heldBefore {
                // Before the next transaction begins, which may change the zones too.
                database.afterNextTransaction(
                    onCommit: { _ in },
                    onRollback: { [self] _ in held.withLock { $0 = heldBefore } })
            }
            return outcome
        } catch {
            // The records of a newer app that the body found are not in the file, even if the transaction goes on.
            held.withLock { $0 = heldBefore }
            throw error
        }
    }

    private func outcome(
        of body: (Database, inout CacheOutcome) throws -> Void, _ database: Database
    ) throws -> CacheOutcome {
        var outcome = CacheOutcome(scope: scope)
        writtenRows.withLock { $0 = [:] }
        try body(database, &outcome)
        outcome.rows = writtenRows.withLock { $0 }
        if let fetched = outcome.fetched {
            outcome.changedIDs.reserveCapacity(outcome.changedIDs.count + fetched.rows.count)
            for row in fetched.rows { outcome.changedIDs.insert(fetched.id(row)) }
        }
        for record in outcome.events.flatMap(\.records) { _ = file.withFiles(record) }
        try keepReports(of: outcome.events, database)
        if !outcome.changedIDs.isEmpty {
            try file.noteChange(of: outcome.changedIDs, in: scope, database)
        }
        let others = Set(outcome.rows.keys.lazy.filter { !outcome.changedIDs.contains($0) })
        if !others.isEmpty {
            try file.noteChange(of: others, in: scope, isOfSystem: true, database)
        }
        return outcome
    }
}

/// Reports to the other processes with the file what this process changed, in a row for each transaction.
extension CacheFile {
    /// The maximum number of records kept in the rows; an observer that missed more reads everything.
    static let recordsKept: Int64 = 20_000
    /// A number that no row reaches unless it is damaged.
    private static let endOfNumbers: Int64 = 1 << 60

    /// The changes that another process made in a database.
    struct ForeignChange {
        var scope: CKDatabase.Scope
        var ids: Set<RecordID>
        /// Whether only the system fields of the records changed.
        var isOfSystem = false
    }

    /// The row of one transaction.
    private struct ChangeRow {
        var id: Int64
        var origin: Int64
        var scope: CKDatabase.Scope
        var isOfSystem: Bool
        /// The changed records; nil if there were too many.
        var ids: Set<RecordID>?

        init(_ row: Row) throws {
            id = try row.decode(atIndex: 0)
            origin = try row.decode(atIndex: 1)
            let number: Int = try row.decode(atIndex: 2)
            isOfSystem = number < 0
            scope = CKDatabase.Scope(rawValue: isOfSystem ? 0 &- number : number) ?? .private
            let groups = try StoredJSON.decode(
                [[String]]?.self, from: try row.decode(atIndex: 3))
            ids = groups.map { groups in
                var ids: Set<RecordID> = []
                for group in groups where group.count > 2 {
                    let zone = ZoneID(name: group[0], ownerName: group[1])
                    for name in group.dropFirst(2) {
                        ids.insert(RecordID(name: name, zoneID: zone))
                    }
                }
                return ids
            }
        }
    }

    /// Notes what a transaction changed; without records, notes that there is something to do.
    ///
    /// - Parameter isOfSystem: whether only the system fields of the records changed; such a row stores the database as
    ///   a negative number.
    func noteChange(
        of ids: Set<RecordID>, in scope: CKDatabase.Scope, isOfSystem: Bool = false,
        _ database: Database
    ) throws {
        let last =
            try Int64.fetchOne(database.cachedStatement(sql: "SELECT max(id) FROM change")) ?? 0
        guard (0..<Self.endOfNumbers).contains(last) else {
            throw CacheError.damagedNumber
        }
        let id = last + max(1, Int64(ids.count))
        var content = JSONWriter(reservingBytes: 64 + ids.count * 48)
        if ids.count <= Self.recordsKept {
            // A page has many records, all of one zone.
            let first = ids.first.flatMap { id in
                ids.allSatisfy { $0.zoneID == id.zoneID } ? id.zoneID : nil
            }
            let zones = (first.map { [$0: Array(ids)] } ?? Dictionary(grouping: ids, by: \.zoneID))
                .sorted { ($0.key.name, $0.key.ownerName) < ($1.key.name, $1.key.ownerName) }
            content.array { content in
                for (zone, ids) in zones {
                    content.array { content in
                        content.string(zone.name)
                        content.string(zone.ownerName)
                        for name in ids.map(\.name).sorted() { content.string(name) }
                    }
                }
            }
        } else {
            content.null()
        }
        try database.cachedStatement(
            sql: "INSERT INTO change (id, origin, database, records) VALUES (?, ?, ?, ?)"
        ).execute(arguments: [
            id, origin, isOfSystem ? -scope.rawValue : scope.rawValue,
            Data(content.finish()),
        ])
        try database.cachedStatement(sql: "DELETE FROM change WHERE id <= ?")
            .execute(arguments: [id - Self.recordsKept])
    }

    static func lastChange(in pool: any DatabaseReader) throws -> Int64 {
        // A single statement reads one snapshot even without a transaction.
        try pool.unsafeRead {
            try Int64.fetchOne($0.cachedStatement(sql: "SELECT max(id) FROM change")) ?? 0
        }
    }

    /// The changes of other processes since the last call; nil if there are none.
    func takeForeignChanges() throws -> [ForeignChange]? {
        // One call at a time, so that nothing is reported twice.
        try seenChange.withLock { seen in
            let (rows, oldest) = try read { database in
                (
                    try Row.fetchAll(
                        database.cachedStatement(
                            sql:
                                "SELECT id, origin, database, records FROM change WHERE id > ? ORDER BY id"
                        ), arguments: [seen]
                    ).map { try ChangeRow($0) },
                    try Int64.fetchOne(database.cachedStatement(sql: "SELECT min(id) FROM change"))
                        ?? 0
                )
            }
            guard let last = rows.last else { return nil }
            // If the oldest kept row is the first unseen one and does not follow the last seen row, rows between them
            // were dropped. In a new file the first row follows none; the numbers tell whether any was dropped.
            let hasGap =
                rows.first?.id == oldest && oldest - 1 > seen
                && (seen > 0 || last.id > Self.recordsKept)
            seen = last.id
            var found: [ForeignChange] = []
            var wholes: Set<CKDatabase.Scope> = []
            var isForeign = false
            for row in rows where row.origin != origin {
                isForeign = true
                guard let ids = row.ids else {
                    wholes.insert(row.scope)
                    continue
                }
                found.append(ForeignChange(scope: row.scope, ids: ids, isOfSystem: row.isOfSystem))
            }
            if hasGap {
                // The dropped rows may be those of another process.
                isForeign = true
                wholes = [.private, .shared]
            }
            for scope in wholes.sorted(by: { $0.rawValue < $1.rawValue }) {
                found.append(ForeignChange(scope: scope, ids: try everyID(in: scope)))
            }
            return isForeign ? found : nil
        }
    }

    /// All records of a database, including deleted ones.
    private func everyID(in scope: CKDatabase.Scope) throws -> Set<RecordID> {
        try read { database in
            let rows = try Row.fetchAll(
                database,
                sql: """
                    SELECT record.name, zone.name, zone.owner FROM record
                    JOIN zone ON zone.id = record.zone WHERE zone.database = ?
                    UNION SELECT name, zone, owner FROM tombstone
                    WHERE database = ? AND name <> ''
                    """, arguments: [scope.rawValue, scope.rawValue])
            return Set(try rows.map { try RecordID($0) })
        }
    }
}

/// Reports for the app: written with the changes that they describe, and removed when the app has acknowledged them.
extension CacheFile {
    func reports(after id: Int64, limit: Int) throws -> [CacheReport] {
        try read { database in
            let rows = try Row.fetchAll(
                database.cachedStatement(
                    sql: """
                        SELECT id, database, time, kind, content FROM report WHERE id > ?
                        ORDER BY id LIMIT ?
                        """), arguments: [id, limit])
            return try rows.map { row in
                let scope = CKDatabase.Scope(rawValue: try row.decode(atIndex: 1)) ?? .private
                let content = try StoredJSON.decode(
                    StoredReport.self, from: try row.decode(atIndex: 4))
                guard let event = try content.event(kind: try row.decode(atIndex: 3), scope) else {
                    throw CacheError(
                        .newerFormat,
                        "A newer version of the app wrote the cache's file \(path). Update the app."
                    )
                }
                for record in event.records { _ = withFiles(record) }
                return CacheReport(
                    id: try row.decode(atIndex: 0), scope: scope,
                    date: CacheStore.date(try row.decode(atIndex: 2)), event: event)
            }
        }
    }

    func removeReports(_ ids: [Int64]) throws {
        try write { database in
            let statement = try database.cachedStatement(sql: "DELETE FROM report WHERE id = ?")
            for id in ids { try statement.execute(arguments: [id]) }
        }
    }
}

extension CacheStore {
    /// Stores what the app must be notified of, in the transaction that caused it.
    ///
    /// A report of a state, such as a refusal, replaces the former report of it; a report of a loss replaces none.
    func keepReports(of events: [CacheEvent], _ database: Database) throws {
        for event in events {
            guard let (kind, subject, content) = try StoredReport.parts(of: event) else { continue }
            if !subject.isEmpty {
                try database.cachedStatement(
                    sql: "DELETE FROM report WHERE \(isHere) AND kind = ? AND subject = ?"
                ).execute(arguments: [kind, subject])
            }
            try database.cachedStatement(
                sql: """
                    INSERT INTO report (database, time, kind, subject, content)
                    VALUES (?, ?, ?, ?, ?)
                    """
            ).execute(arguments: [
                scope.rawValue, world.nowMilliseconds(), kind, subject,
                try content.encoded(),
            ])
            let id = database.lastInsertedRowID
            try file.noteAssets(of: event, report: id, database)
            try dropOldReports(below: id, database)
        }
    }

    /// Keeps reports that are never acknowledged from filling the device: beyond the settings' limits the oldest are
    /// removed, and one report says how many were. Reports of records that cannot be read, which may be many at once and
    /// stay at the service, are removed before those of losses.
    private func dropOldReports(below last: Int64, _ database: Database) throws {
        // Only now and then, because counting reads the whole table.
        guard last % Int64(max(1, reportLimits.count / 16)) == 0 else { return }
        var (count, bytes) = (0, 0)
        var cutoff: (isUnreadable: Bool, id: Int64)?
        let rows = try Row.fetchCursor(
            database,
            sql: """
                SELECT id, length(content), kind = ? AS isUnreadable FROM report
                WHERE \(isHere) AND subject <> ? ORDER BY isUnreadable, id DESC
                """, arguments: [StoredReport.recordUnreadable, StoredReport.dropped])
        while cutoff == nil, let row = try rows.next() {
            count += 1
            bytes += try row.decode(atIndex: 1)
            if count > 1, count > reportLimits.count || bytes > reportLimits.bytes {
                let isUnreadable: Bool = try row.decode(atIndex: 2)
                let id: Int64 = try row.decode(atIndex: 0)
                cutoff = (isUnreadable, id)
            }
        }
        guard let cutoff else { return }
        try database.execute(
            sql: """
                DELETE FROM report WHERE \(isHere) AND subject <> ?
                AND ((kind = ?) > ? OR ((kind = ?) = ? AND id <= ?))
                """,
            arguments: [
                StoredReport.dropped, StoredReport.recordUnreadable, cutoff.isUnreadable,
                StoredReport.recordUnreadable, cutoff.isUnreadable, cutoff.id,
            ])
        let dropped = database.changesCount
        let known = try Data.fetchOne(
            database, sql: "SELECT content FROM report WHERE \(isHere) AND subject = ?",
            arguments: [StoredReport.dropped])
        let before = try known.map { try StoredJSON.decode(StoredReport.self, from: $0) }
        try keepReports(
            of: [.reportsDropped(count: dropped + (before?.count ?? 0))], database)
    }
}

extension CacheFile {
    /// Keeps the files of a report's assets until the app has acknowledged it.
    func noteAssets(of event: CacheEvent, report: Int64, _ database: Database) throws {
        for record in event.records where !record.assetFields.isEmpty {
            try noteAssets(of: RecordSnapshot(record), report: report, database)
        }
    }

    func noteAssets(of record: RecordSnapshot, report: Int64, _ database: Database) throws {
        for (field, key) in record.assetKeys {
            try database.execute(
                sql: """
                    INSERT OR IGNORE INTO assetUse (source, row, field, key) VALUES (2, ?, ?, ?)
                    """, arguments: [report, field, key])
        }
    }
}
