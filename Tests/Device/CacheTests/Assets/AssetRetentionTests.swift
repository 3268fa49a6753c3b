import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import StratusWire
import Synchronization
import Testing

@testable import StratusCache

/// Which files are downloaded automatically, and which are removed.
@Suite struct AssetRetentionTests {
    private func id(_ name: String) -> CKRecord.ID {
        CKRecord.ID(recordName: name, zoneID: .list)
    }

    private func content(_ name: String, _ count: Int = 1_000) -> Data {
        CloudDevice.bytes(name, count: count)
    }

    @Test func policyDownloadsFilesWithTheirRecords() async throws {
        let (phone, tablet) = try await CloudDevice.pair {
            $0.setPolicy(.always, forField: "thumbnail", ofType: "Photo")
            $0.setPolicy(.under(bytes: 2_000), forField: "image", ofType: "Photo")
        }
        try phone.savePhoto("small", content("small", 2_000))
        try phone.savePhoto("large", content("large", 2_001))
        try phone.savePhoto("large", content("thumbnail", 5_000), field: "thumbnail")
        try phone.savePhoto("large", content("other"), field: "other")
        try await phone.cache.sync()
        try await tablet.cache.sync()
        #expect(try tablet.image("small") == content("small", 2_000))
        #expect(try tablet.image("large") == nil)
        #expect(try tablet.image("large", field: "thumbnail") == content("thumbnail", 5_000))
        #expect(try tablet.image("large", field: "other") == nil)
        #expect(try await tablet.cache.assetBytes() == 7_000)
    }

    @Test(.timeLimit(.minutes(20))) func runningLoopDownloadsPolicyFiles() async throws {
        let (phone, tablet) = try await CloudDevice.pair { $0.policy = .always }
        // The download is cut once, and continues by itself.
        tablet.transport.change { $0.cutsAfter = 400_000 }
        var transfers = tablet.cache.assetTransfers().makeAsyncIterator()
        await tablet.cache.start()
        try phone.savePhoto("a", content("a", 900_000))
        try await phone.cache.sync()
        await tablet.cache.fetchSoon()
        var movedBytes: Int64 = 0
        while movedBytes < 900_000 {
            movedBytes = try await #require(transfers.next()).movedBytes
        }
        // The loop has already requested the file; this only waits until it is on the device.
        let asset = try await tablet.cache.asset("image", of: id("a"))
        #expect(try Data(contentsOf: asset.fileURL) == content("a", 900_000))
        let offsets = tablet.transfers.downloadOffsets
        #expect(offsets.count == 2 && offsets[0] == 0 && offsets[1] >= 400_000)
        // No caller gets the loop's errors, so they are in the log.
        #expect(try tablet.cache.loggedEvents().count { $0.kind == "assetsNotFetched" } == 1)
        await tablet.cache.stop()
    }

    /// The stop still waits for the first loop when the next one downloads a file.
    @Test(.timeLimit(.minutes(20))) func downloadOfALoopStartedDuringStopContinues() async throws {
        let (phone, tablet) = try await CloudDevice.pair { $0.policy = .always }
        let cache = tablet.cache
        try phone.savePhoto("a", content("a", 900_000))
        try await phone.cache.sync()
        tablet.transport.change { $0.cutsAfter = 1 }
        await #expect(throws: CacheError.self) { try await cache.sync() }
        let (loop, download) = (Gate(), Gate())
        let lookupCount = Mutex(0)
        tablet.transport.tap { request, answer in
            if answer is ChangesDatabase.Answer { await loop.pass() }
            if request is RecordsLookup.Request {
                lookupCount.withLock { $0 += 1 }
                await download.pass()
            }
            return answer
        }
        await cache.start()
        while !loop.isReached { await Task.yield() }
        let stopping = Task { await cache.stop() }
        while try await cache.status(in: .private).isRunning { await Task.yield() }
        await cache.start()
        cache.cachedAssets.noteRest(hasChanges: true)
        while !download.isReached { await Task.yield() }
        loop.open()
        await stopping.value
        download.open()
        while try tablet.image("a") == nil { await Task.yield() }
        #expect(try tablet.image("a") == content("a", 900_000))
        #expect(lookupCount.withLock { $0 } == 1)
        await cache.stop()
    }

    /// The file was copied, and then there was no space for the record.
    @Test func fileOfFailedSaveIsRemoved() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("full-\(UUID().uuidString)")
        let file = try MemoryCacheFile(assetFolder: folder)
        let container = try await TestCloud().container(
            CloudDevice.container, user: "alice", device: "phone")
        let cache = try CloudCache(memory: file, container: container)
        // The cleanup of an earlier process's files runs once.
        try await cache.cachedAssets.tidy()
        let photo = FileManager.default.temporaryDirectory
            .appendingPathComponent(UUID().uuidString)
        try content("a").write(to: photo)
        let record = CKRecord(recordType: "Photo", recordID: id("a"))
        record["image"] = CKAsset(fileURL: photo)
        file.setWriteFailure { _ in .storageFull }
        #expect(throws: CacheError.self) { try cache.save(record) }
        file.setWriteFailure(nil)
        #expect(try cache.file.assets.names().count == 1)
        try await cache.cachedAssets.tidy()
        #expect(try cache.file.assets.names() == [])
        for url in [folder, photo] { try FileManager.default.removeItem(at: url) }
    }

    /// The tablet has the first part of a photo that the phone sent.
    private func devicesWithCutDownload() async throws -> (phone: CloudDevice, tablet: CloudDevice)
    {
        let (phone, tablet) = try await CloudDevice.pair(photo: content("a", 900_000))
        try await tablet.cache.cachedAssets.tidy()
        tablet.transport.change { $0.cutsAfter = 400_000 }
        let error = await #expect(throws: CacheError.self) {
            try await tablet.cache.asset("image", of: id("a"))
        }
        #expect(error?.code == .notSynced)
        return (phone, tablet)
    }

    @Test func interruptedDownloadContinuesAfterRestart() async throws {
        let (_, tablet) = try await devicesWithCutDownload()
        try tablet.restart()
        // The incomplete file is kept, but not shown.
        try await tablet.cache.cachedAssets.tidy()
        #expect(try tablet.image("a") == nil)
        var transfers = tablet.cache.assetTransfers().makeAsyncIterator()
        let asset = try await tablet.cache.asset("image", of: id("a"))
        #expect(try Data(contentsOf: asset.fileURL) == content("a", 900_000))
        let offsets = tablet.transfers.downloadOffsets
        // From the last bytes that were certainly synced.
        #expect(offsets == [0, AssetFiles.bytesPerSync])
        let transfer = try #require(await transfers.next())
        #expect(transfer.recordID == id("a") && !transfer.isUpload)
        #expect(transfer.movedBytes > offsets[1] && transfer.totalBytes == 900_000)
    }

    /// A power failure leaves the length of the part, and zeros instead of the bytes that were not synced.
    @Test func bytesLostInAPowerFailureAreDownloadedAgain() async throws {
        let (_, tablet) = try await devicesWithCutDownload()
        let name = try #require(try tablet.assetFiles().first { $0.hasSuffix(".part") })
        let part = try FileHandle(forUpdating: tablet.cache.file.assets.url(name))
        let length = try part.seekToEnd()
        let synced = UInt64(AssetFiles.bytesPerSync)
        try #require(length > synced)
        try part.seek(toOffset: synced)
        try part.write(contentsOf: Data(count: Int(length - synced)))
        try part.close()
        try tablet.restart()
        let asset = try await tablet.cache.asset("image", of: id("a"))
        #expect(try Data(contentsOf: asset.fileURL) == content("a", 900_000))
    }

    /// After a failed sync the system may have dropped the bytes that were not on the disk.
    @Test(.timeLimit(.minutes(20))) func bytesOfAFailedSyncAreDownloadedAgain() async throws {
        let (_, tablet) = try await devicesWithCutDownload()
        let assets = tablet.cache.file.assets
        let name = try #require(try tablet.assetFiles().first { $0.hasSuffix(".part") })
        #expect(assets.trustsPart(name))
        while try !failSync(ofPart: name, in: assets) { await Task.yield() }
        #expect(!assets.trustsPart(name))
        let asset = try await tablet.cache.asset("image", of: id("a"))
        #expect(try Data(contentsOf: asset.fileURL) == content("a", 900_000))
        #expect(tablet.transfers.downloadOffsets == [0, AssetFiles.bytesPerSync])
    }

    /// Opens a part and puts a pipe, which cannot be synced, in its place.
    ///
    /// - Returns: false while a download has the part open.
    private func failSync(ofPart name: String, in assets: AssetFiles) throws -> Bool {
        guard
            let part = try assets.making({ try AssetPart(name, in: assets, sizeBytes: 900_000) })
        else { return false }
        let pipe = Pipe()
        let copy = withExtendedLifetime(pipe) {
            dup2(pipe.fileHandleForReading.fileDescriptor, part.descriptor)
        }
        try #require(copy == part.descriptor)
        #expect(throws: CacheError.self) { try part.sync() }
        return true
    }

    /// Another process removed the part while no record had the asset, and began the next one of its name.
    @Test func incompletePartOfAnotherProcessIsNotFinished() throws {
        let folder = NSTemporaryDirectory() + "assets-\(UUID().uuidString)"
        // A folder that was never created need not be removed.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let assets = AssetFiles(path: folder, world: .live)
        try assets.making {
            let part = try #require(try AssetPart("a.part", in: assets, sizeBytes: 4))
            _ = try part.append([1, 2, 3, 4])
            #expect(unlink(folder + "/a.part") == 0)
            let next = try #require(try AssetPart("a.part", in: assets, sizeBytes: 4))
            _ = try next.append([1])
            #expect(throws: CacheError.self) { try assets.finish(part, as: "a") }
            #expect(try assets.names() == ["a.part"])
            _ = try next.append([2, 3, 4])
            try assets.finish(next, as: "a")
            #expect(try assets.names() == ["a"])
        }
    }

    @Test func partialDownloadIsRemovedWithItsRecord() async throws {
        let (phone, tablet) = try await devicesWithCutDownload()
        // While a record refers to the file, the part is kept for a later download.
        for _ in 1...2 { try await tablet.cache.cachedAssets.tidy() }
        #expect(try tablet.assetFiles().count == 1)
        try phone.savePhoto("a", content("b"))
        try await phone.cache.sync()
        try await tablet.cache.sync()
        try await tablet.cache.cachedAssets.tidy()
        #expect(try tablet.assetFiles() == [])
    }

    @Test func partialDownloadIsRemovedOnceTheFileIsSavedLocally() async throws {
        let (_, tablet) = try await devicesWithCutDownload()
        // The same photo, saved from a file of the tablet.
        try tablet.savePhoto("a", content("a", 900_000))
        try await tablet.cache.sync()
        try await tablet.cache.cachedAssets.tidy()
        #expect(try tablet.assetFiles().count == 1)
        #expect(try tablet.image("a") == content("a", 900_000))
    }

    /// The downloaded file and the tablet's own file have the same bytes; only one is kept.
    @Test func downloadedFileIsRemovedOnceItsBytesAreSavedLocally() async throws {
        let (_, tablet) = try await CloudDevice.pair(photo: content("a"))
        _ = try await tablet.cache.asset("image", of: id("a"))
        try await tablet.cache.cachedAssets.tidy()
        try tablet.savePhoto("a", content("a"))
        try await tablet.cache.sync()
        try await tablet.cache.cachedAssets.tidy()
        #expect(try tablet.assetFiles().count == 1)
        #expect(try tablet.image("a") == content("a"))
    }

    @Test func concurrentRequestsForAFileDownloadItOnce() async throws {
        let (_, tablet) = try await CloudDevice.pair(photo: content("a", 900_000))
        let cache = tablet.cache
        let id = id("a")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { _ = try await cache.asset("image", of: id) } }
            try await group.waitForAll()
        }
        #expect(tablet.transfers.downloadOffsets == [0])
    }

    @Test func leastRecentlyUsedFileIsRemovedFirst() async throws {
        let cloud = TestCloud()
        let time = TestTime()
        var settings = AssetSettings()
        settings.limitBytes = 2_500
        settings.setPolicy(.always, forField: "thumbnail", ofType: "Photo")
        let phone = try await CloudDevice(cloud, "phone", time: time, assets: settings)
        for name in ["a", "b", "c"] {
            try phone.savePhoto(name, content(name))
            time.advance(milliseconds: 60_000)
        }
        // The files are not at the service yet, so all of them stay, whatever the limit is.
        time.advance(milliseconds: 3_600_000)
        try await phone.cache.cachedAssets.tidy()
        #expect(try phone.assetFiles().count == 3)
        try phone.savePhoto("d", content("d"), field: "thumbnail")
        try await phone.cache.sync()
        time.advance(milliseconds: 3_600_000)
        // One file was used a moment ago, and one is in use.
        #expect(try phone.image("a") == content("a"))
        time.advance(milliseconds: 3_600_000)
        let open: CKAsset? = try phone.photo("b")?["image"]
        _ = open?.fileURL
        time.advance(milliseconds: 3_600_000)
        try await phone.cache.cachedAssets.tidy()
        #expect(try phone.image("c") == nil)
        #expect(try phone.image("a") == nil)
        #expect(try open.map { try Data(contentsOf: $0.fileURL) } == content("b"))
        #expect(try phone.image("d", field: "thumbnail") == content("d"))
        // The file is downloaded again on request.
        let asset = try await phone.cache.asset("image", of: id("c"))
        #expect(try Data(contentsOf: asset.fileURL) == content("c"))
    }

    @Test func recentlyUsedFileIsKeptForOtherProcesses() async throws {
        let time = TestTime()
        var settings = AssetSettings()
        settings.limitBytes = 0
        let phone = try await CloudDevice(TestCloud(), "phone", time: time, assets: settings)
        try phone.savePhoto("a", content("a"))
        try await phone.cache.sync()
        try await phone.cache.cachedAssets.tidy()
        #expect(try phone.assetFiles().count == 1)
        time.advance(milliseconds: 601_000)
        try await phone.cache.cachedAssets.tidy()
        #expect(try phone.assetFiles().isEmpty)
    }

    @Test func fileIsRemovedWithItsLastReference() async throws {
        let phone = try await CloudDevice(TestCloud(), "phone")
        try phone.savePhoto("a", content("same"))
        try phone.savePhoto("b", content("same"))
        try await phone.cache.sync()
        #expect(try phone.assetFiles().count == 1)
        try await phone.cache.delete(id("a"))
        try await phone.cache.sync()
        try await phone.cache.cachedAssets.tidy()
        #expect(try phone.image("b") == content("same"))
        // The photo is replaced but not sent: the base of the pending change still uses the former file.
        try phone.savePhoto("b", content("new"))
        try await phone.cache.cachedAssets.tidy()
        #expect(try phone.assetFiles().count == 2)
        try await phone.cache.sync()
        try await phone.cache.cachedAssets.tidy()
        #expect(try phone.assetFiles().count == 1)
        try await phone.cache.deleteZone(.list)
        try await phone.cache.cachedAssets.tidy()
        #expect(try phone.assetFiles().isEmpty)
    }

    @Test func fileIsKeptWhileAReportRefersToIt() async throws {
        let (phone, tablet) = try await CloudDevice.pair(photo: content("old"))
        try phone.savePhoto("a", content("new"))
        try await tablet.cache.delete(id("a"))
        try await tablet.cache.sync()
        try await phone.cache.sync()
        #expect(try phone.photo("a") == nil)
        try await phone.cache.cachedAssets.tidy()
        let report = try await #require(try phone.cache.reports().first)
        guard case .editOfDeletedRecord(let client) = report.event else {
            Issue.record("Another report: \(report)")
            return
        }
        let lost: CKAsset? = client["image"]
        #expect(try lost.map { try Data(contentsOf: $0.fileURL) } == content("new"))
        // The person wants the lost photo back.
        let again = CKRecord(recordType: "Photo", recordID: id("again"))
        again["image"] = lost
        try await phone.cache.save(again)
        try await phone.cache.acknowledge([report])
        try await phone.cache.sync()
        try await phone.cache.cachedAssets.tidy()
        #expect(try phone.image("again") == content("new"))
        #expect(try phone.assetFiles().count == 1)
    }

    @Test func orphansAreRemovedAtOpening() async throws {
        let phone = try await CloudDevice(TestCloud(), "phone")
        try phone.savePhoto("a", content("a"))
        for name in ["/0123", "/4567.new", "/d89.part"] {
            let path = phone.cache.file.assets.path + name
            try content("orphan").write(to: URL(fileURLWithPath: path))
        }
        try phone.restart()
        try await phone.cache.cachedAssets.tidy()
        #expect(try phone.assetFiles().count == 1)
        #expect(try phone.image("a") == content("a"))
    }

    /// The service may delete a detached zone at any time: then the files here are the last ones.
    @Test func fileOfADetachedZoneIsNotRemoved() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        let bytes = content("a")
        try tablet.savePhoto("a", bytes)
        for device in [tablet, phone] { try await device.cache.sync() }
        _ = try await phone.cache.asset("image", of: id("a"))
        try await phone.cache.detachZone(CKRecordZone.ID.list)
        try await tablet.cache.deleteZone(CKRecordZone.ID.list)
        for device in [tablet, phone] { try await device.cache.sync() }
        try await phone.cache.removeDownloadedAssets()
        #expect(try phone.image("a") == bytes)
        try await phone.cache.attachZone(CKRecordZone.ID.list)
        for device in [phone, tablet] { try await device.cache.sync() }
        let asset = try await tablet.cache.asset("image", of: id("a"))
        #expect(try Data(contentsOf: asset.fileURL) == bytes)
    }
}
