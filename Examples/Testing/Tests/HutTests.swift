// A whole cloud inside a unit test: no service, no network, no account. swift test
import CloudKit
import StratusTesting
import Testing

@Test func savedHutReachesOtherDevice() async throws {
    let cloud = TestCloud()
    let trails = "iCloud.org.example.Trails"
    let phone = try await cloud.container(trails, user: "alice", device: "phone")
    let tablet = try await cloud.container(trails, user: "alice", device: "tablet")
    let hut = CKRecord(recordType: "Hut")
    hut["name"] = "Gipfelblick"
    let saved = try await phone.privateCloudDatabase.save(hut)
    let seen = try await tablet.privateCloudDatabase.record(for: saved.recordID)
    #expect(seen["name"] == "Gipfelblick")
}
