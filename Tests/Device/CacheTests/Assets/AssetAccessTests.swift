import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import Testing

@testable import StratusCache

/// Files of assets together with queries, transactions, caches in memory, and damage.
@Suite struct AssetAccessTests {
    private let image = CloudDevice.bytes("image")
    private let query = CacheQuery("Photo")

    private func newPhoto() throws -> (record: CKRecord, file: URL) {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try image.write(to: file)
        let id = CKRecord.ID(recordName: "new", zoneID: .list)
        let record = CKRecord(recordType: "Photo", recordID: id)
        record["image"] = CKAsset(fileURL: file)
        return (record, file)
    }

    private func content(_ record: CKRecord?) throws -> Data? {
        let asset: CKAsset? = record?["image"]
        return try asset?.fileURL.map { try Data(contentsOf: $0) }
    }

    /// Each way to read a record includes its files.
    @Test func everyReadReturnsAssetFiles() async throws {
        let phone = try await CloudDevice(TestCloud(), "phone")
        try phone.savePhoto("a", image)
        let cache = phone.cache
        let id = CKRecord.ID(recordName: "a", zoneID: .list)
        #expect(try content(try await cache.record(for: id)) == image)
        #expect(try content(try await cache.records(inZoneWith: .list).first) == image)
        #expect(try content(try await cache.records(matching: query).first) == image)
        var updates = try cache.observe(query).makeAsyncIterator()
        #expect(try content(try await updates.next()?.records.first) == image)
        var records = try cache.observe(id).makeAsyncIterator()
        #expect(try content(try await records.next()?.record) == image)
        let query = query
        let inside = try await cache.write { transaction in
            [try transaction.record(for: id), try transaction.records(matching: query).first]
                .compactMap { record in
                    let asset: CKAsset? = record?["image"]
                    return asset?.fileURL
                }
        }
        #expect(inside.count == 2)
    }

    /// An app has the same file open twice.
    @Test func fileThatAnotherCacheOfTheProcessUsesIsKept() async throws {
        let (_, tablet) = try await CloudDevice.pair(photo: image)
        let id = CKRecord.ID(recordName: "a", zoneID: .list)
        var shown: CKAsset? = try await tablet.cache.asset("image", of: id)
        let url = try #require(shown?.fileURL)
        let other = try CloudCache(
            path: tablet.path, container: CloudDevice.container(tablet.connection))
        try await other.removeDownloadedAssets()
        #expect(try Data(contentsOf: url) == image)
        withExtendedLifetime(shown) {}
        shown = nil
        try await other.removeDownloadedAssets()
        #expect(try tablet.assetFiles().isEmpty)
        try other.close()
    }

    /// A transaction already holds the lock that the removal of files waits for, so it cannot add a file.
    @Test func transactionRefusesANewFile() async throws {
        let phone = try await CloudDevice(TestCloud(), "phone")
        let (record, file) = try newPhoto()
        defer { unlink(file.path) }
        let error = #expect(throws: CacheError.self) {
            try phone.cache.write { try $0.save(record) }
        }
        #expect(error?.code == .unsupportedValue)
        #expect(try phone.assetFiles().isEmpty && phone.photo("new") == nil)
        // A record whose file is already in the cache may be saved in a transaction.
        try await phone.cache.save(record)
        let saved = try #require(try phone.photo("new"))
        saved["text"] = "within"
        try await phone.cache.write { try $0.save(saved) }
        #expect(try phone.photo("new")?["text"] == "within")
        #expect(try phone.image("new") == image)
    }

    /// A cache in memory has no file, no folder and no task for assets.
    @Test func cacheInMemoryKeepsNoFiles() async throws {
        let phone = try await CloudDevice(TestCloud(), "phone")
        let (record, file) = try newPhoto()
        defer { unlink(file.path) }
        let cache = try CloudCache(
            memory: MemoryCacheFile(), container: CloudDevice.container(phone.connection))
        let error = #expect(throws: CacheError.self) { try cache.save(record) }
        #expect(error?.code == .unsupportedValue)
        #expect(try await cache.record(for: record.recordID) == nil)
        #expect(!FileManager.default.fileExists(atPath: "memory-assets"))
        try phone.savePhoto("a", image)
        try await phone.cache.sync()
        try await cache.sync()
        let id = CKRecord.ID(recordName: "a", zoneID: .list)
        let fetched = try #require(try await cache.record(for: id))
        #expect(try content(fetched) == nil)
        await #expect(throws: CacheError.self) { try await cache.asset("image", of: id) }
        // An edit of another field does not change the asset at the service.
        fetched["text"] = "edited"
        try await cache.save(fetched)
        try await cache.sync()
        try await phone.cache.sync()
        #expect(try phone.photo("a")?["text"] == "edited")
        #expect(try phone.image("a") == image)
        try cache.close()
    }

    /// The file of an unsent photo survives the damage of the cache's file.
    @Test func filesOfADamagedCacheAreRestoredWithTheirRecords() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        try phone.save("a", "synced")
        try await phone.cache.sync()
        try phone.savePhoto("photo", image)
        phone.cache.file.noteDamage(DatabaseError(resultCode: .SQLITE_CORRUPT))
        try phone.restart()
        // Unused files are removed; the report still uses this file.
        try await phone.cache.cachedAssets.tidy()
        let report = try await #require(try phone.cache.reports().first)
        guard case .fileDamaged(_, let saves, _, _) = report.event else {
            Issue.record("\(report.event)")
            return
        }
        #expect(try content(saves.first) == image)
        try phone.cache.restore(report)
        try await phone.cache.cachedAssets.tidy()
        #expect(try phone.image("photo") == image)
        try await phone.cache.sync()
        let tablet = try await CloudDevice(cloud, "tablet")
        try await tablet.cache.sync()
        let id = CKRecord.ID(recordName: "photo", zoneID: .list)
        let asset = try await tablet.cache.asset("image", of: id)
        #expect(try Data(contentsOf: asset.fileURL) == image)
    }

    @Test(arguments: ["a", "b"])
    func fileOfTwoRecordsIsFetchedAfterOneOfThemWasDeleted(deleted: String) async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        for name in ["a", "b"] { try phone.savePhoto(name, image) }
        try await phone.cache.sync()
        let tablet = try await CloudDevice(cloud, "tablet")
        try await tablet.cache.sync()
        try phone.delete(deleted)
        try await phone.cache.sync()
        var settings = AssetSettings()
        settings.policy = .always
        let cache = tablet.cache
        let assets = CachedAssets(
            file: cache.file, databases: cache.databases, settings: settings,
            observers: cache.observers)
        try await assets.fetchWanted()
        #expect(try tablet.image(deleted == "a" ? "b" : "a") == image)
    }

    /// A sign-out keeps the columns and removes their values.
    @Test func declaredTypesSurviveSignOut() async throws {
        let phone = try await CloudDevice(TestCloud(), "phone")
        let types = [CachedType("Photo", indexed: ["text"])]
        try phone.cache.file.declare(types)
        let found = CacheQuery("Photo").where(NSPredicate(format: "text == 'x'"))
        for _ in 0..<2 {
            try phone.cache.file.declare(types)
            let (record, file) = try newPhoto()
            defer { unlink(file.path) }
            record["text"] = "x"
            try await phone.cache.save(record)
            #expect(try await phone.cache.count(matching: found) == 1)
            #expect(try await phone.cache.signOut(.remove).count == 1)
            #expect(try await phone.cache.count(matching: found) == 0)
            try phone.restart()
        }
    }
}
