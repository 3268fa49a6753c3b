import Foundation
import GRDB
import StratusClient
import StratusTesting
import Testing

@testable import StratusCache

/// Files in memory that reuse the connections of former ones.
@Suite struct SpareCacheFilesTests {
    private let spares = SpareCacheFiles()
    private let types = [CachedType("Item", indexed: ["count"], searchable: ["text"])]

    private func newFile() throws -> MemoryCacheFile {
        try MemoryCacheFile(assetFolder: nil, from: spares, kind: "items")
    }

    private func newCache(_ file: MemoryCacheFile) async throws -> CloudCache {
        let connection = try await TestCloud().connect(user: "alice", device: "phone")
        return try CloudCache(
            memory: file, container: CloudDevice.container(connection), types: types)
    }

    private func item(_ name: String) -> CKRecord {
        let record = CKRecord(
            recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: .list))
        record["count"] = 7
        record["text"] = "some words"
        return record
    }

    private func count(_ cache: CloudCache) throws -> Int {
        try cache.count(matching: CacheQuery("Item").where(NSPredicate(format: "count == 7")))
    }

    /// Every row of every table.
    private func rows(_ file: MemoryCacheFile) throws -> [String: [Row]] {
        try file.queue.read { database in
            let tables = try String.fetchAll(
                database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'")
            var rows: [String: [Row]] = [:]
            for table in tables {
                let found = try Row.fetchAll(database, sql: "SELECT * FROM \"\(table)\"")
                if !found.isEmpty { rows[table] = found }
            }
            return rows
        }
    }

    /// Fills a file with rows of all kinds and releases it.
    private func use() async throws -> ObjectIdentifier {
        let file = try newFile()
        let cache = try await newCache(file)
        for name in ["a", "b", "c"] { try await cache.save(item(name)) }
        try await cache.sync()
        try await cache.delete(item("a").recordID)
        try await cache.save(item("d"))
        #expect(try count(cache) == 3)
        #expect(try rows(file).count > 5)
        try cache.close()
        return ObjectIdentifier(file.queue)
    }

    /// A file that reuses a former one's connection, once the tasks of the former cache have ended.
    private func newFile(of former: ObjectIdentifier) async throws -> MemoryCacheFile {
        var others: [MemoryCacheFile] = []
        while true {
            let file = try newFile()
            if ObjectIdentifier(file.queue) == former { return file }
            others.append(file)
            await Task.yield()
        }
    }

    @Test(.timeLimit(.minutes(20))) func reusedFileIsEmpty() async throws {
        let file = try await newFile(of: use())
        #expect(try rows(file) == rows(MemoryCacheFile()))
        let cache = try await newCache(file)
        #expect(try count(cache) == 0)
        try await cache.save(item("a"))
        #expect(try count(cache) == 1)
        let sequence = try await file.queue.read {
            try Int.fetchOne($0, sql: "SELECT sequence FROM pending")
        }
        #expect(sequence == 1)
        try await cache.sync()
        #expect(try await cache.status().pendingCount == 0)
    }

    @Test func fileInUseIsNotReused() throws {
        let queue = try newFile().queue
        let file = try newFile()
        #expect(file.queue !== queue)
    }

    /// Changes that a simulated fault of the code makes to a file.
    @Test(arguments: [
        "DROP TRIGGER recordAssetsGone", "DROP INDEX pendingToSend",
        "CREATE TRIGGER other AFTER DELETE ON pending BEGIN DELETE FROM flag; END",
    ])
    func fileWithChangedSchemaIsNotReused(_ sql: String) throws {
        try newFile().execute(sql)
        let names = try newFile().queue.read {
            try String.fetchSet($0, sql: "SELECT name FROM sqlite_schema")
        }
        #expect(names.isSuperset(of: ["recordAssetsGone", "pendingToSend"]))
        #expect(!names.contains("other"))
    }
}
