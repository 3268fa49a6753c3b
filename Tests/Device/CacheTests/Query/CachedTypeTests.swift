import Foundation
import GRDB
import StratusClient
import StratusRecords
import Testing

@testable import StratusCache

/// Declared types: their columns follow the declaration and the records, and SQL sees them.
@Suite struct CachedTypeTests {
    private let zone = CacheQueryTests.zone

    private func tables(_ cache: CloudCache) throws -> [String] {
        try cache.read { database in
            try String.fetchAll(
                database,
                sql: """
                    SELECT name FROM sqlite_schema
                    WHERE name LIKE 'stratus%' AND type = 'table' OR type = 'view' ORDER BY name
                    """)
        }
    }

    @Test func columnsFollowTheDeclaration() throws {
        let device = try Device(RealService())
        let cache = device.cache
        try cache.save((0..<20).map { CacheQueryTests.note("n\($0)", "Title \($0)", rank: $0) })
        let byRank = CacheQuery("Note").where(CacheQueryTests.Note.rank == 7)
        try cache.file.declare([CachedType("Note", indexed: ["rank"], searchable: ["title"])])
        #expect(
            try tables(cache) == ["records_Note", "stratus_index_1", "stratus_word_1"])
        #expect(try cache.records(matching: byRank).count == 1)
        // Declaring the same types again changes nothing.
        try cache.file.declare([CachedType("Note", indexed: ["rank"], searchable: ["title"])])
        #expect(try tables(cache).contains("stratus_index_1"))
        try cache.file.declare([CachedType("Note", indexed: ["title"]), CachedType("Item")])
        #expect(
            try tables(cache) == [
                "records_Item", "records_Note", "stratus_index_2", "stratus_index_3",
            ])
        #expect(try cache.records(matching: byRank).count == 1)
        try cache.file.declare([])
        #expect(try tables(cache).isEmpty)
        #expect(try cache.records(matching: byRank).count == 1)
    }

    /// A process that declares no types updates the columns too.
    @Test func processWithoutDeclarationsMaintainsColumns() throws {
        let device = try Device(RealService())
        try device.cache.file.declare(CacheQueryTests.types)
        let other = try CloudCache(path: device.path, remotes: [device.remote])
        try other.save(CacheQueryTests.note("theirs", "Milk", rank: 5))
        let query = CacheQuery("Note").where(CacheQueryTests.Note.rank == 5)
        #expect(try device.cache.records(matching: query).count == 1)
        try other.delete(CKRecord.ID(recordName: "theirs", zoneID: zone))
        #expect(try device.cache.records(matching: query).isEmpty)
        let rows = try device.cache.read {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM stratus_word_1")
        }
        #expect(rows == 0)
        try other.close()
    }

    @Test func viewShowsFieldsAsColumns() throws {
        let device = try Device(RealService())
        let cache = device.cache
        try cache.file.declare([
            CachedType(
                "Note", indexed: ["rank"], columns: ["title", "date", "friend", "tags", "none"])
        ])
        let note = CacheQueryTests.note("a", "It's \"Milk\"", rank: 3, tags: ["x", "y"])
        note["date"] = Date(timeIntervalSince1970: 1.5)
        note["friend"] = CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "bob", zoneID: zone), action: .none)
        try cache.save([note, CacheQueryTests.note("b", "Brot", rank: 1)])
        let row = try #require(
            try cache.read {
                try Row.fetchOne($0, sql: "SELECT * FROM records_Note WHERE rank = 3")
            })
        #expect(row["title"] as String? == "It's \"Milk\"")
        #expect(row["date"] as Int? == 1_500)
        #expect(row["friend"] as String? == "bob")
        #expect(row["tags"] as String? == #"["x","y"]"#)
        #expect(row["_recordName"] as String? == "a")
        #expect(row["_zoneName"] as String? == "List")
        #expect(row["_database"] as String? == "private")
        #expect(row["none"] as String? == nil)
        #expect(row["_created"] as Int64? == nil)
    }

    @Test(arguments: [
        [CachedType("Note"), CachedType("note")], [CachedType("Note", indexed: ["a", "a"])],
        [CachedType("No;te")], [CachedType("Note", searchable: ["a\"b"])],
    ])
    func impossibleDeclarationIsRefused(_ types: [CachedType]) throws {
        let device = try Device(RealService())
        let error = #expect(throws: CacheError.self) { try device.cache.file.declare(types) }
        #expect(error?.code == .invalidTypes)
        #expect(try tables(device.cache).isEmpty)
    }
}
