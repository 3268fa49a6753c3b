import Foundation
import GRDB
import StratusRecords
import StratusSQLite
import Testing

@testable import StratusStorage

@Suite struct RecordUsageTests {
    @Test func migrationCountsTheBytesOfStoredRecords() async throws {
        try await withEarlierFile(of: RecordFile.format(world: .live), through: 1) { database in
            for (name, isDeleted, payload) in [("é", 0, "abc"), ("gone", 1, ""), ("b", 0, "")] {
                try database.execute(
                    sql: """
                        INSERT INTO record VALUES
                        (1, ?, 'T', ?, 3, '', ?, '', 0, 0, '', '', '', NULL, NULL, CAST(? AS BLOB))
                        """,
                    arguments: [name, name.utf8.count, isDeleted, payload])
            }
        } _: { new in
            let bytes = try await new.write { try SQLiteTransaction($0).recordBytes }
            #expect(bytes == Int64("é".utf8.count + 3 + 1))
        }
    }
}
