import CStorage
import Foundation
import StratusRecords
import TestSeeds
import Testing

@testable import StratusStorage

/// The checksum of rows is CRC-32C, computed by instruction and by table, and covers every column.
@Suite struct RowChecksumTests {
    /// The check value of the algorithm's catalogue, and RFC 3720's examples (B.4).
    @Test func checksumIsCRC32C() {
        #expect(Self.both(Array("123456789".utf8)) == [0xE306_9283, 0xE306_9283])
        #expect(Self.both([UInt8](repeating: 0, count: 32)) == [0x8A91_36AA, 0x8A91_36AA])
        #expect(Self.both([UInt8](repeating: 0xFF, count: 32)) == [0x62A8_AB43, 0x62A8_AB43])
        #expect(Self.both(Array(0..<32)) == [0x46DD_794E, 0x46DD_794E])
        #expect(
            stratus_crc32c_number(7, 0x0807_0605_0403_0201) == stratus_crc32c(7, [UInt8](1...8), 8))
    }

    private static func both(_ bytes: [UInt8]) -> [UInt32] {
        [
            stratus_crc32c(0, bytes, bytes.count),
            stratus_crc32c_by_table(0, bytes, bytes.count),
        ]
    }

    @Test func changeOfAnyColumnChangesTheChecksum() {
        let changes: [(inout RecordRow) -> Void] = [
            { $0.zone = ZoneRow.Key(rawValue: 2) }, { $0.name += "x" }, { $0.type += "x" },
            { $0.version += 1 }, { $0.commitVersion += 1 }, { $0.changeTag += "x" },
            { $0.isDeleted.toggle() }, { $0.creatorDevice += "x" },
            { $0.createdMilliseconds += 1 }, { $0.modifiedMilliseconds += 1 },
            { $0.creator += "x" }, { $0.modifier += "x" }, { $0.modifierDevice += "x" },
            { $0.parent = "" }, { $0.shareRoot = "" }, { $0.payload.append(0) },
            { $0.sharing.append(0) },
            // Moves a byte from one column to the next.
            { ($0.name, $0.type) = ("recordT", "rip") }, { ($0.creator, $0.modifier) = ("", "uu") },
            { ($0.createdMilliseconds, $0.modifiedMilliseconds) = (2, 1) },
        ]
        var row = MarkedFolder.row("record", ZoneRow.Key(rawValue: 1), 1, [1, 2, 3])
        (row.creator, row.modifier) = ("u", "u")
        let checksums = changes.map { change in
            var changed = row
            change(&changed)
            return changed.checksum
        }
        #expect(Set(checksums + [row.checksum]).count == changes.count + 1)
        #expect(checksums.allSatisfy { Int64(Int32.min)...Int64(Int32.max) ~= $0 })
    }

    /// A row of an earlier release is protected by a checksum after its migration.
    @Test func migrationComputesChecksumsOfAllRows() async throws {
        try await withTemporaryFolder { folder in
            let today = RecordFile.format(world: .live)
            let old = try SQLiteFile(path: folder + ".sqlite", format: today.through(7))
            try await old.write { database in
                try database.execute(
                    sql: """
                        INSERT INTO record WITH RECURSIVE number (n) AS (
                            SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 1300)
                        SELECT 1, 'r' || n, 'Hut', n, n, 't' || n, n % 3 = 0, 'd', n, n, 'u', 'v', 'd',
                            CASE n % 2 WHEN 0 THEN 'r2' END, NULL,
                            CASE n % 3 WHEN 0 THEN x'' ELSE randomblob(n) END, NULL FROM number;
                        INSERT INTO record_ancestor VALUES (1, 7, 't', 1, 'u', 'd', NULL, x'7B7D');
                        INSERT INTO subscription VALUES ('u', 's', x'7B7D');
                        INSERT INTO applied_operation VALUES ('u', 'd', 'o', x'7B7D', 9);
                        INSERT INTO outbox (body) VALUES (x'7B7D');
                        """)
            }
            try old.close()
            let new = try SQLiteFile(path: folder + ".sqlite", format: today)
            let (count, damaged) = try await new.read { database in
                let transaction = SQLiteTransaction(database)
                var damaged: [DamagedRow] = []
                try transaction.damagedRows {
                    damaged.append($0); return true
                }
                let beginning = ChangeCursor(version: 0, skipTombstonesThrough: 0, device: "")
                let page = try transaction.changes(
                    in: ZoneRow.Key(rawValue: 1), after: beginning, limit: 9_999,
                    payloadBytes: .max)
                _ = try transaction.subscriptions(of: nil)
                _ = try transaction.outbox(limit: 9)
                _ = try transaction.ancestor(replacedAt: 7, in: ZoneRow.Key(rawValue: 1))
                return (page.rows.count, damaged)
            }
            #expect(count == 1300)
            #expect(damaged == [])
            try await new.write { database in
                try database.execute(
                    sql: """
                        UPDATE record SET change_tag = 'x' WHERE name IN ('r1', 'r1300');
                        UPDATE record_ancestor SET modified_ms = 2;
                        UPDATE subscription SET body = x'7B'; UPDATE outbox SET body = x'7B';
                        UPDATE applied_operation SET outcome = x'7B';
                        """)
            }
            let kinds = try await new.read { database in
                var kinds: [String] = []
                try SQLiteTransaction(database).damagedRows {
                    kinds.append($0.kind); return true
                }
                return kinds
            }
            #expect(
                kinds == [
                    "record", "record", "former state of a record", "subscription",
                    "outcome of a request", "event of the outbox",
                ])
            // Both can be read without the damaged row.
            let bodies = try await new.read { database in
                let transaction = SQLiteTransaction(database)
                return try transaction.subscriptions(of: nil).map(\.body)
                    + transaction.outbox(limit: 9).map(\.body)
            }
            #expect(bodies == [[], []])
            try new.close()
            try FileManager.default.removeItem(atPath: folder + ".sqlite")
        }
    }
}
