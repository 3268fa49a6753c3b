import Foundation
import GRDB
import StratusClient
import StratusRecords

/// Answers of the public database, in a table that is created with the first one.
extension CacheFile {
    /// The maximum number of answers in the file; the oldest are dropped.
    private static let answersKept = 200

    private struct StoredAnswer: Codable {
        struct Identity: StoredIdentity {
            var name: String
            var zone: String
            var owner: String

            init(_ id: RecordID) {
                name = id.name
                zone = id.zoneID.name
                owner = id.zoneID.ownerName
            }

            var id: RecordID { RecordID(name: name, zoneID: ZoneID(name: zone, ownerName: owner)) }
        }

        var records: [StoredRecord<Identity>]
    }

    /// The stored answer; nil if there is none, or none that can be decoded.
    func answer(_ key: String) throws -> PublicAnswer? {
        let row = try read { database -> Row? in
            guard try database.tableExists("stratus_answer") else { return nil }
            return try Row.fetchOne(
                database, sql: "SELECT time, content FROM stratus_answer WHERE query = ?",
                arguments: [key])
        }
        guard let row else { return nil }
        do {
            let stored = try StoredJSON.decode(
                StoredAnswer.self, from: try row.decode(atIndex: 1))
            return PublicAnswer(
                records: try stored.records.map { try $0.snapshot().record() },
                date: CacheStore.date(try row.decode(atIndex: 0)))
        } catch {
            // The service has the records, so unlike a row of the cache's own records this one does
            // not replace the file. The log names only the error's type, as the error has values.
            drop(key, because: error)
            return nil
        }
    }

    private func drop(_ key: String, because error: any Error) {
        CacheLog(file: self, scope: nil, world: assets.world).note(
            .warning, "answerDropped", ["error": "\(type(of: error))"], isInTransaction: true)
        // If it cannot be written, as on a full disk, the row is dropped when it is read again.
        try? write { database in
            try database.execute(
                sql: "DELETE FROM stratus_answer WHERE query = ?", arguments: [key])
        }
    }

    func keep(
        _ records: [RecordSnapshot], for key: String, nowMilliseconds: Int64
    ) throws {
        let stored = StoredAnswer(records: records.map { StoredRecord($0) })
        try write { database in
            try database.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS stratus_answer (
                        id INTEGER PRIMARY KEY AUTOINCREMENT, query TEXT NOT NULL UNIQUE,
                        time INTEGER NOT NULL, content BLOB NOT NULL)
                    """)
            try database.execute(
                sql: """
                    INSERT OR REPLACE INTO stratus_answer (query, time, content) VALUES (?, ?, ?)
                    """, arguments: [key, nowMilliseconds, try JSONEncoder().encode(stored)])
            try database.execute(
                sql: """
                    DELETE FROM stratus_answer WHERE id <= (SELECT max(id) FROM stratus_answer) - ?
                    """, arguments: [Self.answersKept])
        }
    }
}

/// The key of a stored query of the public database.
struct PublicAnswerKey {
    let text: String

    init(_ query: CKQuery, _ zoneID: CKRecordZone.ID?, _ limit: Int) throws {
        var parts = [query.recordType, try RecordPredicate(query.predicate).archivedText]
        for sort in try query.sorts(now: .distantPast) {
            parts.append("\(sort.field) \(sort.isAscending)")
            if let place = sort.relativeLocation {
                parts.append("\(place.latitude) \(place.longitude)")
            }
        }
        parts += [zoneID?.zoneName ?? "", "\(limit)"]
        text = String(decoding: try JSONEncoder().encode(parts), as: UTF8.self)
    }
}
