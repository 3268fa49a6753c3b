import Foundation
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Apple's service gets two seconds between operations, whatever the settings say; others none.
@Suite struct PaceTests {
    /// How many seconds a first sync with one record waits, and how many operations it has.
    private func sync(
        _ settings: SyncSettings, isAppleService: Bool
    ) async throws -> (seconds: Double, operations: Int) {
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"
        defer { for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) } }
        let link = CloudLink(MemoryCloud(), isAppleService: isAppleService)
        let time = TestTime()
        let cache = try CloudCache(
            path: path, remotes: [link], settings: settings, world: time.world)
        try cache.save([
            LocalEdit(
                id: RecordID(name: "a", zoneID: .list), type: "Item",
                changes: [Field(name: "text", value: .string("1"))])
        ])
        try await cache.sync()
        try cache.close()
        return (time.world.uptimeSeconds(), link.callNames.count)
    }

    @Test func appleServiceGetsTwoSecondsBetweenOperations() async throws {
        let quick = try await sync(.quick, isAppleService: false)
        #expect(quick.seconds < 1)
        // The zone, the subscription, the record and the changes are an operation each.
        let apple = try await sync(.quick, isAppleService: true)
        #expect(apple.operations == quick.operations && apple.operations >= 4)
        #expect(apple.seconds >= 6 && apple.seconds < Double(apple.operations) * 2 + 1)
        let chosen = try await sync(.iCloud, isAppleService: false)
        #expect(chosen.seconds >= 6)
        var slower = SyncSettings.iCloud
        slower.minimumDelaySeconds = 5
        #expect(try await sync(slower, isAppleService: true).seconds >= 15)
    }

    @Test(arguments: [
        ("https://api.apple-cloudkit.com", true), ("https://api.apple-cloudkit.com/", true),
        ("https://cloud.example.org", false), ("http://127.0.0.1:8080", false),
    ])
    func connectionTellsAppleServiceFromOthers(_ origin: String, _ isApples: Bool) async throws {
        let transport = try #require(
            HTTPTransport(
                origin: origin, credentials: .init(apiToken: "token"), deviceID: "phone"))
        let container = CKContainer(
            identifier: CloudDevice.container,
            connection: CloudConnection(transport: transport, hasAccount: false, deviceID: "phone"))
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"
        defer { for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) } }
        let cache = try CloudCache(path: path, container: container)
        for database in cache.databases {
            #expect(await database.driver.settings.minimumDelaySeconds == (isApples ? 2 : 0))
        }
        try cache.close()
    }
}
