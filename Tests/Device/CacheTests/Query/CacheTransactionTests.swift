import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Records and the app's own tables in one transaction, which cannot reach the cache's tables.
@Suite struct CacheTransactionTests {
    private let zone = CacheQueryTests.zone

    private func device() throws -> Device {
        let device = try Device(RealService())
        try device.cache.file.declare(CacheQueryTests.types)
        try device.cache.write { transaction in
            try transaction.database.execute(
                sql: "CREATE TABLE app_draft (note TEXT PRIMARY KEY, text TEXT NOT NULL)")
        }
        return device
    }

    private func drafts(_ cache: CloudCache) throws -> [String] {
        try cache.read { try String.fetchAll($0, sql: "SELECT note FROM app_draft ORDER BY 1") }
    }

    @Test func recordsAndOwnRowsAreWrittenTogether() async throws {
        let device = try device()
        let cache = device.cache
        var changes = cache.changes().makeAsyncIterator()
        let milk = CacheQueryTests.note("milk", "Milk", rank: 1)
        let found = try await cache.write { transaction in
            try transaction.save(milk)
            try transaction.database.execute(sql: "INSERT INTO app_draft VALUES ('milk', 'x')")
            try transaction.save(CacheQueryTests.note("bread", "Bread", rank: 2))
            try transaction.delete(CKRecord.ID(recordName: "bread", zoneID: zone))
            #expect(try transaction.record(for: milk.recordID)?["title"] == "Milk")
            return try transaction.records(matching: CacheQuery("Note")).map(\.recordID.recordName)
        }
        #expect(found == ["milk"])
        #expect(try drafts(cache) == ["milk"])
        #expect(milk.changedKeys().isEmpty)
        #expect(await changes.next()?.contains(milk.recordID) == true)
        try await cache.sync()
        #expect(try await cache.pendingRecordIDs().isEmpty)
    }

    /// The second record of the save is refused, and the app goes on.
    @Test func refusedSaveLeavesNothingInItsTransaction() throws {
        let device = try device()
        let milk = CacheQueryTests.note("milk", "Milk", rank: 1)
        // In the default zone.
        let bread = CKRecord(
            recordType: "Note", recordID: CKRecord.ID(recordName: "bread", zoneID: .default))
        bread["title"] = "Bread"
        try device.cache.write { transaction in
            #expect(throws: CacheError.self) { try transaction.save([milk, bread]) }
            try transaction.database.execute(sql: "INSERT INTO app_draft VALUES ('milk', 'x')")
        }
        #expect(try drafts(device.cache) == ["milk"])
        #expect(try device.cache.record(for: milk.recordID) == nil)
        #expect(try device.cache.pendingRecordIDs().isEmpty)
    }

    @Test func thrownErrorWritesNothing() throws {
        struct Refusal: Error {}
        let device = try device()
        let milk = CacheQueryTests.note("milk", "Milk", rank: 1)
        #expect(throws: Refusal.self) {
            try device.cache.write { transaction in
                try transaction.save(milk)
                try transaction.database.execute(sql: "INSERT INTO app_draft VALUES ('milk', 'x')")
                throw Refusal()
            }
        }
        #expect(try drafts(device.cache).isEmpty)
        #expect(try device.cache.record(for: milk.recordID) == nil)
        #expect(!milk.changedKeys().isEmpty, "The next save sends it.")
        try device.cache.save(milk)
        #expect(try device.cache.pendingRecordIDs().count == 1)
    }

    @Test(arguments: [
        "DELETE FROM record", "UPDATE pending SET rounds = 9",
        "INSERT INTO flag VALUES (0, 'a', 'b')",
        "DELETE FROM stratus_index_1", "DROP TABLE stratus_index_1", "DROP VIEW records_Note",
        "CREATE TABLE mine (a)", "CREATE INDEX app_index ON record (type)",
        "CREATE TRIGGER app_t AFTER INSERT ON record BEGIN DELETE FROM record; END",
        "CREATE TABLE app_x (r INTEGER REFERENCES record (id))", "PRAGMA user_version = 99",
        "CREATE TRIGGER app_t AFTER INSERT ON app_draft BEGIN DELETE FROM record; END; "
            + "INSERT INTO app_draft VALUES ('a', 'b')",
        "ALTER TABLE app_draft RENAME TO draft", "INSERT INTO encryptedField VALUES ('a', 'b')",
    ])
    func statementsOnCacheTablesAreRefused(_ sql: String) throws {
        let device = try device()
        let cache = device.cache
        try cache.save(CacheQueryTests.note("milk", "Milk", rank: 1))
        let error = #expect(throws: CacheError.self) {
            try cache.write { try $0.database.execute(sql: sql) }
        }
        #expect(error?.code == .reservedTable)
        // Nothing has changed, and the cache still works.
        #expect(try cache.records(matching: CacheQuery("Note")).count == 1)
        try cache.save(CacheQueryTests.note("bread", "Bread", rank: 2))
        #expect(try cache.records(matching: CacheQuery("Note")).count == 2)
        #expect(throws: DatabaseError.self) { try cache.read { try $0.execute(sql: sql) } }
    }

    /// The app's rows survive reopening the file, also with other declared columns.
    @Test func ownTablesSurviveReopening() throws {
        let device = try device()
        try device.cache.write {
            try $0.database.execute(sql: "INSERT INTO app_draft VALUES ('a', 'b')")
        }
        try device.restart()
        try device.cache.file.declare([])
        #expect(try drafts(device.cache) == ["a"])
    }

    /// A decoding error in the app's own tables is not damage of the cache's file.
    @Test func decodingErrorInAppTablesIsNoDamage() throws {
        let device = try Device(RealService())
        let read: (Database) throws -> Int = { database in
            try Row.fetchAll(database, sql: "SELECT NULL").map { try $0.decode(atIndex: 0) }[0]
        }
        #expect(throws: RowDecodingError.self) { try device.cache.read(read) }
        #expect(throws: RowDecodingError.self) {
            try device.cache.write { transaction in try read(transaction.database) }
        }
        #expect(!DamageMark(cachePath: device.path).isSet)
        #expect(throws: CacheError.self) { try device.cache.file.read(read) }
        #expect(DamageMark(cachePath: device.path).isSet)
        DamageMark(cachePath: device.path).remove()
    }
}
