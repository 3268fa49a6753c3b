import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import TestSeeds
import Testing

@testable import StratusCache

/// One file with a private and a shared database: nothing of one is taken for the other's.
@Suite struct DatabasesTests {
    /// A device with both databases, on two clouds that know nothing of each other.
    private final class Both: Sendable {
        let own = MemoryCloud()
        let others = MemoryCloud()
        let links: [CloudLink]
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"

        init() { links = [CloudLink(own), CloudLink(others, scope: .shared)] }

        func open() throws -> CloudCache {
            try CloudCache(
                path: path, remotes: links, settings: .quick, world: TestTime().world)
        }

        deinit { for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) } }
    }

    private func edit(_ text: String) -> LocalEdit {
        LocalEdit(
            id: RecordID(name: "a", zoneID: .list), type: "Item",
            changes: [Field(name: "text", value: .string(text))])
    }

    /// The same zone name, owner name and record name in both.
    @Test func sameIdentityInBothDatabasesIsTwoRecords() async throws {
        let both = Both()
        both.others.createZone(.list)
        let cache = try both.open()
        try await cache.sync()
        var changes = cache.changes().makeAsyncIterator()
        var othersChanges = cache.changes(in: .shared).makeAsyncIterator()
        try cache.save([edit("mine")])
        try cache.save([edit("theirs")], in: .shared)
        let id = RecordID(name: "a", zoneID: .list)
        #expect(await changes.next() == [CKRecord.ID(id)])
        #expect(await othersChanges.next() == [CKRecord.ID(id)])
        try await cache.sync()
        #expect(both.own.record("a")?["text"] == .string("mine"))
        #expect(both.others.record("a")?["text"] == .string("theirs"))
        try cache.delete([id])
        #expect(try cache.snapshot(id) == nil)
        #expect(try cache.snapshot(id, in: .shared)?["text"] == .string("theirs"))
        #expect(try await cache.status(in: .private).pendingCount == 1)
        #expect(try await cache.status(in: .shared).pendingCount == 0)
        #expect(try await cache.status().pendingCount == 1)
        try await cache.sync()
        #expect(both.own.names().isEmpty)
        #expect(both.others.names() == ["a"])
        try cache.close()
    }

    @Test func lossOfOneDatabasesZoneLeavesTheOther() async throws {
        let both = Both()
        both.others.createZone(.list)
        var cache = try both.open()
        try await cache.sync()
        try cache.save([edit("mine")])
        try cache.save([edit("theirs")], in: .shared)
        try await cache.sync()
        both.others.deleteZone(.list)
        try await cache.sync()
        #expect(try await cache.zoneIDs(in: .shared).isEmpty)
        #expect(try await cache.zoneIDs() == [CKRecordZone.ID(ZoneID.list)])
        both.own.expireTokens()
        try await cache.sync()
        // Each has a token of its own, also after a restart.
        try cache.close()
        cache = try both.open()
        try await cache.sync()
        #expect(try cache.snapshot(RecordID(name: "a", zoneID: .list))?["text"] == .string("mine"))
        #expect(try cache.snapshot(RecordID(name: "a", zoneID: .list), in: .shared) == nil)
        try cache.close()
    }

    @Test func trustInOneDatabaseIsNotTrustInTheOther() async throws {
        let both = Both()
        let cache = try both.open()
        both.links[1].fail(call: 0, .requestLost(SyncFailure(.networkUnavailable)))
        try cache.save([edit("mine")])
        await #expect(throws: CacheError.self) { try await cache.sync() }
        #expect(both.own.names() == ["a"])
        #expect(try await cache.status().summary == "Offline")
        #expect(try await cache.status(in: .private).summary == "Done")
        try cache.close()
    }

    @Test func publicDatabaseIsRefused() throws {
        let both = Both()
        let cache = try both.open()
        let error = #expect(throws: CacheError.self) { try cache.zoneIDs(in: .public) }
        #expect(error?.code == .invalidDatabase)
        #expect(throws: CacheError.self) {
            try CloudCache(path: both.path, remotes: [CloudLink(both.own, scope: .public)])
        }
        try cache.close()
    }

    /// Format 4 had one database and did not say which.
    @Test(arguments: [CKDatabase.Scope.private, .shared])
    func databaseOfFormatFourIsThatOfItsZones(_ scope: CKDatabase.Scope) async throws {
        let both = Both()
        let owner = scope == .shared ? "_bob" : ZoneID.currentUserName
        let zone = ZoneID(name: "Trips", ownerName: owner)
        (scope == .shared ? both.others : both.own).createZone(zone)
        var cache = try both.open()
        try await cache.sync()
        let edit = LocalEdit(
            id: RecordID(name: "a", zoneID: zone), type: "Item",
            changes: [Field(name: "text", value: .string("1"))])
        try cache.save([edit], in: scope)
        try await cache.sync()
        let other: CKDatabase.Scope = scope == .shared ? .private : .shared
        try await cache.database(other).store.pool.write {
            // A file of format 4 had one database alone.
            try $0.execute(sql: "DELETE FROM flag WHERE database = \(other.rawValue)")
        }
        try cache.store.becomeFormatFour()
        try cache.close()
        cache = try both.open()
        #expect(try await cache.zoneIDs(in: scope) == [CKRecordZone.ID(zone)])
        #expect(try await cache.zoneIDs(in: other).isEmpty)
        #expect(try cache.database(scope).store.databaseToken() != nil)
        #expect(try cache.database(other).store.databaseToken() == nil)
        #expect(try cache.snapshot(edit.id, in: scope)?["text"] == .string("1"))
        try await cache.sync()
        try cache.close()
    }
}
