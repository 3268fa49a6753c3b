import Foundation
import GRDB
import StratusRecords
import StratusSync
import StratusWire
import Testing

@testable import StratusCache

/// Files of earlier formats are migrated when they are opened, completely or not at all.
@Suite struct CacheFormatTests {
    /// Created by the release of November 2026, which wrote format 2.
    private static let fixture = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Fixtures/Formats/2026-11/cache.sqlite")

    private static let notes = ZoneID(name: "Notes")

    /// Runs a test on a copy of the file.
    private func withCopy(_ body: (String) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"
        try FileManager.default.copyItem(at: Self.fixture, to: URL(fileURLWithPath: path))
        defer {
            for suffix in ["", "-wal", "-shm", "-lock"] {
                // A file that was never created need not be removed.
                try? FileManager.default.removeItem(atPath: path + suffix)
            }
        }
        try body(path)
    }

    private func open(_ path: String) throws -> CloudCache {
        try CloudCache(path: path, remotes: [RealService().remote()])
    }

    @Test func formatTwoMigratesRecordsAndQueue() throws {
        try withCopy { path in
            for _ in 0..<2 {
                let cache = try open(path)
                let id = RecordID(name: "every type", zoneID: Self.notes)
                let record = try #require(try cache.snapshot(id))
                var expected = EveryFieldType.fields
                expected[16].value = .string("edited twice offline")
                #expect(record.fields.filter { $0.name != "editedAt" } == expected)
                #expect(
                    record.system
                        == .init(
                            changeTag: "tag-1", createdMilliseconds: 1_780_000_000_000,
                            creatorRecordName: "_alice", modifiedMilliseconds: 1_780_000_001_000,
                            modifierRecordName: "_bob"))
                let share = try cache.snapshot(
                    RecordID(name: "share of beach", zoneID: ZoneID(name: "Photos")))
                #expect(share?.system?.sharing == Array(#"{"participants":[]}"#.utf8))
                let pending = try cache.store.pendingIDs(limit: 100).map(\.name)
                #expect(
                    pending == [
                        "waiting", "refused", "conflict", "lost answer", "every type", "new",
                        "deleted offline", "made anew", "first",
                    ])
                let sent = try cache.store.nextBatch(itemLimit: 100, bytesLimit: 1_000_000)
                let change = try #require(sent.first { $0.change.id == id })
                #expect(change.base?.fields == EveryFieldType.fields)
                #expect(change.base?.system == record.system)
                try cache.close()
            }
        }
    }

    @Test func fieldsAreStoredAsTheServiceStoresThem() throws {
        try withCopy { path in
            let cache = try open(path)
            let (format, applicationID, bytes) = try cache.store.pool.read { database in
                (
                    try Int.fetchOne(database, sql: "PRAGMA user_version"),
                    try Int.fetchOne(database, sql: "PRAGMA application_id"),
                    try Data.fetchOne(
                        database, sql: "SELECT baseFields FROM pending WHERE name = 'every type'")
                )
            }
            #expect(format == CacheFormat.format.newest)
            #expect(applicationID == Int(CacheFormat.format.applicationID))
            #expect(bytes == Data(RecordFields.values(EveryFieldType.fields).encoded()))
            try cache.close()
        }
    }

    @Test func damagedRowLeavesFileUnchanged() throws {
        try withCopy { path in
            let queue = try DatabaseQueue.other(path)
            try queue.write { database in
                try database.execute(
                    sql: "UPDATE record SET fields = x'0103' WHERE name = 'untouched'")
            }
            let before = try queue.read { try Row.fetchAll($0, sql: "SELECT * FROM record") }
            try queue.close()
            let error = #expect(throws: CacheError.self) { try open(path) }
            #expect(error?.code == .damaged)
            let after = try DatabaseQueue.other(path)
            let (rows, format) = try after.read { database in
                (
                    try Row.fetchAll(database, sql: "SELECT * FROM record"),
                    try Int.fetchOne(database, sql: "PRAGMA user_version")
                )
            }
            #expect(rows == before)
            #expect(format == 2)
            try after.close()
        }
    }

    @Test func foreignDatabaseIsRefused() throws {
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"
        defer {
            // A leftover in the temporary folder fails no test.
            try? FileManager.default.removeItem(atPath: path)
        }
        let other = try DatabaseQueue.other(path)
        try other.write { try $0.execute(sql: "CREATE TABLE song (title TEXT)") }
        try other.close()
        let error = #expect(throws: CacheError.self) { try open(path) }
        #expect(error?.code == .damaged)
        let after = try DatabaseQueue.other(path)
        let tables = try after.read {
            try String.fetchAll($0, sql: "SELECT name FROM sqlite_schema")
        }
        #expect(tables == ["song"])
        try after.close()
    }
}
