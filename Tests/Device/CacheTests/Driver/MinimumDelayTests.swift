import Foundation
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Apple's service gets two seconds between operations, whatever the settings are; other services get none.
@Suite struct MinimumDelayTests {
    /// The seconds that a first sync with one record waits, and the number of its operations.
    private func sync(
        _ settings: SyncSettings
    ) async throws -> (seconds: Double, operations: Int) {
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"
        defer { for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) } }
        let link = ServiceLink(RealService())
        let time = TestTime()
        let cache = try CloudCache(
            path: path, remotes: [link.connection().remote()], settings: settings, world: time.world
        )
        try cache.save([
            LocalEdit(
                id: RecordID(name: "a", zoneID: .list), type: "Item",
                changes: [Field(name: "text", value: .string("1"))])
        ])
        try await cache.sync()
        try cache.close()
        return (time.world.uptimeSeconds(), link.callNames.count)
    }

    /// The settings that `minimumDelayAppliesToApplesService` chooses for Apple's service.
    @Test func minimumDelayIsKeptBetweenOperations() async throws {
        let quick = try await sync(.quick)
        #expect(quick.seconds < 1)
        // The zone, the subscription, the record and the changes are an operation each.
        let apple = try await sync(.iCloud)
        #expect(apple.operations == quick.operations && apple.operations >= 4)
        #expect(apple.seconds >= 6 && apple.seconds < Double(apple.operations) * 2 + 1)
        var slower = SyncSettings.iCloud
        slower.minimumDelaySeconds = 5
        #expect(try await sync(slower).seconds >= 15)
    }

    @Test(arguments: [
        ("https://api.apple-cloudkit.com", true), ("https://api.apple-cloudkit.com/", true),
        ("https://cloud.example.org", false), ("http://127.0.0.1:8080", false),
    ])
    func minimumDelayAppliesToApplesService(_ origin: String, _ isApples: Bool) async throws {
        let transport = try #require(
            HTTPTransport(
                origin: origin, credentials: .init(apiToken: "token"), deviceID: "phone"))
        let container = CKContainer(
            identifier: CloudDevice.container,
            connection: CloudConnection(transport: transport, hasAccount: false, deviceID: "phone"))
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"
        defer { for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) } }
        var slower = SyncSettings()
        slower.minimumDelaySeconds = 5
        for (settings, seconds) in [(SyncSettings(), 0.0), (.quick, 0), (slower, 5)] {
            let cache = try CloudCache(path: path, container: container, settings: settings)
            for database in cache.databases {
                let delay = await database.driver.settings.minimumDelaySeconds
                #expect(delay == (isApples ? max(2, seconds) : seconds))
            }
            try cache.close()
        }
    }
}
