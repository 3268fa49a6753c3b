import Foundation
import StratusClient
import StratusRecords
import StratusSync
import Synchronization
import Testing

@testable import StratusCache

/// The records that an app's queries find, and the rows that they read.
@Suite struct CacheQueryTests {
    enum Note {
        static let title = RecordField<String>("title")
        static let isDone = RecordField<Bool>("isDone")
        static let rank = RecordField<Int>("rank")
        static let tags = RecordField<[String]>("tags")
    }

    static let zone = CKRecordZone.ID(zoneName: "List")
    static let types = [CachedType("Note", indexed: ["rank", "isDone"], searchable: ["title"])]

    static func note(
        _ name: String, _ title: String, rank: Int, isDone: Bool = false, tags: [String] = []
    ) -> CKRecord {
        let record = CKRecord(
            recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        record["title"] = title
        record["rank"] = rank
        record["isDone"] = isDone
        if !tags.isEmpty { record["tags"] = tags }
        return record
    }

    private func device(_ types: [CachedType], count: Int = 0) throws -> Device {
        let device = try Device(RealService())
        try device.cache.file.declare(types)
        if count > 0 {
            try device.cache.save(
                (0..<count).map {
                    Self.note("note \($0)", "Title \($0)", rank: $0, isDone: $0 % 2 == 0)
                })
        }
        return device
    }

    private func names(_ query: CacheQuery, _ device: Device) throws -> [String] {
        try device.cache.records(matching: query).map(\.recordID.recordName)
    }

    @Test(arguments: [[], types])
    func typedConditionsEqualPredicates(_ types: [CachedType]) throws {
        let device = try device(types)
        try device.cache.save([
            Self.note("a", "Milk", rank: 1, tags: ["shop"]),
            Self.note("b", "Mehl und Milch", rank: 2, isDone: true),
            Self.note("c", "Brot", rank: 3, tags: ["bakery", "shop"]),
        ])
        let all = CacheQuery("Note").sorted(by: Note.rank)
        #expect(try names(all, device) == ["a", "b", "c"])
        #expect(try names(all.where(Note.isDone == false), device) == ["a", "c"])
        #expect(try names(all.where(Note.rank > 1 && Note.rank <= 3), device) == ["b", "c"])
        #expect(try names(all.where(Note.rank == 1 || Note.title == "Brot"), device) == ["a", "c"])
        #expect(try names(all.where(!(Note.rank < 2)), device) == ["b", "c"])
        #expect(try names(all.where(Note.rank.isOne(of: [3, 1])), device) == ["a", "c"])
        #expect(try names(all.where(Note.rank.isOne(of: [])), device).isEmpty)
        #expect(try names(all.where(Note.title.begins(with: "M")), device) == ["a", "b"])
        #expect(try names(all.where(Note.title.hasWords(of: "MILCH")), device) == ["b"])
        #expect(try names(all.where(Note.tags.contains("shop")), device) == ["a", "c"])
        let predicate = NSPredicate(format: "isDone == 1 OR tags CONTAINS %@", "bakery")
        #expect(try names(all.where(predicate), device) == ["b", "c"])
        #expect(
            try names(CacheQuery("Note").sorted(by: "rank", ascending: false), device).first == "c")
        #expect(try names(CacheQuery("Other"), device).isEmpty)
    }

    @Test func unsupportedQueryThrows() throws {
        let device = try device([])
        for query in [
            CacheQuery("Note").where(NSPredicate(format: "SELF == 3")),
            CacheQuery("Note").sorted(by: "no such name"),
            CacheQuery("Note").where(NSPredicate { _, _ in true }),
        ] {
            let error = #expect(throws: CKError.self) {
                try device.cache.records(matching: query)
            }
            #expect(error?.code == .invalidArguments)
        }
        #expect(throws: CacheError.self) {
            try device.cache.records(matching: CacheQuery("Note"), in: .public)
        }
    }

    /// A query reads only the rows that SQLite finds by a column.
    @Test func indexedQueryReadsOnlyMatchingRows() throws {
        let device = try device(Self.types, count: 2_000)
        let file = device.cache.file
        func rowsRead(_ query: CacheQuery) throws -> Int {
            file.rowsRead.store(0, ordering: .relaxed)
            _ = try device.cache.records(matching: query)
            return file.rowsRead.load(ordering: .relaxed)
        }
        let newest = CacheQuery("Note").sorted(by: Note.rank, ascending: false).limited(to: 20)
        #expect(try rowsRead(newest) == 21)
        #expect(try rowsRead(newest.where(Note.isDone == true)) == 21)
        #expect(try rowsRead(CacheQuery("Note").where(Note.rank == 77)) == 1)
        #expect(try rowsRead(CacheQuery("Note").where(Note.title.hasWords(of: "title 1234"))) == 1)
        let page = try device.cache.page(matching: newest)
        #expect(try rowsRead(newest.after(page.cursor)) == 21)
        // A condition on a field without a column is checked for every record.
        #expect(try rowsRead(CacheQuery("Note").where(Note.title == "Title 5")) == 2_000)
    }

    /// A record that the service does not have yet is the newest; after its save it has its place.
    @Test func unsentRecordsSortAsNewest() async throws {
        let cloud = RealService()
        let device = try Device(cloud)
        try device.cache.file.declare([CachedType("Item", indexed: ["creationDate"])])
        try device.save("first", "1")
        try await device.sync()
        cloud.pass()
        try device.save("second", "2")
        let newest = CacheQuery("Item").sorted(by: "creationDate", ascending: false)
        #expect(try names(newest, device) == ["second", "first"])
        try await device.sync()
        cloud.pass()
        try device.save("a third", "3")
        #expect(try names(newest, device) == ["a third", "second", "first"])
        try await device.sync()
        #expect(try names(newest, device) == ["a third", "second", "first"])
    }

    /// A page begins after the end of the last one, whatever was written in between.
    @Test func writesBetweenPagesLoseNoRecords() throws {
        let device = try device(Self.types, count: 30)
        var query = CacheQuery("Note").sorted(by: Note.rank).limited(to: 7)
        var found: [String] = []
        var round = 0
        repeat {
            let page = try device.cache.page(matching: query)
            found += page.records.map(\.recordID.recordName)
            query.cursor = page.cursor
            // Changes around the place where the next page begins.
            round += 1
            try device.cache.save(Self.note("early \(round)", "early", rank: -round))
            try device.cache.delete(
                CKRecord.ID(recordName: found[found.count - 1], zoneID: Self.zone))
        } while query.cursor != nil
        #expect(found == (0..<30).map { "note \($0)" })
        #expect(throws: CKError.self) {
            let other = CacheQuery("Note").limited(to: 3)
            let cursor = try device.cache.page(matching: other).cursor
            _ = try device.cache.records(matching: query.after(cursor))
        }
    }
}
