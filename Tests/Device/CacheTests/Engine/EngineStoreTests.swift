import Foundation
import StratusClient
import StratusRecords
import StratusSync
import StratusSyncEngine
import StratusTesting
import Synchronization
import Testing

@testable import StratusCache

/// A cache as the store of an app that has its own engine.
@Suite(.timeLimit(.minutes(20))) struct EngineStoreTests {
    @Test func editsAndDeletionsSyncInBothDirections() async throws {
        let (phone, tablet) = try await EngineDevice.pair()
        for name in ["a", "b", "c"] { try phone.save(name, "1") }
        #expect(try phone.texts().count == 3)
        try await phone.sync()
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "1", "b": "1", "c": "1"])
        try tablet.save("a", "2")
        try tablet.delete("b")
        try await tablet.sync()
        try await phone.sync()
        #expect(try phone.texts() == ["a": "2", "c": "1"])
        #expect(phone.store.failure == nil && tablet.store.failure == nil)
    }

    @Test func conflictIsResolvedByTheCachesResolver() async throws {
        let (phone, tablet) = try await EngineDevice.pair()
        try phone.save("a", "1")
        try await phone.sync()
        try await tablet.sync()
        try phone.save("a", "phone")
        try await phone.sync()
        let record = try #require(
            try await tablet.cache.record(for: CKRecord.ID(recordName: "a", zoneID: .list)))
        record["colour"] = "red"
        try tablet.store.save([record], tablet.engine)
        // The change is sent before anything is fetched.
        try? await tablet.engine.sendChanges()
        try await tablet.sync()
        try await phone.sync()
        for app in [phone, tablet] {
            let record = try #require(
                try await app.cache.record(for: CKRecord.ID(recordName: "a", zoneID: .list)))
            #expect(record["text"] == "phone" && record["colour"] == "red")
            #expect(try await app.cache.pendingRecordIDs().isEmpty)
        }
    }

    /// Two devices that have fetched a record of the tablet.
    private func pairWithTheirs() async throws -> (phone: EngineDevice, tablet: EngineDevice) {
        let (phone, tablet) = try await EngineDevice.pair()
        try tablet.save("theirs", "1")
        for app in [tablet, phone] { try await app.sync() }
        return (phone, tablet)
    }

    @Test func stateAndQueueSurviveRestart() async throws {
        let (phone, tablet) = try await pairWithTheirs()
        #expect(try phone.store.stateSerialization() != nil)
        try phone.save("mine", "1")
        try phone.delete("theirs")
        try phone.restart()
        #expect(phone.engine.state.pendingRecordZoneChanges.count == 2)
        try await phone.sync()
        try await tablet.sync()
        #expect(try tablet.texts() == ["mine": "1"])
    }

    /// An app with an engine changes to the cache's own syncing.
    @Test func cacheSyncContinuesFromTheEnginesState() async throws {
        let (phone, tablet) = try await pairWithTheirs()
        try phone.save("mine", "1")
        try await phone.cache.sync()
        try tablet.delete("theirs")
        try await tablet.sync()
        try await phone.cache.sync()
        #expect(try tablet.texts() == phone.texts())
        #expect(try phone.texts() == ["mine": "1"])
    }

    @Test func unwrittenEventDoesNotAdvanceTheStoredState() async throws {
        let (phone, tablet) = try await EngineDevice.pair()
        try tablet.save("a", "1")
        try await tablet.sync()
        let path = phone.path
        try phone.cache.close()
        try await phone.engine.fetchChanges()
        #expect(phone.store.failure != nil)
        #expect(FileManager.default.fileExists(atPath: path))
        try phone.restart()
        try await phone.sync()
        #expect(try phone.texts() == ["a": "1"])
    }

    @Test func zoneDeletedInTheCacheIsDeletedByTheEngine() async throws {
        let (phone, tablet) = try await EngineDevice.pair()
        try phone.save("a", "1")
        for app in [phone, tablet] { try await app.sync() }
        try await phone.cache.deleteZone(.list)
        try phone.store.resume(phone.engine)
        for app in [phone, tablet] { try await app.sync() }
        #expect(try await tablet.cache.zoneIDs().isEmpty)
        #expect(try await phone.cache.zoneIDs().isEmpty)
    }

    /// Two processes with one file, each with an engine: they have a cache and a store each.
    @Test func secondEngineOfAFileWaitsUntilTheFirstOneEnds() async throws {
        let (phone, tablet) = try await EngineDevice.pair(TestCloud(), ["a": "1"])
        // It removes the file at its end.
        defer { withExtendedLifetime(phone) {} }
        let cache = try phone.otherCache()
        let store = try EngineStore(cache)
        let engine = try EngineDevice.engine(phone.container, store, false)
        #expect((store.failure as? CacheError)?.code == .inUse)
        try tablet.save("b", "1")
        try await tablet.sync()
        let mine = CKRecord(
            recordType: "Item", recordID: CKRecord.ID(recordName: "mine", zoneID: .list))
        mine["text"] = "1"
        try store.save([mine], engine)
        try await engine.fetchChanges()
        try await engine.sendChanges()
        #expect(try cache.texts() == ["a": "1", "mine": "1"])
        #expect(try await cache.pendingRecordIDs().map(\.recordName) == ["mine"])
        #expect((store.failure as? CacheError)?.code == .inUse)
        // The first one syncs on. Its process ends.
        try await phone.engine.fetchChanges()
        #expect(phone.store.failure == nil)
        #expect(try phone.texts() == ["a": "1", "b": "1", "mine": "1"])
        try phone.cache.close()
        try tablet.save("c", "1")
        try await tablet.sync()
        try await engine.fetchChanges()
        try await engine.sendChanges()
        #expect(store.failure == nil)
        #expect(try cache.texts() == ["a": "1", "b": "1", "c": "1", "mine": "1"])
        #expect(try await cache.pendingRecordIDs().isEmpty)
    }

    /// When the first one ends, the pauses of other failures would be five minutes.
    @Test func waitingEngineGoesOnWithoutAPauseOnceTheFirstOneEnds() async throws {
        let world = SeededWorld(seed: 7)
        let counts = try await world.run {
            let clock = world.world("phone")
            let cloud = TestCloud(seeded: world)
            let container = CloudDevice.container(
                try await cloud.connect(user: "alice", device: "phone", world: clock))
            let file = try MemoryCacheFile()
            func store() throws -> EngineStore {
                let cache = try CloudCache(
                    memory: file, container: container, resolver: FieldWise(), world: clock)
                return try EngineStore(cache)
            }
            let (first, second) = (try store(), try store())
            let engine = try EngineDevice.engine(container, second, true)
            try await world.pass(seconds: 600)
            let record = CKRecord(
                recordType: "Item", recordID: CKRecord.ID(recordName: "mine", zoneID: .list))
            try second.save([record], engine)
            try await world.pass(seconds: 60)
            let before = try await second.cache.pendingRecordIDs().count
            try first.cache.close()
            try await world.pass(seconds: 30)
            let after = try await second.cache.pendingRecordIDs().count
            try second.cache.close()
            withExtendedLifetime((first, engine)) {}
            return [before, after]
        }
        #expect(counts == [1, 0])
    }

    @Test func newestStoreOfACacheReplacesTheOneBefore() async throws {
        let (phone, tablet) = try await EngineDevice.pair(TestCloud(), ["a": "1"])
        let store = try EngineStore(phone.cache)
        let engine = try EngineDevice.engine(phone.container, store, false)
        try tablet.save("b", "1")
        try await tablet.sync()
        try await phone.engine.fetchChanges()
        #expect((phone.store.failure as? CacheError)?.code == .inUse)
        #expect(try phone.texts() == ["a": "1"])
        try await engine.fetchChanges()
        #expect(store.failure == nil)
        #expect(try phone.texts() == ["a": "1", "b": "1"])
    }

    /// A phone with an engine, its link to the service, and a tablet whose records it has fetched.
    private func linkedPair(
        _ cloud: RealService, _ texts: KeyValuePairs<String, String>
    ) async throws -> (link: ServiceLink, phone: EngineDevice, tablet: Device) {
        let link = ServiceLink(cloud)
        let phone = try EngineDevice(link.connection())
        let tablet = try await Device.synced(cloud, texts)
        try await phone.sync()
        return (link, phone, tablet)
    }

    /// Whether the record was saved stays open, so it is not sent again before its deletion is fetched.
    @Test func changeWhoseAnswerCameWithoutTheLockIsUnanswered() async throws {
        let cloud = RealService()
        let (link, phone, tablet) = try await linkedPair(cloud, ["a": "1"])
        try phone.save("b", "1")
        let cache = phone.cache
        let next = Mutex<EngineStore?>(nil)
        link.duringNextSend {
            let store = try EngineStore(cache)
            next.withLock { $0 = store }
        }
        try await phone.engine.sendChanges()
        #expect((phone.store.failure as? CacheError)?.code == .inUse)
        next.withLock { $0 = nil }
        try await tablet.sync()
        try tablet.delete("b")
        try await tablet.sync()
        link.fail("page", 0, .requestLost(SyncFailure(.networkUnavailable)))
        await #expect(throws: CKError.self) { try await phone.engine.fetchChanges() }
        #expect(phone.store.failure == nil)
        // It may throw while the change waits; the engine's next calls below do not.
        try? await phone.engine.sendChanges()
        #expect(link.callNames.count { $0 == "send" } == 1)
        try await phone.sync()
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "1"])
        #expect(try phone.texts() == ["a": "1"])
    }

    /// The user changes while another store of the cache has the lock.
    @Test func fileIsNotSyncedForAUserWhoSignedInWithoutTheLock() async throws {
        let cloud = TestCloud()
        let (phone, _) = try await EngineDevice.pair(cloud, ["a": "1"])
        let bobs = try await EngineDevice(cloud, "bobs", user: "bob")
        try phone.save("unsent", "1")
        var next: EngineStore? = try EngineStore(phone.cache)
        try await cloud.signIn("bob", on: phone.connection)
        try await phone.engine.fetchChanges()
        #expect(next?.failure == nil)
        #expect(phone.store.isHalted)
        next = nil
        try await phone.sync()
        #expect(try phone.texts() == ["a": "1", "unsent": "1"])
        try await bobs.sync()
        #expect(try await bobs.cache.zoneIDs().isEmpty)
    }

    /// Another process asks the one with the engine to sync.
    @Test func cacheOfAnotherProcessDoesNotSyncBesideAnEngine() async throws {
        let (phone, _) = try await EngineDevice.pair(TestCloud(), ["a": "1"])
        // It removes the file at its end.
        defer { withExtendedLifetime(phone) {} }
        let other = try phone.otherCache()
        let error = await #expect(throws: CacheError.self) { try await other.sync() }
        #expect(error?.code == .notSynced)
        try phone.cache.close()
        try await other.sync()
    }

    /// An app with an engine changes to the cache's own syncing: the engine keeps its file, then the cache does.
    @Test func cacheThatSyncsItselfSharesTheLockWithItsStore() async throws {
        let (phone, _) = try await EngineDevice.pair(TestCloud(), ["a": "1"])
        // It removes the file at its end.
        defer { withExtendedLifetime(phone) {} }
        try phone.cache.close()
        let cache = try phone.otherCache()
        var store: EngineStore? = try EngineStore(cache)
        try await cache.sync()
        let other = try phone.otherCache()
        let second = try EngineStore(other)
        #expect((second.failure as? CacheError)?.code == .inUse)
        #expect(throws: CacheError.self) { try second.takeLock() }
        await cache.start()
        // The app releases its engine a little later.
        #expect(store?.failure == nil)
        store = nil
        #expect(throws: CacheError.self) { try second.takeLock() }
        await cache.stop()
        try second.takeLock()
        try cache.close()
        try other.close()
    }

    /// Others of its zone are fetched and sent.
    @Test func unreadableRecordIsReadByANewerApp() async throws {
        let cloud = RealService()
        let (link, phone, tablet) = try await linkedPair(cloud, ["a": "1", "b": "1"])
        for name in ["a", "b"] { try tablet.save(name, "2") }
        try await tablet.sync()
        link.setUnreadable(["a"])
        await #expect(throws: CKError.self) { try await phone.engine.fetchChanges() }
        #expect(try phone.texts() == ["a": "1", "b": "2"])
        let reports = try await phone.cache.reports()
        #expect(reports.count == 1)
        guard case .recordUnreadable(let id, _)? = reports.first?.event else {
            Issue.record("The app got no report.")
            return
        }
        #expect(id.recordName == "a" && phone.store.failure == nil)
        try phone.save("b", "3")
        try await phone.sync()
        #expect(try await cloud.texts() == ["a": "2", "b": "3"])
        link.setUnreadable([])
        try phone.restart()
        try await phone.sync()
        #expect(try phone.texts() == ["a": "2", "b": "3"])
    }

    /// A fetch without a token shows what was deleted; the record that cannot be read was not.
    @Test func fullFetchKeepsAnUnreadableRecord() async throws {
        let cloud = RealService()
        let (link, phone, tablet) = try await linkedPair(cloud, ["a": "1", "b": "1"])
        try tablet.save("a", "2")
        try tablet.delete("b")
        try await tablet.sync()
        link.setUnreadable(["a"])
        phone.engine.state.forget(ZoneID.list)
        await #expect(throws: CKError.self) { try await phone.engine.fetchChanges() }
        #expect(try phone.texts() == ["a": "1"])
    }

    /// The service refuses the edit, whose base is an earlier version, and the app cannot read the record of the answer.
    @Test func editOfAnUnreadableRecordIsSetAside() async throws {
        let cloud = RealService()
        let (link, phone, tablet) = try await linkedPair(cloud, ["a": "1"])
        try tablet.save("a", "2")
        try await tablet.sync()
        link.setUnreadable(["a"])
        try phone.save("a", "mine")
        for _ in 0..<20 {
            // The errors are those of the record, which the test expects below.
            try? await phone.engine.fetchChanges()
            try? await phone.engine.sendChanges()
        }
        #expect(try await phone.cache.attentionItems().map(\.recordID.recordName) == ["a"])
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
        #expect(try phone.texts() == ["a": "mine"])
    }
}
