import Foundation
import GRDB
import StratusClient
import StratusRecords

/// Answers of the public database, in a table that is created with the first one.
extension CacheFile {
    private static let answersKept = 200

    private struct StoredAnswer: Codable {
        struct Record: Codable {
            var name: String
            var zone: String
            var owner: String
            var type: String
            var system: Data?
            var parent: String?
            var fields: Data
        }

        var records: [Record]
    }

    func answer(_ key: String) throws -> PublicAnswer? {
        try read { database in
            guard try database.tableExists("stratus_answer"),
                let row = try Row.fetchOne(
                    database, sql: "SELECT time, content FROM stratus_answer WHERE query = ?",
                    arguments: [key])
            else { return nil }
            let stored = try StoredJSON.decode(
                StoredAnswer.self, from: try row.decode(atIndex: 1))
            return PublicAnswer(
                records: try stored.records.map { try Self.record($0) },
                date: CacheStore.date(try row.decode(atIndex: 0)))
        }
    }

    func keep(
        _ records: [RecordSnapshot], for key: String, nowMilliseconds: Int64
    ) throws {
        let stored = StoredAnswer(
            records: records.map { record in
                StoredAnswer.Record(
                    name: record.id.name, zone: record.id.zoneID.name,
                    owner: record.id.zoneID.ownerName, type: record.type,
                    system: record.systemData, parent: record.parentRecordName,
                    fields: record.fieldsData)
            })
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

    private static func record(_ stored: StoredAnswer.Record) throws -> CKRecord {
        let zone = ZoneID(name: stored.zone, ownerName: stored.owner)
        return try RecordSnapshot(
            id: RecordID(name: stored.name, zoneID: zone), type: stored.type,
            system: try stored.system.map { data in
                try data.withUnsafeBytes { try StoredSystem.decode($0) }
            },
            parentRecordName: stored.parent,
            fields: try stored.fields.withUnsafeBytes { try StoredFields.decode($0) }
        ).record()
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
