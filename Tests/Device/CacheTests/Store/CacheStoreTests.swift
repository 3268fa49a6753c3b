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
        try device.cache.store.becomeFormat(1)
        try device.restart()
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
        let device = try Device(RealService())
        try device.save("a", "1")
        try await device.cache.sync()
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
        let device = try Device(RealService())
        try device.save("a", "1")
        try await device.cache.sync()
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

    /// After a restore, a record that is changed during the full fetch may be twice in pages that are applied together.
    @Test func lostEditOutlivesTwoStatesInOnePage() async throws {
        let device = try Device(RealService())
        try device.save("a", "new")
        for _ in 0..<2 { try await device.cache.sync() }
        let store = device.cache.store
        let here = try #require(try device.cache.snapshot(RecordID(name: "a", zoneID: .list)))
        let tag = try #require(here.system?.changeTag)
        let version = try #require(RecordSnapshot.SystemFields.version(ofTag: tag))
        try store.dropToken(of: .list, lastIntactVersion: version - 1)
        _ = try store.beginFetch(.list)
        func state(_ text: String, tag: String, note: String? = nil) -> RecordSnapshot {
            var system = here.system
            system?.changeTag = tag
            var fields = [Field(name: "text", value: .string(text))]
            if let note { fields.append(Field(name: "note", value: .string(note))) }
            return RecordSnapshot(id: here.id, type: here.type, system: system, fields: fields)
        }
        let page = ZonePage(
            records: [
                state("old", tag: "0.a"), state("old", tag: "\(version).b", note: "later"),
            ], token: "token", moreComing: false)
        _ = try store.apply(page, of: .list)
        #expect(try device.text("a") == "new")
        #expect(try await device.cache.pendingRecordIDs().map(\.recordName) == ["a"])
    }

    /// The last page of a fetch covers only the tags that its request had.
    @Test func tagAddedDuringAFetchIsCheckedByTheNextOne() async throws {
        let device = try Device(RealService())
        try device.save("a", "1")
        for _ in 0..<2 { try await device.cache.sync() }
        let store = device.cache.store
        let zone = try #require(try store.read { try store.zone(.list, $0) })
        func tags() throws -> [String] {
            try store.read { try store.sentTags(of: zone, $0) }
        }
        func add(_ tag: String) throws {
            try store.file.write { try store.addSentTags([tag], of: zone, $0) }
        }
        try add("7.x")
        #expect(try store.sentTags(of: .list) == ["7.x"])
        try add("8.x")
        let token = try #require(zone.token)
        _ = try store.apply(ZonePage(token: token, moreComing: false), of: .list)
        #expect(try tags() == ["8.x"])
        #expect(try store.sentTags(of: .list) == ["8.x"])
        _ = try store.apply(ZonePage(token: token, moreComing: false), of: .list)
        #expect(try tags() == [])
    }
}
