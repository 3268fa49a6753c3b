import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Whole zones, and all of them.
@Suite struct EverythingTests {
    private let list = CKRecordZone.ID(ZoneID.list)

    @Test func everythingIsDeletedHereAndInTheCloud() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1"])
        // A zone of which this device has not heard.
        try tablet.save("b", "1", zone: .other)
        try await tablet.sync()
        try phone.save("unsent", "1")
        try await phone.cache.deleteEverything()
        #expect(try await phone.cache.zoneIDs().isEmpty && phone.texts().isEmpty)
        // What is made afterwards stays.
        try phone.save("new", "1", zone: ZoneID(name: "New"))
        try phone.restart()
        try await phone.sync()
        #expect(try await cloud.zones().map(\.name) == ["New"])
        #expect(try await cloud.names(in: ZoneID(name: "New")) == ["new"])
        try await tablet.sync()
        #expect(try await tablet.cache.zoneIDs().map(\.zoneName) == ["New"])
        // It was said once.
        try tablet.save("later", "1", zone: .other)
        try await tablet.sync()
        try await phone.cache.refetchEverything()
        try await phone.sync()
        #expect(try phone.texts(zone: .other) == ["later": "1"])
    }

    @Test func zoneMadeAnewAfterDeletingEverythingIsEmptyButForNewRecords() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        try await phone.cache.deleteEverything()
        try phone.save("b", "1")
        try await phone.sync()
        #expect(try await cloud.names() == ["b"])
    }

    @Test func everythingIsFetchedAgainAndPendingEditsStay() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        for number in 0..<5 { try phone.save("r\(number)", "1") }
        try await phone.sync()
        // A row that went wrong, and one that the service has no more.
        try await phone.cache.store.pool.write { database in
            try database.execute(sql: "DELETE FROM record WHERE name = 'r0'")
        }
        try await cloud.delete("r1")
        try phone.save("r2", "edited offline")
        try await phone.cache.refetchEverything()
        #expect(try phone.texts()["r2"] == "edited offline")
        try await phone.sync()
        #expect(try phone.texts()["r0"] == "1")
        #expect(try phone.texts()["r1"] == nil)
        guard case .string("edited offline") = try await cloud.record("r2")?["text"] else {
            Issue.record("The edit was lost.")
            return
        }
    }

    @Test func detachedZoneIsNeitherSentNorFetched() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1", "b": "1"])
        try await phone.cache.detachZone(list)
        #expect(try await phone.cache.isDetached(list))
        try phone.save("a", "mine")
        try phone.save("c", "mine")
        try tablet.save("b", "theirs")
        try await tablet.sync()
        try phone.restart()
        try await phone.sync()
        #expect(try phone.texts() == ["a": "mine", "b": "1", "c": "mine"])
        #expect(try await cloud.names() == ["a", "b"])
        #expect(try await phone.cache.status().pendingCount == 0)
        try await phone.cache.attachZone(list)
        try await phone.sync()
        #expect(try phone.texts() == ["a": "mine", "b": "theirs", "c": "mine"])
        try await tablet.sync()
        #expect(try tablet.texts() == phone.texts())
    }

    @Test func detachedZoneOutlivesItsDeletion() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1"])
        try await phone.cache.detachZone(list)
        try await tablet.cache.deleteZone(list)
        try await tablet.sync()
        try await phone.sync()
        try await phone.cache.refetchEverything()
        try await phone.sync()
        #expect(try phone.texts() == ["a": "1"])
        try await phone.cache.attachZone(list)
        try await phone.sync()
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "1"])
    }
}
