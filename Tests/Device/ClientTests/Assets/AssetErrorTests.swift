import Foundation
import StratusRecords
import StratusTesting
import StratusWire
import Synchronization
import Testing

@testable import StratusClient

/// Assets whose addresses expire, whose sizes are wrong, and which arrive late.
@Suite(.timeLimit(.minutes(20))) struct AssetErrorTests {
    private let clock = TestClock()
    private let cloud: TestCloud
    private let scratch: Scratch

    init() throws {
        cloud = TestCloud(clock: clock)
        scratch = try Scratch()
    }

    private func device(_ name: String) async throws -> (CKDatabase, TappedTransport) {
        try await cloud.tappedDevice(name)
    }

    private func saved(_ name: String, on database: CKDatabase) async throws -> CKRecord {
        let record = hut(name)
        let url = try scratch.file(name, bytes: 100)
        record["photos"] = [CKAsset(fileURL: url), CKAsset(fileURL: url)]
        return try await database.save(record)
    }

    /// A flag that is set until it is taken.
    private final class Flag: Sendable {
        private let isSet = Mutex(true)

        func set() { isSet.withLock { $0 = true } }

        func take() -> Bool {
            isSet.withLock { isSet in
                defer { isSet = false }
                return isSet
            }
        }
    }

    private func files(of record: CKRecord?) throws -> [Data] {
        try #require(record?["photos"] as? [CKAsset]).map {
            try Data(contentsOf: try #require($0.fileURL))
        }
    }

    private func photoChecksum(
        of id: CKRecord.ID, on database: CKDatabase
    ) async throws -> String {
        let bare = try await database.withoutAssetDownloads.record(for: id)
        let photos = try #require(bare["photos"] as? [CKAsset])
        return try #require(photos.first?.stored?.fileChecksum)
    }

    // MARK: Addresses

    @Test func expiredDownloadURLIsRenewed() async throws {
        let (phone, transport) = try await device("phone")
        let record = try await saved("a", on: phone)
        let isLate = Flag()
        transport.tap {
            // The address expires, as it may for the last of many downloads.
            $0.download = { [clock] in if isLate.take() { clock.advance(bySeconds: 3_601) } }
        }
        let changes = try await phone.recordZoneChanges(inZoneWith: trips, since: nil)
        let changed = try changes.modificationResultsByID[record.recordID]?.get().record
        #expect(try files(of: changed) == [Data(content(100)), Data(content(100))])
        #expect(transport.counts.downloads > 2)
        // Also when the record itself is fetched.
        isLate.set()
        #expect(try files(of: try await phone.record(for: record.recordID)).count == 2)
    }

    @Test func assetReplacedDuringDownloadIsNotAvailable() async throws {
        let (phone, transport) = try await device("phone")
        let (tablet, _) = try await device("tablet")
        let record = try await saved("a", on: phone)
        let mine = try await tablet.record(for: record.recordID)
        mine["photos"] = [CKAsset(fileURL: try scratch.file("new", bytes: 100, seed: 9))]
        let isFirst = Flag()
        transport.tap {
            $0.download = { [clock] in
                guard isFirst.take() else { return }
                _ = try await tablet.save(mine)
                clock.advance(bySeconds: 3_601)
            }
        }
        let changes = try await phone.recordZoneChanges(inZoneWith: trips, since: nil)
        #expect(throws: CKError(.assetNotAvailable)) {
            try changes.modificationResultsByID[record.recordID]?.get()
        }
        // The replacement comes with the next changes.
        let next = try await phone.recordZoneChanges(inZoneWith: trips, since: changes.changeToken)
        let seen = try next.modificationResultsByID[record.recordID]?.get().record
        #expect(try files(of: seen) == [Data(content(100, seed: 9))])
    }

    /// The zone is busy when the record is looked up for the asset's current address.
    @Test func refusedLookupDoesNotMeanThatTheAssetIsGone() async throws {
        let (phone, transport) = try await device("phone")
        let id = try await saved("a", on: phone).recordID
        let checksum = try await photoChecksum(of: id, on: phone)
        transport.tap {
            $0.answer = { request, answer in
                guard request is RecordsLookup.Request else { return answer }
                return RecordsLookup.Answer(records: [
                    refused("a", ServiceError(.zoneBusy, "The zone is busy."))
                ])
            }
            $0.download = { throw ServiceFailure(ServiceError(.notFound, "The address expired.")) }
        }
        await #expect(throws: CKError(.zoneBusy)) {
            try await phone.downloadAsset(
                checksum, of: id, fieldName: "photos", startingAt: 0
            ) { _ in }
        }
        #expect(transport.counts.downloads == 0)
        await #expect(throws: CKError(.zoneBusy)) {
            try await phone.orderedChanges(inZoneWith: trips, since: nil)
        }
        #expect(transport.counts.downloads > 0)
    }

    /// The record was deleted since.
    @Test func assetOfADeletedRecordIsNotAvailable() async throws {
        let (phone, _) = try await device("phone")
        let id = try await saved("a", on: phone).recordID
        let checksum = try await photoChecksum(of: id, on: phone)
        try await phone.deleteRecord(withID: id)
        await #expect(throws: CKError(.assetNotAvailable)) {
            try await phone.downloadAsset(
                checksum, of: id, fieldName: "photos", startingAt: 0
            ) { _ in }
        }
    }

    @Test func operationReportsAssetThatIsNotAvailable() async throws {
        let (phone, transport) = try await device("phone")
        let record = try await saved("a", on: phone)
        transport.tap {
            $0.download = { throw ServiceFailure(ServiceError(.notFound, "No such asset.")) }
        }
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [trips])
        let errors = Kept<CKError.Code?>()
        operation.recordWasChangedBlock = { recordID, result in
            #expect(recordID == record.recordID)
            switch result {
            case .success: errors.add(nil)
            case .failure(let error): errors.add((error as? CKError)?.code)
            }
        }
        await run(operation, on: phone)
        #expect(errors.all == [.assetNotAvailable])
    }

    /// Otherwise the fetch would never get past this page.
    @Test func orderedChangesReturnRecordWithoutLostAsset() async throws {
        let (phone, transport) = try await device("phone")
        let record = try await saved("a", on: phone)
        try await phone.save(hut("b"))
        transport.tap {
            $0.download = { throw ServiceFailure(ServiceError(.notFound, "No such asset.")) }
        }
        let page = try await phone.orderedChanges(inZoneWith: trips, since: nil)
        #expect(page.modifications.map(\.record.recordID.recordName) == ["a", "b"])
        let photos = try #require(page.modifications.first?.record["photos"] as? [CKAsset])
        #expect(photos.map { $0.fileURL == nil } == [true, true])
        // A temporary failure is no reason to return the record without its asset.
        transport.tap { $0.download = { throw TransportError(.answerLost, "Cut off.") } }
        await #expect(throws: CKError(.serverResponseLost)) {
            try await phone.orderedChanges(inZoneWith: trips, since: nil)
        }
        #expect(record.recordChangeTag != nil)
    }

    @Test func slowDownloadDoesNotDelayEarlierZone() async throws {
        let (phone, transport) = try await device("phone")
        let later = CKRecordZone.ID(zoneName: "Later")
        try await phone.save(CKRecordZone(zoneID: later))
        try await phone.save(hut("a"))
        let slow = CKRecord(
            recordType: "Hut", recordID: CKRecord.ID(recordName: "slow", zoneID: later))
        slow["photo"] = CKAsset(fileURL: try scratch.file("slow", bytes: 10))
        try await phone.save(slow)
        let (received, tells) = AsyncStream<Void>.makeStream()
        transport.tap { $0.download = { for await _ in received { break } } }
        let log = Log()
        let fetch = CKFetchRecordZoneChangesOperation(recordZoneIDs: [trips, later])
        fetch.recordWasChangedBlock = { recordID, result in
            log.add("\(recordID.recordName) \(result.success != nil)")
            tells.finish()
        }
        await run(fetch, on: phone)
        #expect(log.all == ["a true", "slow true"])
    }

    // MARK: Sizes

    @Test(arguments: [(Int64.max, Int64.max), (.min, .min), (-1, .max)])
    func invalidAssetSizesFailRecord(_ first: Int64, _ second: Int64) async throws {
        let database = database { _, _ in
            RecordsLookup.Answer(records: [
                served(
                    "a",
                    fields: [
                        Field(
                            name: "x",
                            value: .asset(AssetReceipt(sizeBytes: first, downloadURL: "/x"))),
                        Field(
                            name: "y",
                            value: .asset(AssetReceipt(sizeBytes: second, downloadURL: "/y"))),
                    ])
            ])
        }
        let results = try await database.records(for: [hut("a").recordID])
        #expect(results[hut("a").recordID]?.failure is CKError)
    }

    @Test func downloadBeyondAnnouncedSizeIsRejected() async throws {
        let transport = EndlessTransport()
        let connection = CloudConnection(transport: transport, hasAccount: true, deviceID: "phone")
        let database = CKContainer(
            identifier: "iCloud.org.example.Trails", connection: connection
        ).privateCloudDatabase
        await #expect(throws: CKError(.serverRejectedRequest)) {
            try await database.record(for: hut("a").recordID)
        }
        #expect(transport.pieceCount == 2)
    }

    /// A transport whose assets never end, although they have a size.
    private final class EndlessTransport: Transport {
        private let pieces = Mutex(0)

        var pieceCount: Int { pieces.withLock { $0 } }

        func send<E: Endpoint>(
            _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget,
            timeoutSeconds: Double
        ) async throws -> E.Answer {
            let value = FieldValue.asset(AssetReceipt(sizeBytes: 15, downloadURL: "/x"))
            let answer = RecordsLookup.Answer(records: [
                served("a", fields: [Field(name: "photo", value: value)])
            ])
            return try #require(answer as? E.Answer)
        }

        func nextNotification(
            at webcourierURL: String, timeoutSeconds: Double
        ) async throws -> NotificationPayload? { nil }

        func download(
            from url: String, timeoutSeconds: Double,
            receive: @escaping @Sendable ([UInt8]) async throws -> Void
        ) async throws {
            for _ in 0..<100 {
                pieces.withLock { $0 += 1 }
                try await receive(content(10))
            }
        }
    }
}
