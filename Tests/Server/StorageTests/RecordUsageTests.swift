import Foundation
import GRDB
import StratusRecords
import StratusSQLite
import Testing

@testable import StratusStorage

@Suite struct RecordUsageTests {
    @Test func migrationCountsTheBytesOfStoredRecords() async throws {
        try await withTemporaryFolder { folder in
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true)
            let path = folder + "/records.sqlite"
            let today = RecordFile.format(world: .live)
            let first = today.through(1)
            let old = try SQLiteFile(path: path, format: first)
            try await old.write { database in
                for (name, isDeleted, payload) in [("é", 0, "abc"), ("gone", 1, ""), ("b", 0, "")] {
                    try database.execute(
                        sql: """
                            INSERT INTO record VALUES
                            (1, ?, 'T', ?, 3, '', ?, '', 0, 0, '', '', '', NULL, NULL, CAST(? AS BLOB))
                            """,
                        arguments: [name, name.utf8.count, isDeleted, payload])
                }
            }
            try old.close()

            let new = try SQLiteFile(path: path, format: today)
            let bytes = try await new.write { try SQLiteTransaction($0).recordBytes }
            #expect(bytes == Int64("é".utf8.count + 3 + 1))
            try new.close()
        }
    }
}
