import Foundation
import StratusCache
import StratusClient
import StratusMapping
import StratusTesting
import Testing

/// The mapping over a cache.
@Suite(.timeLimit(.minutes(5)))
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
        #expect(try await cache.pendingRecordIDs().count == 2)
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

    /// The cache knows of the deletion by its first exchange, and has the new ticket in its queue by then.
    @Test(arguments: [false, true])
    func newHolderOfADeletedTargetIsSavedWithoutIt(isTicketFirst: Bool) async throws {
        let cloud = TestCloud()
        let tablet = try await MappedDevice(cloud, "tablet")
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
            cache: cache,
            types: isTicketFirst ? [Ticket.self, Course.self] : [Course.self, Ticket.self],
            store: store, file: nil)
        let course = tablet.add(Course(CourseFields(title: "Ski")))
        try await tablet.sync()
        try await phone.syncEntities()
        tablet.store.memory.remove(course)
        try await tablet.mapping.delete(course)
        let ticket = Ticket(
            TicketFields(number: 7, course: store.memory.objects(Course.self).first))
        store.memory.insert(ticket)
        try await phone.save(ticket)
        for _ in 1...2 { try await phone.syncEntities() }
        #expect(store.memory.objects(Course.self).isEmpty)
        let record = try await tablet.record(ticket.syncID)
        #expect(record["number"] == 7)
        #expect(record.object(forKey: "course") == nil)
        #expect(try await cache.attentionItems().isEmpty)
        #expect(try await cache.pendingRecordIDs().isEmpty)
        try cache.close()
    }

    /// A file goes to the service once, and one that did not come is not taken for removed.
    @Test func assetsOverTheCacheAreUploadedOnce() async throws {
        let cloud = TestCloud()
        let tablet = try await MappedDevice(cloud, "tablet")
        let link = try await MappedDevice(cloud, "phone")
        let folder = NSTemporaryDirectory() + "mapped-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        defer {
            // Nobody minds a folder among the temporary ones.
            try? FileManager.default.removeItem(atPath: folder)
        }
        let photo = URL(fileURLWithPath: folder + "/photo")
        try Data("a lake".utf8).write(to: photo)
        let container = CKContainer(
            identifier: MappedDevice.container, connection: link.connection)
        let cache = try CloudCache(
            path: folder + "/cache.sqlite", container: container, scopes: [.private])
        var transfers = cache.assetTransfers().makeAsyncIterator()
        let store = RecordingStore()
        let phone = try CloudMapping(
            cache: cache, types: [Person.self, Home.self, Course.self], store: store, file: nil)
        let anna = Person()
        anna.edit {
            $0.firstName = "Anna"
            $0.photo = photo
        }
        store.memory.insert(anna)
        try await phone.save(anna)
        try await phone.syncEntities()
        anna.edit { $0.age = 40 }
        try await phone.save(anna)
        try await phone.syncEntities()
        try await tablet.sync()
        let copy = try #require(tablet.person("Anna"))
        #expect(copy.age == 40)
        #expect(try copy.photo.map { try Data(contentsOf: $0) } == Data("a lake".utf8))
        try cache.close()
        var uploads = 0
        while let transfer = await transfers.next() {
            if transfer.isUpload, transfer.movedBytes == transfer.totalBytes { uploads += 1 }
        }
        // The last piece, and the end.
        #expect(uploads <= 2 && uploads >= 1)
    }
}
