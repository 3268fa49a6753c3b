import StratusClient
import StratusTesting
import Testing

/// The sessions of an account, over the service.
@Suite struct ClientSessionsTests {
    private let container = "iCloud.org.example.Trails"

    @Test func revokedDeviceIsSignedOut() async throws {
        let cloud = TestCloud()
        let phone = try await cloud.connect(user: "alice", device: "phone")
        let tablet = try await cloud.connect(user: "alice", device: "tablet")
        let lost = CKContainer(identifier: container, connection: phone)
        _ = try await lost.userRecordID()
        let all = try await tablet.sessions(container: container)
        #expect(Set(all.map(\.deviceID)) == ["phone", "tablet"])
        let others = all.filter { !$0.isCurrent }
        #expect(try await tablet.revoke(others, container: container).map(\.deviceID) == ["tablet"])
        let error = await #expect(throws: CKError.self) {
            try await lost.privateCloudDatabase.allRecordZones()
        }
        #expect(error?.code == .notAuthenticated)
        await #expect(throws: CKError.self) {
            try await tablet.revoke(all.filter(\.isCurrent), container: container)
        }
    }
}
