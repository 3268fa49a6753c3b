import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// Reports for the app: written with what they tell of, removed when the app has taken them.
extension CacheFile {
    func reports(after id: Int64, limit: Int) throws -> [CacheReport] {
        try pool.read { database in
            let rows = try Row.fetchAll(
                database,
                sql: """
                    SELECT id, database, time, kind, content FROM report WHERE id > ?
                    ORDER BY id LIMIT ?
                    """, arguments: [id, limit])
            return try rows.map { row in
                let scope = CKDatabase.Scope(rawValue: row[1]) ?? .private
                let content: StoredReport
                do {
                    content = try JSONDecoder().decode(StoredReport.self, from: row[4] as Data)
                } catch {
                    throw CacheError(
                        .damaged, "Delete the cache file: a report cannot be read.", cause: error)
                }
                guard let event = try content.event(kind: row[3], scope) else {
                    throw CacheError(.newerFormat, "Update the app: a newer one wrote this cache.")
                }
                return CacheReport(
                    id: row[0], scope: scope,
                    date: Date(timeIntervalSince1970: Double(row[2] as Int64) / 1_000),
                    event: event)
            }
        }
    }

    func removeReports(_ ids: [Int64]) throws {
        try write { database in
            let statement = try database.makeStatement(sql: "DELETE FROM report WHERE id = ?")
            for id in ids { try statement.execute(arguments: [id]) }
        }
    }
}

extension CacheStore {
    /// Writes down what the app must hear of, in the transaction that did it.
    ///
    /// What is a state, as a refusal is, takes the place of what was said of it before; a loss never does.
    func keepReports(of events: [CacheEvent], _ database: Database) throws {
        for event in events {
            guard let (kind, subject, content) = try StoredReport.parts(of: event) else { continue }
            if !subject.isEmpty {
                try database.execute(
                    sql: "DELETE FROM report WHERE \(isHere) AND kind = ? AND subject = ?",
                    arguments: [kind, subject])
            }
            try database.execute(
                sql: """
                    INSERT INTO report (database, time, kind, subject, content)
                    VALUES (?, ?, ?, ?, ?)
                    """,
                arguments: [
                    scope.rawValue, world.nowMilliseconds(), kind, subject,
                    try JSONEncoder().encode(content),
                ])
        }
    }
}
