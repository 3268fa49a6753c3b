import Foundation
import StratusClient
import StratusRecords
import StratusSync
import StratusSyncEngine
import StratusTesting
import StratusWire
import TestServing
import Testing

/// Engines against a server, over HTTP and in real time.
@Suite(.timeLimit(.minutes(20))) struct EngineOverHTTPTests {
    private func withServer(
        _ cloud: TestCloud, _ body: @escaping @Sendable (String) async throws -> Void
    ) async throws {
        try await TestServing.withServer(cloud.service) {
            try await body("http://127.0.0.1:\($0)")
        }
    }

    private func container(_ origin: String, _ device: String, _ user: String) -> CKContainer {
        CKContainer(
            identifier: EngineWorld.container,
            connection: CloudConnection(environmentVariables: [
                "STRATUS_URL": origin, "STRATUS_DEVICE_ID": device, "STRATUS_DEV_USER": user,
                "STRATUS_KEY_FOLDER": FileManager.default.temporaryDirectory
                    .appendingPathComponent("engine-keys-" + UUID().uuidString).path,
            ]))
    }

    /// Ida's phone, whose zone was sent and whose record is pending.
    private func phoneWithPendingSave(_ origin: String) async throws -> EngineApp {
        let phone = EngineApp(container(origin, "phone", "ida@example.org").privateCloudDatabase)
        phone.makeZone()
        try await phone.engine.sendChanges()
        phone.write("a", "1")
        return phone
    }

    @Test func conflictIsResolvedOverHTTP() async throws {
        let cloud = TestCloud()
        try await withServer(cloud) { origin in
            let phone = EngineApp(
                self.container(origin, "phone", "ida@example.org").privateCloudDatabase)
            let tablet = EngineApp(
                self.container(origin, "tablet", "ida@example.org").privateCloudDatabase)
            phone.makeZone()
            for number in 0..<300 { phone.write("n\(number)", "1") }
            try await phone.engine.sendChanges()
            try await tablet.engine.fetchChanges()
            #expect(tablet.texts == phone.texts && tablet.texts.count == 300)
            phone.write("n7", "2")
            tablet.write("n7", "3")
            try await phone.engine.sendChanges()
            _ = tablet.takeLog()
            #expect(await codeOf { try await tablet.engine.sendChanges() } == .partialFailure)
            #expect(tablet.takeLog().contains("sent +n7!serverRecordChanged"))
            try await tablet.engine.sendChanges()
            try await phone.engine.fetchChanges()
            #expect(phone.texts["n7"] == "3")

            // After a restart the engine continues from its file.
            tablet.restart()
            _ = tablet.takeLog()
            try await tablet.engine.fetchChanges()
            #expect(tablet.takeLog().filter { $0.hasPrefix("fetched") }.count <= 1)
        }
    }

    @Test(arguments: [
        (ServiceError.Code.throttled, CKError.Code.requestRateLimited),
        (.tryAgainLater, .serviceUnavailable), (.authenticationFailed, .notAuthenticated),
        (.zoneBusy, .zoneBusy),
    ])
    func retryableErrorKeepsChangePendingOverHTTP(
        _ code: ServiceError.Code, _ expected: CKError.Code
    ) async throws {
        let cloud = TestCloud()
        try await withServer(cloud) { origin in
            let phone = try await self.phoneWithPendingSave(origin)
            cloud.faults.next(of: RecordsModify.self, .answer(code, retryAfterSeconds: 4))
            #expect(await codeOf { try await phone.engine.sendChanges() } == expected)
            #expect(phone.engine.state.pendingRecordZoneChanges == [.saveRecord(hut("a"))])
            try await phone.engine.sendChanges()
            #expect(phone.takeLog().contains("sent +a"))
        }
    }

    @Test func lostConnectionKeepsChangePendingOverHTTP() async throws {
        let cloud = TestCloud()
        try await withServer(cloud) { origin in
            let phone = try await self.phoneWithPendingSave(origin)
            cloud.faults.next(of: RecordsModify.self, .dropConnectionAfterCommit)
            #expect(await codeOf { try await phone.engine.sendChanges() } == .serverResponseLost)
            #expect(phone.engine.state.pendingRecordZoneChanges == [.saveRecord(hut("a"))])
            try await phone.sendAll()
            #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    /// An owner's save reaches a participant's engine through the long poll, and a participant's save reaches the
    /// owner's.
    @Test func enginesSyncAutomaticallyOverHTTP() async throws {
        let cloud = TestCloud()
        try await withServer(cloud) { origin in
            let ida = self.container(origin, "ida's phone", "ida@example.org")
            let bo = self.container(origin, "bo's phone", "bo@example.org")
            let own = EngineApp(ida.privateCloudDatabase)
            own.makeZone()
            own.write("a", "1")
            try await own.engine.sendChanges()
            let share = CKShare(recordZoneID: hutsID)
            share.publicPermission = .readWrite
            let saved = try #require(try await ida.privateCloudDatabase.save(share) as? CKShare)
            _ = try await bo.accept(try await bo.shareMetadata(for: try #require(saved.url)))
            let zoneID = CKRecordZone.ID(
                zoneName: hutsID.zoneName, ownerName: try await ida.userRecordID().recordName)

            let shared = SharedApp(bo.sharedCloudDatabase, automatically: true)
            _ = shared.engine
            await shared.waitFor(hut("a", in: zoneID), "1")
            #expect(
                try await bo.sharedCloudDatabase.allSubscriptions().map(\.subscriptionID)
                    == ["stratus-sync-engine-3"])
            own.write("a", "2")
            try await own.engine.sendChanges()
            await shared.waitFor(hut("a", in: zoneID), "2")

            let tablet = SharedApp(
                self.container(origin, "ida's tablet", "ida@example.org").privateCloudDatabase,
                automatically: true)
            _ = tablet.engine
            await tablet.waitFor(hut("a"), "2")
            shared.write(hut("a", in: zoneID), "3")
            await tablet.waitFor(hut("a"), "3")
        }
    }
}
