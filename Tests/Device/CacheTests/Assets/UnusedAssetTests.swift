import Foundation
import StratusCache
import StratusClient
import StratusTesting
import StratusWire
import Testing

/// Files that no record has any more are removed without a further change, whatever kept them first.
@Suite struct UnusedAssetTests {
    private let world = SeededWorld(seed: 7)
    /// The cache's file, if it is not in memory.
    private let path = FileManager.default.temporaryDirectory
        .appendingPathComponent("unused-\(UUID().uuidString)").path
    private var folder: URL { URL(fileURLWithPath: path + "-assets", isDirectory: false) }
    private let id = CKRecord.ID(recordName: "a", zoneID: .list)

    /// Runs a body with a cache whose files of assets are in the folder, in a world where the search for an earlier
    /// process's files has ended.
    ///
    /// - Parameter limitBytes: the limit of a cache on the disk; nil for a cache in memory, which has the default.
    private func run(
        limitBytes: Int64? = nil,
        _ body: @escaping @Sendable (CloudCache, FaultyTransport) async throws -> [[String]]
    ) async throws -> [[String]] {
        defer {
            for suffix in ["", "-wal", "-shm", "-lock", "-assets"] {
                // A cache in memory has no file, and if the test has failed there may be no folder.
                try? FileManager.default.removeItem(atPath: path + suffix)
            }
        }
        return try await world.run { [world, path, folder] in
            let clock = world.world("phone")
            let cloud = TestCloud(seeded: world)
            let link = try await cloud.connect(user: "alice", device: "phone", world: clock)
            let transport = FaultyTransport(
                try #require(link.transport as? any AccountTransport))
            let connection = CloudConnection(
                transport: transport, hasAccount: true, deviceID: "phone", world: clock,
                keyStore: cloud.keyStore)
            let container = CloudDevice.container(connection)
            var settings = AssetSettings()
            if let limitBytes { settings.limitBytes = limitBytes }
            let cache =
                try limitBytes == nil
                ? CloudCache(
                    memory: MemoryCacheFile(assetFolder: folder), container: container,
                    world: clock)
                : CloudCache(path: path, container: container, assets: settings, world: clock)
            try await world.pass(seconds: 5)
            let found = try await body(cache, transport)
            try cache.close()
            return found
        }
    }

    /// Expects that a body finds one file, and then none.
    private func expectRemoval(
        limitBytes: Int64? = nil, sourceLocation: SourceLocation = #_sourceLocation,
        _ body: @escaping @Sendable (CloudCache, FaultyTransport) async throws -> [[String]]
    ) async throws {
        let found = try await run(limitBytes: limitBytes, body)
        #expect(found.map(\.count) == [1, 0], sourceLocation: sourceLocation)
    }

    /// The names of the files in the folder.
    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
    }

    private func save(in cache: CloudCache) async throws {
        let photo = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try CloudDevice.bytes("a").write(to: photo)
        defer { unlink(photo.path) }
        let record = CKRecord(recordType: "Photo", recordID: id)
        record["image"] = CKAsset(fileURL: photo)
        try await cache.save(record)
    }

    /// The photo, whose file stays as long as it is held.
    private func photo(in cache: CloudCache) async throws -> CKAsset? {
        let photo: CKAsset? = try await cache.record(for: id)?["image"]
        return photo?.fileURL == nil ? nil : photo
    }

    /// Shows the photo for a time, and releases it.
    ///
    /// - Parameter begin: Runs as soon as the photo is shown.
    /// - Returns: The names of the files before the release, and five seconds after it.
    private func showPhoto(
        in cache: CloudCache, seconds: Double, _ begin: () async throws -> Void
    ) async throws -> [[String]] {
        var shown = try await photo(in: cache)
        try await begin()
        try await world.pass(seconds: seconds)
        let kept = try names()
        withExtendedLifetime(shown) {}
        shown = nil
        try await world.pass(seconds: 5)
        return [kept, try names()]
    }

    /// Sends a record with a photo, removes the file here, and begins to download it.
    ///
    /// - Returns: what holds the answer back that has the file's address, and the download.
    private func heldDownload(
        in cache: CloudCache, _ transport: FaultyTransport
    ) async throws -> (Gate, Task<Void, Never>) {
        try await save(in: cache)
        try await cache.sync()
        try await world.pass(seconds: 5)
        try await cache.removeDownloadedAssets()
        let lookup = Gate()
        transport.tap { request, answer in
            if request is RecordsLookup.Request { await lookup.pass() }
            return answer
        }
        let download = world.world("app").startTask("download") { [id] in
            // The folder shows whether it has failed.
            _ = try? await cache.asset("image", of: id)
        }
        await world.waitUntilIdle()
        return (lookup, download)
    }

    /// The app shows the photo while its record is deleted.
    @Test func fileIsRemovedOnceTheAppReleasesIt() async throws {
        try await expectRemoval { cache, _ in
            try await save(in: cache)
            return try await showPhoto(in: cache, seconds: 5) { try await cache.delete(id) }
        }
    }

    /// The first file was copied, and the second one cannot be read.
    @Test func copyOfARecordThatIsNotSavedIsRemoved() async throws {
        try await expectRemoval { cache, _ in
            let photo = FileManager.default.temporaryDirectory
                .appendingPathComponent(UUID().uuidString)
            try CloudDevice.bytes("a").write(to: photo)
            defer { unlink(photo.path) }
            let record = CKRecord(recordType: "Photo", recordID: id)
            record["image"] = CKAsset(fileURL: photo)
            record["thumbnail"] = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere/at/all"))
            await #expect(throws: CacheError.self) { try await cache.save(record) }
            let copied = try names()
            try await world.pass(seconds: 5)
            return [copied, try names()]
        }
    }

    /// The record is deleted during the download, which then fails.
    @Test func partOfADeletedRecordIsRemovedWhenItsDownloadFails() async throws {
        try await expectRemoval { cache, transport in
            let (lookup, download) = try await heldDownload(in: cache, transport)
            transport.change { $0.cutsAfter = 1 }
            try await cache.delete(id)
            try await cache.sync()
            try await world.pass(seconds: 5)
            let begun = try names()
            lookup.open()
            await download.value
            try await world.pass(seconds: 5)
            return [begun, try names()]
        }
    }

    /// The file would have no row. The next cache continues with the part.
    @Test func downloadIsNotCompletedOnceTheCacheIsClosed() async throws {
        let found = try await run { cache, transport in
            let (lookup, download) = try await heldDownload(in: cache, transport)
            try cache.close()
            lookup.open()
            await download.value
            return [try names()]
        }
        #expect(found.joined().map { $0.hasSuffix(".part") } == [true])
    }

    /// Another process may use its path for ten minutes.
    @Test func fileAboveTheLimitIsRemovedTenMinutesAfterItsLastUse() async throws {
        try await expectRemoval(limitBytes: 0) { cache, _ in
            try await save(in: cache)
            try await cache.sync()
            try await world.pass(seconds: 300)
            let kept = try names()
            try await world.pass(seconds: 400)
            return [kept, try names()]
        }
    }

    /// The app shows the photo for longer than ten minutes.
    @Test func fileAboveTheLimitIsRemovedOnceTheAppReleasesIt() async throws {
        try await expectRemoval(limitBytes: 0) { cache, _ in
            try await save(in: cache)
            try await cache.sync()
            return try await showPhoto(in: cache, seconds: 900) {}
        }
    }

    /// Another process was killed while it saved a photo.
    @Test func fileOfAKilledProcessIsRemovedWithAChangeAnHourLater() async throws {
        let found = try await run { cache, _ in
            func change(_ name: String) async throws {
                let id = CKRecord.ID(recordName: name, zoneID: .list)
                try await cache.save(CKRecord(recordType: "Photo", recordID: id))
                try await world.pass(seconds: 5)
            }
            try await save(in: cache)
            try Data().write(to: folder.appendingPathComponent("4567.new"))
            try await change("b")
            let left = try names()
            try await world.pass(seconds: 3_600)
            try await change("c")
            return [left, try names()]
        }
        #expect(found.map(\.count) == [2, 1])
    }

    /// Has something else in the folder's place while a body runs.
    ///
    /// - Returns: The names of the files afterwards, and a minute later.
    private func replaceFolder(during body: () async throws -> Void) async throws -> [[String]] {
        let aside = folder.appendingPathExtension("aside")
        try FileManager.default.moveItem(at: folder, to: aside)
        try Data().write(to: folder)
        try await body()
        try FileManager.default.removeItem(at: folder)
        try FileManager.default.moveItem(at: aside, to: folder)
        let left = try names()
        try await world.pass(seconds: 60)
        return [left, try names()]
    }

    @Test func failedRemovalIsTriedAgain() async throws {
        try await expectRemoval { cache, _ in
            try await save(in: cache)
            try await cache.delete(id)
            return try await replaceFolder { try await world.pass(seconds: 5) }
        }
    }

    /// The records are removed, and the app gets the last copies of its changes.
    @Test func signOutWhoseFilesCannotBeRemovedReturnsTheUnsentChanges() async throws {
        try await expectRemoval { cache, _ in
            try await save(in: cache)
            try await cache.sync()
            let unsent = CKRecord.ID(recordName: "unsent", zoneID: .list)
            try await cache.save(CKRecord(recordType: "Photo", recordID: unsent))
            return try await replaceFolder {
                let lost = try await cache.signOut(.remove)
                #expect(lost.map(\.recordID) == [unsent])
            }
        }
    }
}
