import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync

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
    /// removed, and one report says how many were.
    private func dropOldReports(below last: Int64, _ database: Database) throws {
        // Only now and then, because counting reads the whole table.
        guard last % Int64(max(1, reportLimits.count / 16)) == 0 else { return }
        var (count, bytes) = (0, 0)
        var cutoff: Int64?
        let rows = try Row.fetchCursor(
            database,
            sql: """
                SELECT id, length(content) FROM report
                WHERE \(isHere) AND subject <> ? ORDER BY id DESC
                """, arguments: [StoredReport.dropped])
        while cutoff == nil, let row = try rows.next() {
            count += 1
            bytes += try row.decode(atIndex: 1)
            if count > 1, count > reportLimits.count || bytes > reportLimits.bytes {
                cutoff = try row.decode(atIndex: 0)
            }
        }
        guard let cutoff else { return }
        try database.execute(
            sql: "DELETE FROM report WHERE \(isHere) AND subject <> ? AND id <= ?",
            arguments: [StoredReport.dropped, cutoff])
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
