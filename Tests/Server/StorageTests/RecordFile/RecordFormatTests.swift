import Foundation
import GRDB
import StratusRecords
import StratusSQLite
import Testing

@testable import StratusStorage

/// Databases that earlier releases wrote.
@Suite struct RecordFormatTests {
    @Test func migrationFindsReferencesInStoredRecords() async throws {
        try await withEarlierFile(of: RecordFile.format(world: .live), through: 1) { database in
            try insert(
                "item",
                """
                {"list":{"value":{"recordName":"list","action":"DELETE_SELF",\
                "zoneID":{"zoneName":"Trips"}},"type":"REFERENCE"},\
                "guides":{"value":[{"recordName":"g1","action":"VALIDATE"},\
                {"recordName":"g2","action":"NONE"},{"recordName":"g3","action":"VALIDATE"}],\
                "type":"REFERENCE_LIST"}}
                """, 1, in: database)
            try insert(
                "action", #"{"action":{"value":"DELETE_SELF","type":"STRING"}}"#, 2, in: database)
            try insert("empty", "{}", 3, in: database)
        } _: { new in
            let zone = ZoneRow.Key(rawValue: 1)
            let found = try await new.read { database in
                let transaction = SQLiteTransaction(database)
                return try ["list", "g1", "g2", "g3"].map { target in
                    try ReferenceRow.Action.allCases.map {
                        try transaction.holders(of: target, $0, in: zone, limit: 9)
                    }
                }
            }
            #expect(found == [[["item"], []], [[], ["item"]], [[], []], [[], ["item"]]])
            let count = try await new.read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM reference_")
            }
            #expect(count == 3)
        }
    }

    @Test func migratedZonesAreEncryptedPerRecord() async throws {
        try await withEarlierFile(of: RecordFile.format(world: .live), through: 6) { database in
            try database.execute(
                sql: "INSERT INTO zone VALUES (NULL, 'Trips', 1, 4, 0, 1, 7, NULL)")
        } _: { new in
            let zones = try await new.read { try SQLiteTransaction($0).zones() }
            #expect(zones.map(\.name) == ["Trips", "_defaultZone"])
            #expect(zones.map(\.encryptionScope) == [.perRecord, .perRecord])
            #expect(zones.map(\.changedAtDatabaseVersion) == [7, 1])
        }
    }
}

private func insert(
    _ name: String, _ payload: String, _ version: Int, in database: Database
) throws {
    try database.execute(
        sql: """
            INSERT INTO record VALUES
            (1, ?, 'Hut', ?, ?, 't', 0, 'd', 0, 0, 'u', 'u', 'd', NULL, NULL, ?)
            """,
        arguments: [name, version, version, Data(payload.utf8)])
}
