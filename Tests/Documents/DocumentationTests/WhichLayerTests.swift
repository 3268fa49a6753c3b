import CloudKit
import Foundation
import StratusCache
import StratusTesting
import Testing

/// The three apps of Documentation/WhichLayer.md do the same, as far as their layers allow.
@Suite(.timeLimit(.minutes(20))) struct WhichLayerTests {
    private let hut = CKRecord.ID(recordName: "hut-3", zoneID: CKRecordZone.ID(zoneName: "Trips"))
    private let app = "iCloud.org.example.Trails"

    private func container(_ cloud: TestCloud, _ device: String) async throws -> CKContainer {
        try await cloud.container(app, user: "alice", device: device)
    }

    private func path() -> String {
        NSTemporaryDirectory() + "layer-\(UUID().uuidString).sqlite"
    }

    private func remove(_ paths: [String]) {
        for path in paths {
            for suffix in ["", "-wal", "-shm", "-lock"] {
                // Failing to remove a temporary folder must not fail the test.
                try? FileManager.default.removeItem(atPath: path + suffix)
            }
        }
    }

    @Test func operationsSyncNamesBetweenDevices() async throws {
        let cloud = TestCloud()
        let phone = HutsByOperations(try await container(cloud, "phone"))
        let tablet = HutsByOperations(try await container(cloud, "tablet"))
        try await phone.rename(hut, "Gipfelblick")
        try await tablet.rename(hut, "Alpenrose")
        try await phone.sync()
        #expect(await phone.names == ["Alpenrose"])
    }

    @Test func engineWithACacheSyncsNamesBetweenDevices() async throws {
        let cloud = TestCloud()
        let paths = [path(), path()]
        defer { remove(paths) }
        var devices: [HutsByEngine] = []
        for (index, name) in ["phone", "tablet"].enumerated() {
            let container = try await container(cloud, name)
            let device = HutsByEngine()
            try await device.open(
                container, try CloudCache(path: paths[index], container: container))
            devices.append(device)
        }
        try await devices[0].rename(hut, "Gipfelblick")
        #expect(try await devices[0].names() == ["Gipfelblick"], "also without a network")
        try await devices[0].sync()
        try await devices[1].rename(hut, "Alpenrose")
        // The cache resolves the conflict, and sends what remains.
        try await devices[1].sync()
        try await devices[1].sync()
        try await devices[0].sync()
        for device in devices { #expect(try await device.names() == ["Alpenrose"]) }
    }

    @Test func cacheSyncsNamesBetweenDevices() async throws {
        let cloud = TestCloud()
        let paths = [path(), path()]
        defer { remove(paths) }
        let phone = try HutsByCache(try await container(cloud, "phone"), path: paths[0])
        let tablet = try HutsByCache(try await container(cloud, "tablet"), path: paths[1])
        try phone.rename(hut, "Gipfelblick")
        #expect(try phone.names() == ["Gipfelblick"])
        try await phone.sync()
        try tablet.rename(hut, "Alpenrose")
        for device in [tablet, phone] { try await device.sync() }
        #expect(try phone.names() == ["Alpenrose"])
    }
}
