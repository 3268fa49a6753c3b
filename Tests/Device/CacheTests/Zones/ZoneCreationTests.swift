import Foundation
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// A zone is created only if the file still requests it: another process may have created it since, and another user
/// may be signed in.
@Suite(.timeLimit(.minutes(20))) struct ZoneCreationTests {
    private let list = CKRecordZone.ID(ZoneID.list)

    /// Two processes share a file. One saves and the other one syncs; later the first one syncs.
    ///
    /// - Parameter isDeletedElsewhere: Whether another device deletes the zone, or the process that syncs.
    @Test(arguments: [true, false])
    func zoneCreatedByAnotherProcessStaysDeletedOnceDeleted(
        isDeletedElsewhere: Bool
    ) async throws {
        let path = NSTemporaryDirectory() + "stale-\(UUID().uuidString).sqlite"
        defer {
            for suffix in ["", "-wal", "-shm", "-lock"] {
                // A file that was never created need not be removed.
                try? FileManager.default.removeItem(atPath: path + suffix)
            }
        }
        let cloud = RealService()
        func open() throws -> CloudCache {
            try CloudCache(path: path, remotes: [cloud.remote()], settings: .quick)
        }
        let (app, widget) = (try open(), try open())
        try widget.save([
            LocalEdit(
                id: RecordID(name: "a", zoneID: .list), type: "Item",
                changes: [Field(name: "text", value: .string("1"))])
        ])
        // This also happens automatically, before or after this call.
        await widget.databases[0].driver.readInbox()
        try await app.sync()
        #expect(try await cloud.names() == ["a"])
        if isDeletedElsewhere {
            try await cloud.deleteZone(.list)
        } else {
            try await app.deleteZone(list)
        }
        try await app.sync()
        #expect(try await cloud.zones().isEmpty)
        #expect(try await app.zoneIDs().isEmpty)
        try await widget.sync()
        #expect(try await cloud.zones().isEmpty)
        #expect(try await widget.zoneIDs().isEmpty)
        for cache in [app, widget] { try cache.close() }
    }

    /// Alice created a zone without a network, and signed out.
    @Test func unsentZoneIsNotCreatedForTheNextUser() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        try await phone.cache.createZone(list)
        await phone.cache.databases[0].driver.readInbox()
        try await phone.cache.signOut(.remove)
        try await phone.signIn("bob")
        try await phone.sync()
        #expect(try await cloud.zones(of: "bob").isEmpty)
        #expect(try await phone.cache.zoneIDs().isEmpty)
    }
}
