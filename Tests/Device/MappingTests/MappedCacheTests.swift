import Foundation
import StratusCache
import StratusClient
import StratusMapping
import StratusTesting
import Testing

/// The mapping over a cache.
@Suite(.timeLimit(.minutes(2)))
struct MappedCacheTests {
    @Test func mappedObjectsWorkOfflineOverTheCache() async throws {
        let cloud = TestCloud()
        let tablet = try await MappedDevice(cloud, "tablet")
        // Its connection, whose network the test can take away.
        let link = try await MappedDevice(cloud, "phone")
        let path = NSTemporaryDirectory() + "mapped-\(UUID().uuidString).sqlite"
        defer {
            for suffix in ["", "-wal", "-shm", "-lock"] {
                // A file that was never made need not go.
                try? FileManager.default.removeItem(atPath: path + suffix)
            }
        }
        let container = CKContainer(
            identifier: MappedDevice.container, connection: link.connection)
        let cache = try CloudCache(path: path, container: container, scopes: [.private])
        let store = RecordingStore()
        let phone = try CloudMapping(
            cache: cache, types: [Person.self, Home.self, Course.self], store: store, file: nil)
        link.transport.isOffline = true
        let home = Home()
        home.edit { $0.road = "Lake Road" }
        let anna = Person()
        anna.edit {
            $0.firstName = "Anna"
            $0.home = home
        }
        store.memory.insert(anna)
        store.memory.insert(home)
        try await phone.save(anna)
        #expect(anna.syncID != nil)
        #expect(try cache.pendingRecordIDs().count == 2)
        await #expect(throws: CacheError.self) { try await phone.syncEntities() }
        link.transport.isOffline = false
        try await phone.syncEntities()
        try await tablet.sync()
        let copy = try #require(tablet.person("Anna"))
        #expect(copy.home?.road == "Lake Road")

        copy.edit { $0.age = 30 }
        try await tablet.mapping.save(copy)
        try await phone.syncEntities()
        #expect(anna.age == 30)
        anna.edit { $0.age = 31 }
        try await phone.syncEntities()
        try await tablet.sync()
        #expect(copy.age == 31)
        tablet.store.memory.remove(copy)
        try await tablet.mapping.delete(copy)
        try await phone.syncEntities()
        #expect(store.memory.objects(Person.self).isEmpty)
        #expect(store.heard.withLock { $0.new } == 0)
        try cache.close()
    }
}
