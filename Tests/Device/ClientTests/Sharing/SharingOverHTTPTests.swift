import Foundation
import StratusClient
import StratusTesting
import StratusWire
import TestServing
import Testing

/// Sharing over HTTP: links have the server's name, and people are looked up by POST.
@Suite struct SharingOverHTTPTests {
    /// A server, and its address.
    private func withServer(
        _ cloud: TestCloud = TestCloud(),
        _ body: @escaping @Sendable (String) async throws -> Void
    ) async throws {
        try await TestServing.withServer(cloud.service) {
            try await body("http://127.0.0.1:\($0)")
        }
    }

    private let keys: Scratch

    init() throws {
        keys = try Scratch()
    }

    private func device(_ origin: String, _ user: String) -> CKContainer {
        CKContainer(
            identifier: Trip.identifier,
            connection: CloudConnection(environmentVariables: [
                "STRATUS_URL": origin, "STRATUS_DEVICE_ID": user, "STRATUS_DEV_USER": user,
                "STRATUS_KEY_FOLDER": keys.folder.appendingPathComponent(user).path,
            ]))
    }

    @Test func invitationIsAcceptedOverHTTP() async throws {
        try await withServer { origin in
            let ida = self.device(origin, "ida@example.org")
            let bo = self.device(origin, "bo@example.org")
            #expect(try await bo.requestApplicationPermission(.userDiscoverability) == .granted)
            let database = ida.privateCloudDatabase
            try await database.save(CKRecordZone(zoneID: trips))
            let root = hut("trail")
            let share = CKShare(rootRecord: root)
            let participant = try await ida.shareParticipant(forEmailAddress: "bo@example.org")
            #expect(participant.userIdentity.hasiCloudAccount)
            share.addParticipant(participant)
            let results = try await database.modifyRecords(saving: [root, share], deleting: [])
            #expect(results.saveResults.values.allSatisfy { $0.failure == nil })
            let link = try #require(share.url)
            #expect(link.absoluteString.hasPrefix(origin + "/share/"))
            let joined = try await bo.accept(try await bo.shareMetadata(for: link))
            #expect(joined.url == link && joined.participants.count == 2)
            let zones = try await bo.sharedCloudDatabase.allRecordZones()
            let seen = try await bo.sharedCloudDatabase.record(
                for: CKRecord.ID(recordName: "trail", zoneID: try #require(zones.first).zoneID))
            #expect(seen.share?.recordID == joined.recordID)
            #expect(try await bo.allUserIdentitiesFromContacts().isEmpty)
        }
    }

    @Test func appleServiceUsesICloudShareLinks() throws {
        let apples = try #require(
            HTTPTransport(
                origin: "https://api.apple-cloudkit.com", credentials: .init(apiToken: "a"),
                deviceID: "phone"))
        #expect(apples.shareLinkOrigin == "https://www.icloud.com")
    }

    /// Ida's answer arrives after Bo has signed in: he does not get it, and her next token does not become his.
    @Test func lateAnswerOfEarlierAccountIsDiscardedOverHTTP() async throws {
        let gate = Gate()
        let cloud = gate.cloud()
        try await withServer(cloud) { origin in
            let phone = self.device(origin, "ida@example.org")
            let ida = try await phone.userRecordID()
            gate.delayNext(ZonesList.self, of: cloud)
            let zones = Task { try await phone.privateCloudDatabase.allRecordZones() }
            await gate.waitUntilDelayed()
            try await cloud.signIn("bo@example.org", on: phone.connection)
            let bo = try await phone.userRecordID()
            gate.open()
            await #expect(throws: CKError(.notAuthenticated)) { try await zones.value }
            #expect(bo != ida)
            #expect(try await phone.accountStatus() == .available)
            try await phone.privateCloudDatabase.save(CKRecordZone(zoneName: "Bo's"))
            let idas = self.device(origin, "ida@example.org")
            #expect(try await idas.privateCloudDatabase.allRecordZones().count == 1)
        }
    }

    @Test func webAuthTokenSignsInAnotherDeviceOverHTTP() async throws {
        try await withServer { origin in
            let phone = self.device(origin, "ida@example.org")
            let ida = try await phone.userRecordID()
            let tokens = Kept<String>()
            let operation = CKFetchWebAuthTokenOperation(apiToken: "development")
            operation.fetchWebAuthTokenResultBlock = { result in
                if case .success(let token) = result { tokens.add(token) }
            }
            await run(operation, on: phone.privateCloudDatabase)
            let token = try #require(tokens.all.first)
            try phone.connection.signOut()
            #expect(try await phone.accountStatus() == .noAccount)
            #expect(await codeOf { _ = try await phone.userRecordID() } == .notAuthenticated)
            let browser = self.device(origin, "bo@example.org")
            #expect(try await browser.userRecordID() != ida)
            try browser.connection.signIn(webAuthToken: token)
            #expect(try await browser.userRecordID() == ida)
            try await browser.connection.endSession(container: Trip.identifier)
            try browser.connection.signIn(webAuthToken: token)
            #expect(try await browser.accountStatus() == .temporarilyUnavailable)
        }
    }
}
