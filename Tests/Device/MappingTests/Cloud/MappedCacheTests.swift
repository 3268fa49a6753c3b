import Foundation
import StratusCache
import StratusClient
import StratusMapping
import StratusTesting
import Testing

/// The mapping over a cache.
@Suite(.timeLimit(.minutes(20)))
struct MappedCacheTests {
    /// A device whose mapping is over a cache, in a folder of its own.
    private final class CachedPhone {
        /// The device's connection, whose network the test can turn off.
        let link: MappedDevice
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("mapped-\(UUID().uuidString)")
        let cache: CloudCache
        let store = RecordingStore()
        let mapping: CloudMapping

        init(
            _ cloud: TestCloud, _ types: [any CloudEntity.Type],
            versions: RecordVersions = RecordVersions()
        ) async throws {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            link = try await MappedDevice(cloud, "phone")
            let opened = try Self.opened(types, versions, link, folder, store)
            cache = opened.cache
            mapping = opened.mapping
        }

        private static func opened(
            _ types: [any CloudEntity.Type], _ versions: RecordVersions, _ link: MappedDevice,
            _ folder: URL, _ store: RecordingStore
        ) throws -> (cache: CloudCache, mapping: CloudMapping) {
            let container = CKContainer(
                identifier: MappedDevice.container, connection: link.connection)
            let cache = try CloudCache(
                path: folder.appendingPathComponent("cache.sqlite").path, container: container,
                scopes: [.private], versions: versions)
            let mapping = try CloudMapping(
                cache: cache, types: types, store: store,
                file: folder.appendingPathComponent("mapping"))
            return (cache, mapping)
        }

        /// Opens the cache again as another version of the app.
        func reopened(
            _ types: [any CloudEntity.Type], versions: RecordVersions
        ) throws -> (cache: CloudCache, mapping: CloudMapping) {
            try cache.close()
            return try Self.opened(types, versions, link, folder, store)
        }

        /// Opens a new cache in place of the one whose file was lost, with the same objects and the same file of the
        /// mapping.
        func reopenedWithoutCache(
            _ types: [any CloudEntity.Type]
        ) throws -> (cache: CloudCache, mapping: CloudMapping) {
            try cache.close()
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
            where name != "mapping" {
                try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
            }
            return try Self.opened(types, RecordVersions(), link, folder, store)
        }

        deinit {
            // A leftover in the temporary folder fails no test.
            try? FileManager.default.removeItem(at: folder)
        }
    }

    @Test func mappedObjectsWorkOfflineOverTheCache() async throws {
        let cloud = TestCloud()
        let tablet = try await MappedDevice(cloud, "tablet")
        let cached = try await CachedPhone(cloud, [Person.self, Home.self, Course.self])
        let (phone, cache, store) = (cached.mapping, cached.cache, cached.store)
        cached.link.transport.isOffline = true
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
        cached.link.transport.isOffline = false
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
        #expect(store.received.withLock { $0.new } == 0)
        try cache.close()
    }

    /// The cache's file was emptied for the next user; the objects and the mapping's file are the former user's. Without
    /// a network the cache does not know the next user yet.
    @Test(arguments: [false, true])
    func objectsOfTheFormerUserAreNotSyncedForTheNextUser(isOffline: Bool) async throws {
        let cloud = TestCloud()
        let types: [any CloudEntity.Type] = [Person.self, Home.self, Course.self]
        let cached = try await CachedPhone(cloud, types)
        let homes = cached.store.memory
        let home = Home()
        home.edit { $0.road = "Lake Road" }
        homes.insert(home)
        try await cached.mapping.syncEntities()
        _ = try await cached.cache.signOut(.sendThenRemove)
        try await cloud.signIn("bob", on: cached.link.connection)
        let (cache, mapping) = try cached.reopened(types, versions: RecordVersions())
        let unsent = Home()
        unsent.edit { $0.road = "Hill Road" }
        homes.insert(unsent)
        if isOffline {
            cached.link.transport.isOffline = true
            await #expect(throws: CacheError.self) { try await mapping.syncEntities() }
            await #expect(throws: CacheError.self) { try await mapping.save(unsent) }
            #expect(try await cache.pendingRecordIDs().isEmpty)
            cached.link.transport.isOffline = false
        }
        for _ in 0..<2 {
            let error = await #expect(throws: MappingError.self) {
                try await mapping.syncEntities()
            }
            #expect(error?.code == .otherAccount)
        }
        #expect(homes.objects(Home.self).count == 2)
        #expect(try await cache.pendingRecordIDs().isEmpty)
        try cache.close()
    }

    @Test func objectsStayIfTheirCacheWasLostAndHasNoNetwork() async throws {
        let cloud = TestCloud()
        let tablet = try await MappedDevice(cloud, "tablet")
        let types: [any CloudEntity.Type] = [Person.self, Home.self, Course.self]
        let cached = try await CachedPhone(cloud, types)
        let home = Home()
        home.edit { $0.road = "Lake Road" }
        cached.store.memory.insert(home)
        try await cached.mapping.save(home)
        try await cached.mapping.syncEntities()
        let (cache, mapping) = try cached.reopenedWithoutCache(types)
        cached.link.transport.isOffline = true
        await #expect(throws: CacheError.self) { try await mapping.syncEntities() }
        #expect(cached.store.memory.objects(Home.self).count == 1)
        cached.link.transport.isOffline = false
        try await mapping.syncEntities()
        #expect(cached.store.memory.objects(Home.self).count == 1)
        // What was deleted meanwhile is removed once the cache has fetched the zone.
        try await tablet.sync()
        let copy = try #require(tablet.store.memory.objects(Home.self).first)
        tablet.store.memory.remove(copy)
        try await tablet.mapping.delete(copy)
        try await mapping.syncEntities()
        #expect(cached.store.memory.objects(Home.self).isEmpty)
        try cache.close()
    }

    /// A newer version of the app wrote the records of two objects, which the cache hides from this one.
    @Test func objectsOfHiddenRecordsStayAndTheirEditsWaitForTheUpdate() async throws {
        func versions(_ current: Int64) -> RecordVersions {
            var versions = RecordVersions()
            versions.declare("Home", key: "version", current: current)
            versions.newerRecords = .goOn
            versions.sight = .hidden
            return versions
        }
        let cloud = TestCloud()
        let tablet = try await MappedDevice(cloud, "tablet")
        let types: [any CloudEntity.Type] = [Home.self, Person.self, Course.self]
        let cached = try await CachedPhone(cloud, types, versions: versions(1))
        let (phone, store) = (cached.mapping, cached.store)
        let (kept, deleted) = (Home(), Home())
        let course = Course(CourseFields(title: "Ski"))
        for home in [kept, deleted] {
            home.edit { $0.road = "Lake Road" }
            store.memory.insert(home)
        }
        store.memory.insert(course)
        try await phone.syncEntities()
        for home in [kept, deleted] {
            let record = try await tablet.record(home.syncID)
            record["version"] = 2
            _ = try await tablet.database.save(record)
        }
        for isForced in [false, true] {
            try await phone.syncEntities(forced: isForced)
            #expect(store.memory.objects(Home.self).count == 2)
        }
        kept.edit { $0.road = "Sea Road" }
        let refusal = await #expect(throws: CacheError.self) { try await phone.save(kept) }
        #expect(refusal?.code == .newerRecord)
        store.memory.remove(deleted)
        await #expect(throws: CacheError.self) { try await phone.delete(deleted) }
        course.edit { $0.title = "Climb" }
        try await phone.syncEntities()
        #expect(try await tablet.record(course.syncID)["title"] == "Climb")
        for home in [kept, deleted] {
            #expect(try await tablet.record(home.syncID)["road"] == "Lake Road")
        }
        let (cache, updated) = try cached.reopened(types, versions: versions(2))
        try await updated.syncEntities()
        #expect(try await tablet.record(kept.syncID)["road"] == "Sea Road")
        #expect(try await tablet.record(kept.syncID)["version"] == 2)
        await #expect(throws: CKError.self) { try await tablet.record(deleted.syncID) }
        try cache.close()
    }

    /// The cache learns of the deletion in its first sync, when the new ticket is already in its queue.
    @Test(arguments: [false, true])
    func newReferenceToADeletedObjectIsSavedAsEmpty(isTicketFirst: Bool) async throws {
        let cloud = TestCloud()
        let tablet = try await MappedDevice(cloud, "tablet")
        let cached = try await CachedPhone(
            cloud, isTicketFirst ? [Ticket.self, Course.self] : [Course.self, Ticket.self])
        let (phone, cache, store) = (cached.mapping, cached.cache, cached.store)
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

    /// The cache sends the saved property before the mapping sends the others.
    @Test func saveKeysOverTheCacheLosesNoEditOfOtherProperties() async throws {
        let cached = try await CachedPhone(TestCloud(), [Person.self, Home.self, Course.self])
        let anna = Person()
        anna.edit { $0.firstName = "Anna" }
        cached.store.memory.insert(anna)
        try await cached.mapping.syncEntities()
        anna.edit {
            $0.firstName = "Hanna"
            $0.age = 31
        }
        try await cached.mapping.save(anna, keys: [\.age])
        try await cached.mapping.syncEntities()
        #expect(anna.firstName == "Hanna")
        let record = try await cached.link.record(anna.syncID)
        #expect(record["firstName"] == "Hanna")
        #expect(record["age"] == 31)
        try cached.cache.close()
    }

    /// A file is uploaded once, and a file that was not downloaded does not count as removed.
    @Test func assetsOverTheCacheAreUploadedOnce() async throws {
        let cloud = TestCloud()
        let tablet = try await MappedDevice(cloud, "tablet")
        let cached = try await CachedPhone(cloud, [Person.self, Home.self, Course.self])
        let (phone, cache, store) = (cached.mapping, cached.cache, cached.store)
        let photo = cached.folder.appendingPathComponent("photo")
        try Data("a lake".utf8).write(to: photo)
        var transfers = cache.assetTransfers().makeAsyncIterator()
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
        // One report for the last piece, and one for the end.
        #expect(uploads <= 2 && uploads >= 1)
    }
}
