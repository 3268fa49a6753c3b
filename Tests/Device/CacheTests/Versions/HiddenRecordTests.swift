import Foundation
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// A hidden record of a newer app appears in no query, count, observation or transaction.
@Suite(.timeLimit(.minutes(20))) struct HiddenRecordTests {
    private let query = CacheQuery("Item").sorted(by: "text")

    private func versions(_ current: Int64) -> RecordVersions {
        var versions = RecordVersions()
        versions.declare("Item", key: "version", current: current)
        versions.newerRecords = .goOn
        versions.sight = .hidden
        return versions
    }

    private func id(_ name: String) -> CKRecord.ID {
        CKRecord.ID(RecordID(name: name, zoneID: .list))
    }

    private func names(_ records: some Sequence<CKRecord>) -> [String] {
        records.map(\.recordID.recordName)
    }

    /// - Parameter types: With an index the query uses another access path.
    @Test(arguments: [[], [CachedType("Item", indexed: ["text"], searchable: ["text"])]])
    func hiddenRecordIsMissingFromEveryQuery(_ types: [CachedType]) async throws {
        let cloud = RealService()
        let new = try Device(cloud, versions: versions(2))
        let old = try Device(cloud, versions: versions(1))
        try old.cache.file.declare(types)
        for name in ["a", "b", "c"] { try old.save(name, name) }
        try await old.sync()
        try await new.sync()
        var updates = try old.cache.observe(query).makeAsyncIterator()
        let first = try await #require(updates.next())
        #expect(names(first.records) == ["a", "b", "c"])
        var record = try old.cache.observe(id("b")).makeAsyncIterator()
        #expect(try await record.next()?.record != nil)
        // A newer app edits one of the records, and creates one.
        try new.save("b", "b of the new app")
        try new.save("d", "d")
        try await new.sync()
        try await old.sync()
        let update = try await #require(updates.next())
        #expect(names(update.records) == ["a", "c"])
        #expect(update.changes.map(\.kind) == [.removed])
        let gone = try await #require(record.next())
        #expect(gone.record == nil)
        let cache = old.cache
        #expect(try await names(cache.records(matching: query)) == ["a", "c"])
        #expect(try await names(cache.page(matching: query.limited(to: 2)).records) == ["a", "c"])
        #expect(try await cache.page(matching: query.limited(to: 2)).cursor == nil)
        #expect(try await cache.count(matching: query) == 2)
        #expect(
            try await names(cache.records(matching: CacheQuery("Item"))).sorted() == ["a", "c"])
        let words = CacheQuery("Item")
            .where(NSPredicate(format: "text TOKENMATCHES %@", "b"))
        #expect(try await cache.records(matching: words).isEmpty)
        let inside = try await cache.write { [query] transaction in
            let hidden = CKRecord.ID(RecordID(name: "b", zoneID: .list))
            return (
                try transaction.record(for: hidden)?.recordID,
                try transaction.records(matching: query).count
            )
        }
        #expect(inside.0 == nil && inside.1 == 2)
        // The updated app shows all records.
        old.versions = versions(2)
        try old.restart()
        #expect(try await names(old.cache.records(matching: query)) == ["a", "b", "c", "d"])
    }
}
