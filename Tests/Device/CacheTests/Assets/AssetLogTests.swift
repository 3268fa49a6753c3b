import Foundation
import StratusClient
import StratusTesting
import Testing

@testable import StratusCache

/// Errors of the background work on assets, which no caller gets, are in the log.
@Suite(.timeLimit(.minutes(20))) struct AssetLogTests {
    @Test func failedDownloadOfRunningLoopIsLoggedOnce() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        var settings = AssetSettings()
        settings.policy = .always
        let tablet = try await CloudDevice(cloud, "tablet", assets: settings)
        // The first download is cut, and the loop repeats it.
        tablet.transport.change { $0.cutsAfter = 400_000 }
        await tablet.cache.start()
        try phone.savePhoto("a", CloudDevice.bytes("a", count: 900_000))
        try await phone.cache.sync()
        await tablet.cache.fetchSoon()
        while try tablet.image("a") == nil { await Task.yield() }
        let events = try tablet.cache.loggedEvents().filter { $0.kind == "assetsNotFetched" }
        #expect(events.count == 1)
        await tablet.cache.stop()
    }

    @Test func failedRemovalOfUnusedFilesIsLogged() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("tidy-\(UUID().uuidString)")
        let container = try await TestCloud().container(
            CloudDevice.container, user: "alice", device: "phone")
        let cache = try CloudCache(
            memory: try MemoryCacheFile(assetFolder: folder), container: container)
        // A file where the folder should be.
        try Data().write(to: folder)
        defer { try? FileManager.default.removeItem(at: folder) }
        await cache.cachedAssets.tidyLater()
        #expect(try cache.loggedEvents().contains { $0.kind == "assetsNotTidied" })
    }
}
