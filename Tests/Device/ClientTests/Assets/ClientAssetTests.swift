import Foundation
import StratusClient
import StratusRecords
import StratusTesting
import StratusWire
import Testing

/// Assets against a whole service: uploads and downloads, and that nothing is transferred without need.
@Suite struct ClientAssetTests {
    private let cloud = TestCloud()
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    private func device(_ name: String) async throws -> (CKDatabase, TappedTransport) {
        try await cloud.tappedDevice(name)
    }

    private func bytes(_ asset: Any?) throws -> [UInt8] {
        let url = try #require((asset as? CKAsset)?.fileURL)
        return [UInt8](try Data(contentsOf: url))
    }

    @discardableResult
    private func saved(on database: CKDatabase, bytes count: Int = 700_000) async throws -> CKRecord
    {
        let record = hut("a")
        record["photo"] = CKAsset(fileURL: try scratch.file("photo", bytes: count))
        record["name"] = "Gipfel"
        return try await database.save(record)
    }

    @Test func savedAssetIsFetchedOnAnotherDevice() async throws {
        let (phone, _) = try await device("phone")
        let (tablet, _) = try await device("tablet")
        let record = try await saved(on: phone)
        #expect(record.changedKeys().isEmpty)
        #expect((record["photo"] as? CKAsset)?.fileURL?.lastPathComponent == "photo")

        let first = try await tablet.record(for: record.recordID)
        let second = try await tablet.record(for: record.recordID)
        #expect(try bytes(first["photo"]) == content(700_000))
        #expect(try bytes(second["photo"]) == content(700_000))
        let urls = [first, second].map { ($0["photo"] as? CKAsset)?.fileURL }
        #expect(urls[0] != urls[1] && urls[0] != nil)

        let changes = try await tablet.recordZoneChanges(inZoneWith: trips, since: nil)
        let changed = try changes.modificationResultsByID[record.recordID]?.get().record
        #expect(try bytes(changed?["photo"]) == content(700_000))
        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(value: true))
        let match = try await tablet.records(matching: query, inZoneWith: trips).matchResults.first
        #expect(try bytes(try match?.1.get()["photo"]) == content(700_000))
        let many = try await tablet.records(for: [record.recordID])
        #expect(try bytes(try many[record.recordID]?.get()["photo"]) == content(700_000))
    }

    @Test func emptyFileIsUploadedAsAsset() async throws {
        let (phone, _) = try await device("phone")
        let record = try await saved(on: phone, bytes: 0)
        #expect(try bytes(try await phone.record(for: record.recordID)["photo"]).isEmpty)
    }

    @Test func assetListKeepsOrder() async throws {
        let (phone, transport) = try await device("phone")
        let record = hut("a")
        record["photos"] = try (0..<9).map {
            CKAsset(fileURL: try scratch.file("photo-\($0)", bytes: 300 + $0, seed: UInt8($0)))
        }
        try await phone.save(record)
        #expect(transport.counts.uploads == 9)
        let fetched = try await phone.record(for: record.recordID)
        let photos = try #require(fetched["photos"] as? [CKAsset])
        #expect(photos.count == 9)
        for (index, photo) in photos.enumerated() {
            #expect(try bytes(photo) == content(300 + index, seed: UInt8(index)))
        }
    }

    @Test func assetOutsideDesiredKeysIsNotDownloaded() async throws {
        let (phone, transport) = try await device("phone")
        let record = try await saved(on: phone)
        let results = try await phone.records(for: [record.recordID], desiredKeys: ["name"])
        #expect(try results[record.recordID]?.get()["name"] as? String == "Gipfel")
        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(value: true))
        _ = try await phone.records(matching: query, inZoneWith: trips, desiredKeys: [])
        _ = try await phone.recordZoneChanges(
            inZoneWith: trips, since: nil, desiredKeys: ["name"])
        let cached = try await phone.withoutAssetDownloads.recordZoneChanges(
            inZoneWith: trips, since: nil)
        let bare = try cached.modificationResultsByID[record.recordID]?.get().record
        #expect(bare?["photo"] is CKAsset && (bare?["photo"] as? CKAsset)?.fileURL == nil)
        #expect(transport.counts.downloads == 0)
        _ = try await phone.records(for: [record.recordID], desiredKeys: ["photo"])
        #expect(transport.counts.downloads == 1)
    }

    @Test func fetchedAssetIsSavedWithoutUpload() async throws {
        let (phone, _) = try await device("phone")
        let (tablet, transport) = try await device("tablet")
        try await saved(on: phone)
        let record = try await tablet.record(for: hut("a").recordID)
        let file = (record["photo"] as? CKAsset)?.fileURL
        record["name"] = "Gipfelblick"
        try await tablet.save(record)
        record["second"] = record["photo"]
        for policy in [CKModifyRecordsOperation.RecordSavePolicy.allKeys, .changedKeys] {
            record["name"] = "\(policy)"
            let results = try await tablet.modifyRecords(
                saving: [record], deleting: [], savePolicy: policy)
            _ = try results.saveResults[record.recordID]?.get()
        }
        #expect(transport.counts.uploads == 0)
        #expect((record["photo"] as? CKAsset)?.fileURL == file)
        let again = try await phone.record(for: record.recordID)
        #expect(try bytes(again["photo"]) == content(700_000))
        #expect(try bytes(again["second"]) == content(700_000))
    }

    @Test func uploadedFileMayBeDeleted() async throws {
        let (phone, transport) = try await device("phone")
        let record = try await saved(on: phone)
        let file = try #require((record["photo"] as? CKAsset)?.fileURL)
        let copy = try #require(
            try NSKeyedUnarchiver.unarchivedObject(
                ofClass: CKRecord.self,
                from: try NSKeyedArchiver.archivedData(
                    withRootObject: record, requiringSecureCoding: true)))
        try FileManager.default.removeItem(at: file)
        for record in [record, copy] {
            record["name"] = "Gipfelblick"
            let results = try await phone.modifyRecords(
                saving: [record], deleting: [], savePolicy: .allKeys)
            _ = try results.saveResults[record.recordID]?.get()
        }
        #expect(transport.counts.uploads == 1)
        let fetched = try await phone.record(for: record.recordID)
        #expect(try bytes(fetched["photo"]) == content(700_000))
        // In another record the asset would need its file.
        let other = hut("b")
        other["photo"] = record["photo"]
        await #expect(throws: CKError(.assetFileNotFound)) { try await phone.save(other) }
    }

    @Test func modifiedFileIsUploadedAgain() async throws {
        let (phone, _) = try await device("phone")
        let record = try await saved(on: phone)
        _ = try scratch.file("photo", bytes: 20, seed: 3)
        let results = try await phone.modifyRecords(
            saving: [record], deleting: [], savePolicy: .allKeys)
        _ = try results.saveResults[record.recordID]?.get()
        let fetched = try await phone.record(for: record.recordID)
        #expect(try bytes(fetched["photo"]) == content(20, seed: 3))
    }

    @Test func fetchedAssetIsUploadedForAnotherRecord() async throws {
        let (phone, transport) = try await device("phone")
        try await saved(on: phone)
        let record = try await phone.record(for: hut("a").recordID)
        let other = hut("b")
        other["photo"] = record["photo"]
        try await phone.save(other)
        #expect(transport.counts.uploads == 2)
        #expect(try bytes(try await phone.record(for: other.recordID)["photo"]).count == 700_000)
        // Without its file it cannot be uploaded.
        let bare = try #require(
            try NSKeyedUnarchiver.unarchivedObject(
                ofClass: CKRecord.self,
                from: try NSKeyedArchiver.archivedData(
                    withRootObject: record, requiringSecureCoding: true)))
        #expect((bare["photo"] as? CKAsset)?.fileURL == nil)
        let third = hut("c")
        third["photo"] = bare["photo"]
        await #expect(throws: CKError(.assetNotAvailable)) { try await phone.save(third) }
    }

    @Test func saveDownloadsAssetChangedByOtherDevice() async throws {
        let (phone, _) = try await device("phone")
        let (tablet, _) = try await device("tablet")
        let mine = try await saved(on: phone)
        let theirs = try await tablet.record(for: mine.recordID)
        theirs["photo"] = CKAsset(fileURL: try scratch.file("new", bytes: 50, seed: 99))
        try await tablet.save(theirs)
        mine["name"] = "mine"
        _ = try await phone.modifyRecords(
            saving: [mine], deleting: [], savePolicy: .changedKeys)
        #expect(try bytes(mine["photo"]) == content(50, seed: 99))
    }

    @Test func settingNilRemovesAsset() async throws {
        let (phone, _) = try await device("phone")
        let record = try await saved(on: phone)
        record["photo"] = nil
        try await phone.save(record)
        #expect(try await phone.record(for: record.recordID).allKeys() == ["name"])
    }

    // MARK: Failures

    @Test func missingAssetFileFailsAtomicBatch() async throws {
        let (phone, transport) = try await device("phone")
        let missing = hut("missing")
        missing["photo"] = CKAsset(fileURL: scratch.folder.appendingPathComponent("nothing"))
        let folder = hut("folder")
        folder["photo"] = CKAsset(fileURL: scratch.folder)
        let good = hut("good")
        good["photo"] = CKAsset(fileURL: try scratch.file("photo", bytes: 10))
        let atomic = try await phone.modifyRecords(
            saving: [missing, folder, good], deleting: [hut("gone").recordID])
        #expect(throws: CKError(.assetFileNotFound)) {
            try atomic.saveResults[missing.recordID]?.get()
        }
        #expect(throws: CKError(.assetNotAvailable)) {
            try atomic.saveResults[folder.recordID]?.get()
        }
        #expect(throws: CKError(.batchRequestFailed)) {
            try atomic.saveResults[good.recordID]?.get()
        }
        #expect(throws: CKError(.batchRequestFailed)) {
            try atomic.deleteResults[hut("gone").recordID]?.get()
        }
        #expect(transport.counts.uploads == 0)
        let separate = try await phone.modifyRecords(
            saving: [missing, good], deleting: [], atomically: false)
        _ = try separate.saveResults[good.recordID]?.get()
        #expect(throws: CKError(.assetFileNotFound)) {
            try separate.saveResults[missing.recordID]?.get()
        }
    }

    @Test func fileModifiedBeforeUploadFailsSave() async throws {
        let (phone, transport) = try await device("phone")
        let url = try scratch.file("photo", bytes: 10)
        transport.tap {
            $0.request = { request in
                if request is AssetsUpload.Request { try Data(content(11)).write(to: url) }
            }
        }
        let record = hut("a")
        record["photo"] = CKAsset(fileURL: url)
        await #expect(throws: CKError(.assetFileModified)) { try await phone.save(record) }
        #expect(transport.counts.uploads == 0)
    }

    @Test func fileMayChangeDuringUpload() async throws {
        let (phone, transport) = try await device("phone")
        let url = try scratch.file("photo", bytes: 10)
        transport.tap { $0.upload = { try Data(content(500)).write(to: url) } }
        let record = hut("a")
        record["photo"] = CKAsset(fileURL: url)
        try await phone.save(record)
        #expect(try bytes(try await phone.record(for: record.recordID)["photo"]) == content(10))
    }

    @Test func missingAssetFailsItsRecordOnly() async throws {
        let (phone, transport) = try await device("phone")
        let record = try await saved(on: phone)
        let plain = try await phone.save(hut("plain"))
        transport.tap {
            $0.download = { throw ServiceFailure(ServiceError(.notFound, "No such asset.")) }
        }
        let results = try await phone.records(for: [record.recordID, plain.recordID])
        _ = try results[plain.recordID]?.get()
        #expect(throws: CKError(.assetNotAvailable)) { try results[record.recordID]?.get() }
        let changes = try await phone.recordZoneChanges(inZoneWith: trips, since: nil)
        #expect(throws: CKError(.assetNotAvailable)) {
            try changes.modificationResultsByID[record.recordID]?.get()
        }
    }

    @Test func lostDownloadIsRetriedDependingOnQualityOfService() async throws {
        let (phone, transport) = try await device("phone")
        let record = try await saved(on: phone)
        let failures = Log()
        transport.tap {
            $0.download = {
                failures.add("download")
                if failures.all.count < 3 { throw TransportError(.answerLost, "Cut off.") }
            }
        }
        await #expect(throws: CKError(.serverResponseLost)) {
            try await phone.record(for: record.recordID)
        }
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .utility
        let fetched = try await phone.configuredWith(configuration: configuration) {
            try await $0.record(for: record.recordID)
        }
        #expect(try bytes(fetched["photo"]) == content(700_000))
        #expect(failures.all.count == 3)
    }

    // MARK: Progress

    @Test func transferProgressRisesToOne() async throws {
        let (phone, transport) = try await device("phone")
        let record = hut("a")
        record["photo"] = CKAsset(fileURL: try scratch.file("photo", bytes: 900_000))
        let sent = Log()
        let save = CKModifyRecordsOperation(recordsToSave: [record, hut("b")])
        save.perRecordProgressBlock = { record, part in
            sent.add("\(record.recordID.recordName) \(part)")
        }
        await run(save, on: phone)
        expectRising(sent.all.filter { $0.hasPrefix("a ") }.compactMap { Double($0.dropFirst(2)) })
        #expect(sent.all.filter { $0.hasPrefix("b ") } == ["b 1.0"])

        let received = Log()
        let fetch = CKFetchRecordsOperation(recordIDs: [record.recordID])
        fetch.perRecordProgressBlock = { _, part in received.add("\(part)") }
        await run(fetch, on: phone)
        expectRising(received.all.compactMap { Double($0) })
        #expect((1...262_144).contains(transport.counts.largestPiece))
    }

    private func expectRising(_ parts: [Double]) {
        #expect(parts.count >= 3 && parts.last == 1, "\(parts)")
        #expect(parts == parts.sorted() && parts.allSatisfy { (0...1).contains($0) }, "\(parts)")
    }

    @Test func cancelStopsAssetUpload() async throws {
        let (phone, transport) = try await device("phone")
        let record = hut("a")
        record["photo"] = CKAsset(fileURL: try scratch.file("photo", bytes: 10))
        let (begun, began) = AsyncStream<Void>.makeStream()
        transport.tap {
            $0.upload = {
                began.finish()
                try await Task.sleep(for: .seconds(3_600))
            }
        }
        let log = Log()
        let save = CKModifyRecordsOperation(recordsToSave: [record])
        save.modifyRecordsResultBlock = { result in
            if case .failure(let error) = result {
                log.add("\((error as? CKError)?.code == .operationCancelled)")
            }
        }
        async let finished: Void = run(save, on: phone)
        for await _ in begun {}
        save.cancel()
        await finished
        #expect(log.all == ["true"])
        #expect(record.recordChangeTag == nil)
    }

    // MARK: Archives

    @Test func archivedRecordKeepsAssets() async throws {
        let (phone, _) = try await device("phone")
        let record = try await saved(on: phone)
        record["photo"] = CKAsset(fileURL: try scratch.file("second", bytes: 20, seed: 1))
        record["extra"] = [CKAsset(fileURL: try scratch.file("extra", bytes: 30, seed: 2))]
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: record, requiringSecureCoding: true)
        let copy = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
        #expect(copy.changedKeys() == ["extra", "photo"])
        try await phone.save(copy)
        let fetched = try await phone.record(for: record.recordID)
        #expect(try bytes(fetched["photo"]) == content(20, seed: 1))
        #expect(try bytes((fetched["extra"] as? [CKAsset])?.first) == content(30, seed: 2))

        // A fetched asset that was archived can be saved, although it has no file.
        let kept = try #require(
            try NSKeyedUnarchiver.unarchivedObject(
                ofClass: CKRecord.self,
                from: try NSKeyedArchiver.archivedData(
                    withRootObject: fetched, requiringSecureCoding: true)))
        let results = try await phone.modifyRecords(
            saving: [kept], deleting: [], savePolicy: .allKeys)
        _ = try results.saveResults[kept.recordID]?.get()
        #expect(try bytes(kept["photo"]) == content(20, seed: 1))
    }
}
