import Foundation
import StratusCache
import StratusClient
import StratusRecords
import StratusTesting
import StratusWire
import Testing

/// The faults that an app's own tests may inject on one of its devices.
@Suite struct DeviceFaultsTests {
    private let cloud = TestCloud()
    private let zone = CKRecordZone(zoneName: "List")

    private func database(_ device: String) async throws -> CKDatabase {
        try await cloud.container("iCloud.org.example.Lists", user: "alice", device: device)
            .privateCloudDatabase
    }

    private func item(_ name: String) -> CKRecord {
        CKRecord(
            recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID))
    }

    @Test func cutOffFaultAffectsOneDevice() async throws {
        let (phone, tablet) = (try await database("phone"), try await database("tablet"))
        _ = try await phone.save(zone)
        cloud.faults(on: "phone").isCutOff = true
        await #expect(throws: CKError(.networkUnavailable)) { try await phone.save(item("a")) }
        _ = try await tablet.save(item("b"))
        cloud.faults(on: "phone").isCutOff = false
        _ = try await phone.save(item("a"))
    }

    @Test func faultThatHappensNoTimesIsNone() async throws {
        let phone = try await database("phone")
        let faults = cloud.faults(on: "phone")
        faults.nextRequests(0, .dropConnectionBeforeCommit)
        faults.next(0, of: RecordsModify.self, .answer(.badRequest))
        #expect(faults.isEmpty)
        _ = try await phone.save(zone)
        _ = try await phone.save(item("a"))
    }

    /// Cuts the device off when the download of an asset begins.
    private struct CuttingTransport: PassingTransport {
        let inner: any AccountTransport
        let faults: DeviceFaults

        func send<E: Endpoint>(
            _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget,
            timeoutSeconds: Double
        ) async throws -> E.Answer {
            try await inner.send(endpoint, request, to: target, timeoutSeconds: timeoutSeconds)
        }

        func download(
            from url: String, timeoutSeconds: Double,
            receive: @escaping @Sendable ([UInt8]) async throws -> Void
        ) async throws {
            faults.isCutOff = true
            try await inner.download(from: url, timeoutSeconds: timeoutSeconds, receive: receive)
        }
    }

    @Test func cutOffFaultAffectsDownloads() async throws {
        let tablet = try await database("tablet")
        _ = try await tablet.save(zone)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(
            "cut-off-\(UUID().uuidString)")
        try Data("picture".utf8).write(to: file)
        // The system empties its temporary folder anyway.
        defer { try? FileManager.default.removeItem(at: file) }
        let record = item("a")
        record["picture"] = CKAsset(fileURL: file)
        _ = try await tablet.save(record)
        let link = try await cloud.connect(user: "alice", device: "phone")
        let faults = cloud.faults(on: "phone")
        let transport = CuttingTransport(
            inner: try #require(link.transport as? any AccountTransport), faults: faults)
        let phone = CKContainer(
            identifier: "iCloud.org.example.Lists",
            connection: CloudConnection(
                transport: transport, hasAccount: true, deviceID: "phone",
                keyStore: cloud.keyStore)
        ).privateCloudDatabase
        let error = await #expect(throws: CKError.self) {
            try await phone.record(for: record.recordID)
        }
        #expect(error?.contains(.networkUnavailable) == true)
        faults.isCutOff = false
        let fetched = try await tablet.record(for: record.recordID)
        #expect((fetched["picture"] as CKAsset?)?.fileURL != nil)
    }

    @Test(arguments: [DeviceFaults.Effect.dropConnectionBeforeCommit, .dropConnectionAfterCommit])
    func lostAnswerFaultAffectsOneRequestOfOneDevice(_ effect: DeviceFaults.Effect) async throws {
        let (phone, tablet) = (try await database("phone"), try await database("tablet"))
        _ = try await phone.save(zone)
        let faults = cloud.faults(on: "phone")
        faults.next(of: RecordsModify.self, effect)
        _ = try await tablet.save(item("b"))
        #expect(!faults.isEmpty)
        await #expect(throws: CKError.self) { try await phone.save(item("a")) }
        #expect(faults.isEmpty)
        let page = try await tablet.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
        #expect(
            page.modificationResultsByID.count
                == (effect == .dropConnectionAfterCommit ? 2 : 1))
    }

    @Test func answerFaultHasRetryAfter() async throws {
        let phone = try await database("phone")
        cloud.faults(on: "phone").nextRequests(1, .answer(.throttled, retryAfterSeconds: 30))
        do {
            _ = try await phone.save(zone)
            Issue.record("it was served")
        } catch let error as CKError {
            #expect(error.retryAfterSeconds == 30)
        }
        _ = try await phone.save(zone)
    }

    /// A loop that gets no notification fetches when it is time; a duplicate notification does no harm.
    @Test(arguments: [0, 1, 2]) func notificationFaultDropsOrDuplicatesNotifications(times: Int)
        async throws
    {
        let world = SeededWorld(seed: 7)
        try await world.run {
            let cloud = TestCloud(seeded: world)
            let caches = try await cloud.caches(in: world, scopes: [.private])
            let faults = cloud.faults(on: "tablet")
            let id = CKRecord.ID(
                recordName: "milk", zoneID: CKRecordZone.ID(zoneName: "List"))
            try await caches[0].save(CKRecord(recordType: "Item", recordID: id))
            for cache in caches { try await cache.sync() }
            await caches[1].start()
            try await world.pass(seconds: 60)
            if times == 0 { faults.dropNotifications(10) }
            if times == 2 { faults.duplicateNotifications(10) }
            try await caches[0].delete(id)
            try await caches[0].sync()
            try await world.pass(seconds: 5)
            #expect(try await (caches[1].record(for: id) != nil) == (times == 0))
            #expect(faults.isEmpty == (times == 1))
            await caches[1].stop()
        }
    }
}
