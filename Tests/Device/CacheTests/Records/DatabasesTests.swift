import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import TestSeeds
import Testing

@testable import StratusCache

/// One file with a private and a shared database, whose contents are never mixed up.
@Suite struct DatabasesTests {
    /// A device of alice with both databases, each with its own link, and a zone that bob shares with her.
    private final class Both: Sendable {
        let cloud = RealService()
        let links: [ServiceLink]
        let remotes: [any RemoteDatabase]
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"

        init() {
            links = [ServiceLink(cloud), ServiceLink(cloud)]
            remotes = [
                links[0].connection().remote(), links[1].connection().remote(.shared),
            ]
        }

        func open() throws -> CloudCache {
            let time = TestTime()
            time.follow(cloud.time.world.nowMilliseconds)
            return try CloudCache(
                path: path, remotes: remotes, settings: .quick, world: time.world)
        }

        deinit { for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) } }
    }

    private func edit(_ text: String, in zone: ZoneID = .list) -> LocalEdit {
        LocalEdit(
            id: RecordID(name: "a", zoneID: zone), type: "Item",
            changes: [Field(name: "text", value: .string(text))])
    }

    /// The same zone name, owner name and record name in both databases, which no service returns.
    @Test func sameIdentityInBothDatabasesIsTwoRecords() async throws {
        let both = Both()
        let cache = try both.open()
        let shared = try cache.database(.shared).store
        _ = try shared.apply(DatabasePage(changed: [.list], token: "1"), isFull: true)
        var changes = cache.changes().makeAsyncIterator()
        var othersChanges = cache.changes(in: .shared).makeAsyncIterator()
        try cache.save([edit("mine")])
        try cache.save([edit("theirs")], in: .shared)
        let id = RecordID(name: "a", zoneID: .list)
        #expect(await changes.next() == [CKRecord.ID(id)])
        #expect(await othersChanges.next() == [CKRecord.ID(id)])
        #expect(try await cache.status().pendingCount == 2)
        try cache.delete([id])
        #expect(try cache.snapshot(id) == nil)
        #expect(try cache.snapshot(id, in: .shared)?["text"] == .string("theirs"))
        // The end of `both` removes the file.
        try withExtendedLifetime(both) { try cache.close() }
    }

    /// Zones and records of the same names.
    @Test func eachDatabaseSyncsItsOwnRecords() async throws {
        let both = Both()
        let cloud = both.cloud
        let shared = try await cloud.share(.list, of: "bob", with: "alice")
        let cache = try both.open()
        try await cache.sync()
        try cache.save([edit("mine")])
        try cache.save([edit("theirs", in: shared)], in: .shared)
        try await cache.sync()
        #expect(try await cloud.record("a")?["text"] == .string("mine"))
        #expect(try await cloud.record("a", of: "bob")?["text"] == .string("theirs"))
        try cache.delete([RecordID(name: "a", zoneID: .list)])
        #expect(try await cache.status(in: .private).pendingCount == 1)
        #expect(try await cache.status(in: .shared).pendingCount == 0)
        #expect(try await cache.status().pendingCount == 1)
        try await cache.sync()
        #expect(try await cloud.names().isEmpty)
        #expect(try await cloud.names(of: "bob") == ["a"])
        try cache.close()
    }

    @Test func zoneDeletionInOneDatabaseKeepsTheOther() async throws {
        let both = Both()
        let shared = try await both.cloud.share(.list, of: "bob", with: "alice")
        var cache = try both.open()
        try await cache.sync()
        try cache.save([edit("mine")])
        try cache.save([edit("theirs", in: shared)], in: .shared)
        try await cache.sync()
        try await both.cloud.deleteZone(.list, of: "bob")
        try await cache.sync()
        #expect(try await cache.zoneIDs(in: .shared).isEmpty)
        #expect(try await cache.zoneIDs() == [CKRecordZone.ID(ZoneID.list)])
        try await both.cloud.expireTokens()
        try await cache.sync()
        // Each database has its own token, also after a restart.
        try cache.close()
        cache = try both.open()
        try await cache.sync()
        #expect(try cache.snapshot(RecordID(name: "a", zoneID: .list))?["text"] == .string("mine"))
        #expect(try cache.snapshot(RecordID(name: "a", zoneID: shared), in: .shared) == nil)
        try cache.close()
    }

    @Test func networkFailureOfOneDatabaseDoesNotAffectTheOther() async throws {
        let both = Both()
        let cache = try both.open()
        both.links[1].fail(call: 0, .requestLost(SyncFailure(.networkUnavailable)))
        try cache.save([edit("mine")])
        await #expect(throws: CacheError.self) { try await cache.sync() }
        #expect(try await both.cloud.names() == ["a"])
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
            try CloudCache(path: both.path, remotes: [both.cloud.remote(.public)])
        }
        try cache.close()
    }

    /// Format 4 had one database and did not store which one.
    @Test(arguments: [CKDatabase.Scope.private, .shared])
    func migrationFromFormat4DerivesTheDatabaseFromItsZones(_ scope: CKDatabase.Scope) async throws
    {
        let both = Both()
        var zone = ZoneID(name: "Trips")
        if scope == .shared {
            zone = try await both.cloud.share(zone, of: "bob", with: "alice")
        } else {
            try await both.cloud.createZone(zone)
        }
        var cache = try both.open()
        try await cache.sync()
        let edit = LocalEdit(
            id: RecordID(name: "a", zoneID: zone), type: "Item",
            changes: [Field(name: "text", value: .string("1"))])
        try cache.save([edit], in: scope)
        try await cache.sync()
        let other: CKDatabase.Scope = scope == .shared ? .private : .shared
        try await cache.database(other).store.pool.write {
            // A file of format 4 had only one database.
            try $0.execute(sql: "DELETE FROM flag WHERE database = \(other.rawValue)")
        }
        try cache.close()
        try DatabaseQueue.other(both.path).becomeFormatFour()
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
