import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import StratusWire
import Testing

@testable import StratusCache

/// Files of assets in the cache, over the service.
@Suite struct CacheAssetTests {
    private let first = CloudDevice.bytes("first", count: 700_000)
    private let second = CloudDevice.bytes("second")

    @Test func assetSavedOfflineReachesOtherDevice() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        try phone.savePhoto("a", first)
        // The app's own file is gone, and the cache's copy remains, also after a restart.
        try phone.restart()
        #expect(try phone.image("a") == first)
        try await phone.cache.sync()
        #expect(phone.transfers.uploads == 1)
        #expect(try phone.image("a") == first)
        try await tablet.cache.sync()
        #expect(try tablet.image("a") == nil)
        let id = CKRecord.ID(recordName: "a", zoneID: .list)
        let asset = try await tablet.cache.asset("image", of: id)
        #expect(try Data(contentsOf: asset.fileURL) == first)
        #expect(try tablet.image("a") == first)
        let mode = try FileManager.default.attributesOfItem(atPath: asset.fileURL.path)
        #expect(mode[.posixPermissions] as? Int == 0o600)
        let folder = try FileManager.default.attributesOfItem(
            atPath: asset.fileURL.deletingLastPathComponent().path)
        #expect(folder[.posixPermissions] as? Int == 0o700)
    }

    @Test func unchangedAssetIsUploadedOnce() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        let record = try phone.savePhoto("a", first)
        try await phone.cache.sync()
        // An edit of another field, all fields from a new object, and the same content from another file.
        record["text"] = "one"
        try await phone.cache.save(record)
        let again = try #require(try phone.photo("a"))
        again["image"] = again["image"] as CKAsset?
        again["text"] = "two"
        try await phone.cache.save(again)
        try await phone.cache.sync()
        try phone.savePhoto("a", first)
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        // The same content in another record of the zone.
        try phone.savePhoto("b", first)
        try await phone.cache.sync()
        #expect(phone.transfers.uploads == 1)
        try await tablet.cache.sync()
        let b = CKRecord.ID(recordName: "b", zoneID: .list)
        let asset = try await tablet.cache.asset("image", of: b)
        #expect(try Data(contentsOf: asset.fileURL) == first)
        #expect(try tablet.photo("a")?["text"] == "two")
        try phone.savePhoto("a", second)
        try await phone.cache.sync()
        #expect(phone.transfers.uploads == 2)
    }

    /// The date of an edited file is that of the edit, not that of its upload.
    @Test(arguments: [true, false])
    func laterPhotoWinsInEitherSyncOrder(isOlderSentFirst: Bool) async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        let record = CKRecord(
            recordType: "Photo", recordID: CKRecord.ID(recordName: "a", zoneID: .list))
        record["text"] = "one"
        try await phone.cache.save(record)
        try await phone.cache.sync()
        try await tablet.cache.sync()
        // Both edits are made offline; in one order the older one is sent after the later one.
        try phone.savePhoto("a", first)
        try tablet.savePhoto("a", second)
        let devices = isOlderSentFirst ? [phone, tablet] : [tablet, phone]
        for device in devices + devices { try await device.cache.sync() }
        for device in devices {
            let asset = try await device.cache.asset("image", of: record.recordID)
            #expect(try Data(contentsOf: asset.fileURL) == second)
        }
    }

    @Test func listOfAssetsKeepsItsOrder() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        let files = try [first, second].map { content in
            let url = FileManager.default.temporaryDirectory.appendingPathComponent(
                UUID().uuidString)
            try content.write(to: url)
            return url
        }
        defer { for file in files { unlink(file.path) } }
        let id = CKRecord.ID(recordName: "album", zoneID: .list)
        let album = CKRecord(recordType: "Album", recordID: id)
        album["pages"] = files.map { CKAsset(fileURL: $0) }
        try await phone.cache.save(album)
        try await phone.cache.sync()
        try await tablet.cache.sync()
        let pages = try await tablet.cache.assets("pages", of: id)
        #expect(try pages.map { try Data(contentsOf: $0.fileURL) } == [first, second])
    }

    /// Without a network the upload waits; a completed upload is not repeated.
    @Test func lostUploadIsRetriedAfterRestart() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        try phone.savePhoto("a", first)
        phone.transport.change { $0.losesUpload = true }
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(try await phone.cache.pendingRecordIDs().count == 1)
        try phone.restart()
        try await phone.cache.sync()
        #expect(phone.transfers.uploads == 1)
        #expect(try await phone.cache.attentionItems().isEmpty)
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    /// The field of times belongs to the record, which was not sent yet, so it cannot be the cause of the refusal.
    @Test func refusedUploadKeepsTheRecordsFieldTimes() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        try phone.savePhoto("a", first)
        cloud.faults(on: "phone").next(
            of: AssetsUpload.self, .answer(.badRequest, frameworkCode: .invalidArguments))
        try await phone.cache.sync()
        let id = RecordID(name: "a", zoneID: .list)
        #expect(try phone.cache.snapshot(id)?[FieldWise.defaultFieldTimesKey] != nil)
        #expect(try await phone.cache.attentionItems().map(\.recordID.recordName) == ["a"])
        try await phone.cache.retryAttentionItems()
        try await phone.cache.sync()
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        #expect(try phone.cache.snapshot(id)?[FieldWise.defaultFieldTimesKey] != nil)
    }

    /// A long time may pass between the upload and the save.
    private func uploadPhotoWithoutSaving(_ phone: CloudDevice) async throws {
        try phone.savePhoto("a", first)
        // The zone is created, and the upload finds no network.
        phone.transport.change { $0.losesUpload = true }
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        await phone.cache.stop()
        try await phone.cache.databases[0].driver.uploadAssets()
        #expect(phone.transfers.uploads == 1)
    }

    @Test func expiredReceiptIsUploadedAgain() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        try await uploadPhotoWithoutSaving(phone)
        try await phone.cache.file.pool.write { database in
            try database.execute(sql: "UPDATE assetReceipt SET receipt = 'old'")
        }
        try await phone.cache.sync()
        #expect(phone.transfers.uploads == 2)
        #expect(try await phone.cache.attentionItems().isEmpty)
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        try await tablet.cache.sync()
        let id = CKRecord.ID(recordName: "a", zoneID: .list)
        #expect(try Data(contentsOf: await tablet.cache.asset("image", of: id).fileURL) == first)
    }

    /// An earlier failure of the record does not count against its receipt, whether the receipt ended early or was kept
    /// too long.
    @Test(arguments: [Int64(2), 21])
    func expiredReceiptOfARecordThatFailedBeforeIsUploadedAgain(_ ageHours: Int64) async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        try await uploadPhotoWithoutSaving(phone)
        try await phone.cache.file.pool.write { database in
            try database.execute(
                sql: "UPDATE assetReceipt SET receipt = 'old', time = time - ?",
                arguments: [ageHours * 3_600_000])
            try database.execute(sql: "UPDATE pending SET attempts = 1")
        }
        try await phone.cache.sync()
        #expect(phone.transfers.uploads == 2)
        #expect(try await phone.cache.attentionItems().isEmpty)
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    @Test func assetOfAnotherRecordIsCopiedOnceDownloaded() async throws {
        let (phone, tablet) = try await CloudDevice.pair(photo: first)
        let copy = CKRecord(
            recordType: "Photo", recordID: CKRecord.ID(recordName: "copy", zoneID: .list))
        copy["image"] = try #require(try tablet.photo("a"))["image"] as CKAsset?
        let error = #expect(throws: CacheError.self) { try tablet.cache.save(copy) }
        #expect(error?.code == .assetNotHere)
        let id = CKRecord.ID(recordName: "a", zoneID: .list)
        copy["image"] = try await tablet.cache.asset("image", of: id)
        try await tablet.cache.save(copy)
        try await tablet.cache.sync()
        #expect(try await tablet.cache.attentionItems().isEmpty)
        try await phone.cache.sync()
        let asset = try await phone.cache.asset("image", of: copy.recordID)
        #expect(try Data(contentsOf: asset.fileURL) == first)
    }

    @Test func twoDevicesChangeTheSameImageAndOneWins() async throws {
        let (phone, tablet) = try await CloudDevice.pair(photo: CloudDevice.bytes("old"))
        try phone.savePhoto("a", first)
        try tablet.savePhoto("a", second)
        try await phone.cache.sync()
        try await tablet.cache.sync()
        try await phone.cache.sync()
        let id = CKRecord.ID(recordName: "a", zoneID: .list)
        let onPhone = try await phone.cache.asset("image", of: id)
        let onTablet = try await tablet.cache.asset("image", of: id)
        #expect(try Data(contentsOf: onPhone.fileURL) == Data(contentsOf: onTablet.fileURL))
        // The photo that lost is in a report, with its file.
        for device in [phone, tablet] {
            try await device.cache.cachedAssets.tidy()
            for report in try await device.cache.reports() {
                guard case .editOverruled(let client, _, _) = report.event else { continue }
                let lost: CKAsset? = client["image"]
                #expect(
                    lost?.fileURL.map { FileManager.default.fileExists(atPath: $0.path) } == true)
            }
        }
    }

    @Test func missingFileRefusesTheSave() async throws {
        let phone = try await CloudDevice(TestCloud(), "phone")
        let record = CKRecord(
            recordType: "Photo", recordID: CKRecord.ID(recordName: "a", zoneID: .list))
        record["image"] = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere/at/all"))
        let error = #expect(throws: CacheError.self) { try phone.cache.save(record) }
        #expect(error?.code == .assetUnreadable)
        #expect(try phone.photo("a") == nil)
        #expect(try phone.assetFiles().isEmpty)
    }

    /// Unused files are removed in the background, so no caller gets the error.
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

    @Test func fullDiskIsStorageFull() throws {
        let full = open("/dev/full", O_WRONLY)
        defer { close(full) }
        let error = #expect(throws: CacheError.self) {
            try AssetFiles.write([1, 2, 3], to: full)
        }
        #expect(error?.code == .storageFull)
    }
}

extension CloudDevice {
    var transfers: FaultyTransport.Transfers { transport.transfers }
}
