import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import TestSeeds
import Testing

@testable import StratusCache

/// Records are found by the hashes of their names, and told apart by their names.
@Suite struct NameHashTests {
    /// Views and tables that an app built on the table of records still work.
    @Test func migrationKeepsViewsAndTablesOfApps() throws {
        let fixture = try StoredFormatFixture("2026-11-records")
        let app = try DatabaseQueue.other(fixture.cachePath)
        try app.write {
            try $0.execute(
                sql: """
                    CREATE VIEW app_names AS SELECT name FROM record WHERE type <> '';
                    CREATE TABLE app_seen (name TEXT);
                    INSERT INTO app_seen SELECT name FROM record;
                    """)
        }
        let before = try app.read {
            try String.fetchAll($0, sql: "SELECT * FROM app_seen ORDER BY 1")
        }
        try app.close()
        let cache = try CloudCache(
            path: fixture.cachePath,
            remotes: [RealService().remote(), RealService().remote(.shared)])
        let after = try cache.store.read {
            try String.fetchAll($0, sql: "SELECT * FROM app_names ORDER BY 1")
        }
        #expect(after == before && !before.isEmpty)
        try cache.close()
    }

    @Test func recordsOfOneHashAreDistinguished() async throws {
        let pages = RandomPages.plain(1)
        let cache = try PagedCache(PagedService(pages))
        try await cache.cache.sync()
        let names = try cache.store.read {
            try String.fetchAll($0, sql: "SELECT name FROM record ORDER BY name LIMIT 2")
        }
        let (one, other) = (try #require(names.first), try #require(names.last))
        try #require(one != other)
        try await cache.memory.queue.write {
            try $0.execute(
                sql: "UPDATE record SET nameHash = ? WHERE name = ?",
                arguments: [NameHash.of(one), other])
        }
        let found = try cache.cache.snapshot(RecordID(name: one, zoneID: PagedCache.zone))
        #expect(found?.id.name == one)
        try cache.cache.delete([RecordID(name: one, zoneID: PagedCache.zone)])
        let left = try cache.store.read {
            try String.fetchAll(
                $0, sql: "SELECT name FROM record WHERE name IN (?, ?)", arguments: [one, other])
        }
        #expect(left == [other])
    }

    private func violations(_ cache: PagedCache) throws -> [String] {
        try cache.store.read { try CacheInspection($0, path: "memory").violations() }
    }

    @Test func verifyingFindsWrongHashesAndRepeatedNames() async throws {
        let cache = try PagedCache(PagedService(RandomPages.plain(1)))
        try await cache.cache.sync()
        #expect(try violations(cache).isEmpty)
        try await cache.memory.queue.write {
            try $0.execute(
                sql: """
                    INSERT INTO record (zone, nameHash, name, type, system, fields, pass)
                    SELECT zone, nameHash, name, type, system, fields, pass FROM record LIMIT 1
                    """)
        }
        #expect(try violations(cache).count == 1)
        try await cache.memory.queue.write {
            try $0.execute(sql: "UPDATE record SET nameHash = 1 WHERE id = 2")
        }
        #expect(try violations(cache).count > 1)
    }
}
