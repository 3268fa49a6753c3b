import Foundation
import GRDB
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

@Suite struct CacheStoreTests {
    @Test func writesAreSynchronousAndUseWAL() throws {
        let device = try Device(RealService())
        let mode = try device.cache.store.pool.write { database in
            try Int.fetchOne(database, sql: "PRAGMA synchronous")
        }
        #expect(mode == 2, "2 is FULL")
        let journal = try device.cache.store.pool.read { database in
            try String.fetchOne(database, sql: "PRAGMA journal_mode")
        }
        #expect(journal == "wal")
    }

    @Test func newerSchemaVersionIsRefused() throws {
        let device = try Device(RealService())
        try device.cache.store.pool.write { database in
            try database.execute(
                sql:
                    "INSERT INTO grdb_migrations VALUES ('of a newer app'); PRAGMA user_version = 99"
            )
        }
        let error = #expect(throws: CacheError.self) { try device.restart() }
        #expect(error?.code == .newerFormat)
    }

    @Test func versionOneFileIsMigratedWithItsQueue() async throws {
        let cloud = RealService()
        let device = try Device(cloud)
        try device.save("a", "1")
        try await device.cache.sync()
        try device.save("b", "1")
        try device.delete("a")
        try device.restart { try DatabaseQueue.other(device.path).becomeFormat(1) }
        let version = try await device.cache.store.pool.read { database in
            try Int.fetchOne(database, sql: "PRAGMA user_version")
        }
        #expect(version == CacheFormat.format.newest)
        try device.save("c", "1")
        try device.delete("c")
        try await device.cache.sync()
        #expect(try await cloud.names() == ["b"])
    }

    /// A fetched page of a zone may be newer than the database's token. If the next answer of the database does not
    /// name the zone, the zone's changes were lost.
    @Test func zoneMissingFromDatabaseChangesIsFetchedAgain() async throws {
        let device = try Device(RealService())
        try device.save("a", "1")
        try await device.cache.sync()
        let store = device.cache.store
        func zonesToFetch(after changed: [ZoneID]) throws -> [ZoneID] {
            _ = try store.apply(DatabasePage(changed: changed, token: "token"), isFull: false)
            return try store.backlog().zonesToFetch
        }
        func fetch(_ deletedNames: [String]) throws {
            _ = try store.beginFetch(.list)
            let page = ZonePage(deletedNames: deletedNames, token: "token", moreComing: false)
            _ = try store.apply(page, of: .list)
        }
        // The saves so far are checked first, and an empty page causes no fetch.
        _ = try zonesToFetch(after: [])
        try fetch([])
        #expect(try zonesToFetch(after: []) == [])
        try fetch(["gone"])
        #expect(try zonesToFetch(after: []) == [.list])
        try fetch([])
        #expect(try zonesToFetch(after: []) == [])
        // Also if the zone was named: its page may contain changes from after the database's answer.
        #expect(try zonesToFetch(after: [.list]) == [.list])
        try fetch(["gone"])
        #expect(try zonesToFetch(after: []) == [.list])
        try fetch([])
        #expect(try zonesToFetch(after: []) == [])
    }

    /// The zone was deleted and recreated since its fetch, and the device got the expiry of the zone's token first.
    @Test func recreatedZoneIsRecognizedAfterItsTokenExpired() async throws {
        let device = try await Device.synced(RealService(), ["a": "1"])
        let store = device.cache.store
        try store.dropToken(of: .list, lastIntactVersion: 1)
        _ = try store.apply(
            DatabasePage(changed: [.list], generations: [.list: 2], token: "token"), isFull: false)
        #expect(
            try store.read { database in
                try store.isRemade(#require(try store.zone(.list, database)), database)
            })
    }

    /// A record that is edited during a full fetch does not count as received by it.
    @Test func recordEditedDuringAFullFetchCountsAsNotReceived() async throws {
        let device = try await Device.synced(RealService(), ["a": "1"])
        let store = device.cache.store
        try store.dropToken(of: .list, lastIntactVersion: 0)
        _ = try store.beginFetch(.list)
        try device.save("a", "2")
        let page = ZonePage(token: "token", moreComing: false)
        guard case .changesLost(_, let sentAgain, _) = try store.apply(page, of: .list).events.last
        else {
            Issue.record("The record counts as received.")
            return
        }
        #expect(sentAgain.map(\.recordName) == ["a"])
        // It is sent as a new record, as the service has none.
        try await device.cache.sync()
        #expect(try device.texts() == ["a": "2"])
    }

    @Test func fileThatIsNotSQLiteIsDamaged() throws {
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"
        try Data(repeating: 0x55, count: 8_192).write(to: URL(fileURLWithPath: path))
        defer {
            // A leftover in the temporary folder fails no test.
            try? FileManager.default.removeItem(atPath: path)
        }
        let error = #expect(throws: CacheError.self) {
            try CloudCache(path: path, remotes: [RealService().remote()])
        }
        #expect(error?.code == .damaged)
    }

    @Test func missingFolderIsUnwritableError() {
        let error = #expect(throws: CacheError.self) {
            try CloudCache(
                path: "/nowhere/at/all/cache.sqlite", remotes: [RealService().remote()])
        }
        #expect(error?.code == .unwritable)
    }

    @Test func rowAndPendingChangeAreOneTransaction() throws {
        let device = try Device(RealService())
        // The second edit cannot be written, so the first one must not be written either.
        try device.cache.store.pool.write { database in
            try database.execute(
                sql: """
                    CREATE TRIGGER refuse BEFORE INSERT ON pending WHEN NEW.name = 'b'
                    BEGIN SELECT RAISE(ABORT, 'no'); END
                    """)
        }
        #expect(throws: (any Error).self) {
            try device.cache.save(
                ["a", "b"].map {
                    LocalEdit(
                        id: RecordID(name: $0, zoneID: .list), type: "Item",
                        changes: [Field(name: "text", value: .string("x"))])
                })
        }
        #expect(try device.texts().isEmpty)
        #expect(try device.cache.store.pendingIDs(limit: 100).isEmpty)
    }

    /// Marks the zone as created and fetched.
    private func makeZone(_ device: Device) throws {
        let store = device.cache.store
        try store.zonesModified(created: [.list], deleted: [])
        let page = ZonePage(records: [], deletedNames: [], token: "1", moreComing: false)
        _ = try store.apply(page, of: .list)
    }

    @Test func pendingChangesAreOnePerRecordAndSurviveRestart() throws {
        let device = try Device(RealService())
        try device.save("a", "1")
        try device.save("b", "1")
        try device.save("a", "2")
        try device.delete("b")
        try device.restart()
        #expect(try device.cache.store.pendingIDs(limit: 100).map(\.name) == ["a"])
        try makeZone(device)
        let changes = try device.cache.store.nextBatch(itemLimit: 10, bytesLimit: 1_000_000)
        #expect(changes.map(\.change.kind) == [.save])
        #expect(changes.map(\.change.generation) == [2])
    }

    /// A deletion without a change tag would remove a record that another device created under the name meanwhile.
    @Test func deletionOfARecordThatWasNeverSentSendsNothing() async throws {
        let cloud = RealService()
        let (phone, tablet) = (try Device(cloud), try Device(cloud))
        try await phone.sync()
        try phone.save("settings", "1")
        try phone.delete("settings")
        try tablet.save("settings", "2")
        try await tablet.sync()
        try await phone.sync()
        #expect(try phone.texts() == ["settings": "2"])
        try await tablet.sync()
        #expect(try tablet.texts() == ["settings": "2"])
    }

    @Test func batchKeepsItemAndByteLimits() throws {
        let device = try Device(RealService())
        for number in 0..<10 { try device.save("r\(number)", String(repeating: "x", count: 1_000)) }
        let store = device.cache.store
        // Nothing is sent into a zone that was never fetched.
        try store.zonesModified(created: [.list], deleted: [])
        #expect(try store.nextBatch(itemLimit: 4, bytesLimit: 1_000_000).isEmpty)
        #expect(try store.backlog().zonesToFetch == [.list])
        try makeZone(device)
        #expect(try store.nextBatch(itemLimit: 4, bytesLimit: 1_000_000).count == 4)
        #expect(try store.nextBatch(itemLimit: 400, bytesLimit: 4_000).count == 3)
        #expect(try store.nextBatch(itemLimit: 400, bytesLimit: 1).count == 1)
    }

    @Test func savingSameValueMakesNoChange() throws {
        let device = try Device(RealService())
        try device.save("a", "1")
        let before = try device.cache.snapshot(RecordID(name: "a", zoneID: .list))
        device.time.advance(milliseconds: 50)
        try device.save("a", "1")
        #expect(try device.cache.snapshot(RecordID(name: "a", zoneID: .list)) == before)
    }

    @Test func secondEditInSameMillisecondGetsLaterDate() throws {
        let cloud = RealService()
        let device = try Device(cloud, editDateKey: "editedAt")
        func edited() throws -> FieldValue? {
            try device.cache.snapshot(RecordID(name: "a", zoneID: .list))?["editedAt"]
        }
        try device.save("a", "1")
        #expect(try edited() == .timestamp(milliseconds: cloud.nowMilliseconds))
        try device.save("a", "2")
        #expect(try edited() == .timestamp(milliseconds: cloud.nowMilliseconds + 1))
    }
}
