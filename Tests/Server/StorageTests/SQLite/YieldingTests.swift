import CStorage
import GRDB
import StratusSQLite
import Testing

@testable import StratusStorage

/// Long statements let other requests use the processor.
@Suite struct YieldingTests {
    private static let format = StoredFormat(
        applicationID: 1, migrations: [.init("t", sql: "CREATE TABLE t (x)")])

    private static func yields(_ database: Database, _ sql: String) throws -> Int64 {
        let before = stratus_yields()
        try database.execute(sql: sql)
        return stratus_yields() - before
    }

    private static func counting(to last: Int) -> String {
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < \(last)) SELECT x FROM n"
    }

    @Test func longStatementYieldsAndShortOneDoesNot() async throws {
        try await withTemporaryFolder { folder in
            let file = try SQLiteFile(path: folder, format: Self.format)
            let written = try await file.write { database in
                try (1...2).map { turn in
                    try Self.yields(
                        database,
                        "INSERT INTO t " + Self.counting(to: turn == 1 ? 20 : 20_000))
                }
            }
            #expect(written[0] == 0)
            #expect(written[1] >= 10, "\(written)")

            // The first page is read on the connection that writes.
            for length in [ReadLength.page, .page, .zone] {
                let read = try await file.read(length) { database in
                    let before = stratus_yields()
                    _ = try Int.fetchAll(database, sql: Self.counting(to: 20_000))
                    return stratus_yields() - before
                }
                #expect(read >= 10, "\(length): \(read)")
            }
            // SQLite reads a long value in one step.
            let read = try await file.read(.page) { database in
                let before = stratus_yields()
                let statement = try SQLStatement(
                    database, "SELECT zeroblob(200000), zeroblob(20)")
                _ = try statement.first { ($0.bytes(0), $0.bytes(1)) }
                return stratus_yields() - before
            }
            #expect(read == 1)
            try file.close()
        }
    }
}
