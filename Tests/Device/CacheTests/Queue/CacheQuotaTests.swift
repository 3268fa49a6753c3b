import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// What can hold up a batch: missing storage space, and other records.
@Suite(.timeLimit(.minutes(20))) struct CacheQuotaTests {
    /// Nearly all of the space that a record takes at the service.
    private let long = String(repeating: "x", count: 10_000)

    /// Limits the database of each user to this many records with long texts.
    private func makeRoom(for recordCount: Int, _ cloud: RealService) {
        cloud.restart { $0.privateDatabaseBytes = recordCount * 10_300 + 1_000 }
    }

    /// A device with saved records, a cloud with space for a number of records, and six new records to send.
    private func full(saved: Int, room: Int) async throws -> (RealService, Device) {
        let cloud = RealService()
        let phone = try Device(cloud, settings: .smallBatches)
        for number in 0..<saved { try phone.save("old\(number)", long) }
        try await phone.cache.sync()
        makeRoom(for: room, cloud)
        for number in 0..<6 { try phone.save("new\(number)", long) }
        return (cloud, phone)
    }

    @Test func deletionsAreSentWhenQuotaIsExceeded() async throws {
        let (cloud, phone) = try await full(saved: 9, room: 9)
        for number in 0..<7 { try phone.delete("old\(number)") }
        try await phone.cache.sync()
        #expect(try await cloud.names().filter { $0.hasPrefix("new") }.count == 6)
        #expect(try await cloud.names().count == 8)
        #expect(try await phone.cache.status().isQuotaExceeded == false)
    }

    @Test func exceededQuotaIsReportedWhileFetchContinues() async throws {
        let (cloud, phone) = try await full(saved: 2, room: 1)
        try phone.delete("old0")
        let error = await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(error?.failure?.code == .quotaExceeded)
        #expect(try await phone.cache.status().summary == "Account full")
        #expect(try await cloud.names() == ["old1"])
        #expect(try await phone.cache.pendingRecordIDs().count == 6)
        // Fetching continues too.
        let tablet = try Device(cloud)
        try await tablet.cache.sync()
        try tablet.save("old1", "2")
        try await tablet.cache.sync()
        // Sending may fail again, as the account is still full.
        _ = try? await phone.cache.sync()
        #expect(try phone.text("old1") == "2")
        makeRoom(for: 100, cloud)
        try await phone.cache.sync()
        #expect(try await cloud.names().count == 7)
    }

    @Test func exceededQuotaBlocksOnlyItsOwner() async throws {
        let cloud = RealService()
        let full = try await cloud.share(ZoneID(name: "Full"), of: "full", with: "alice")
        let free = try await cloud.share(ZoneID(name: "Free"), of: "free", with: "alice")
        for number in 0..<8 {
            try await cloud.save("old\(number)", long, in: ZoneID(name: "Full"), of: "full")
        }
        makeRoom(for: 8, cloud)
        let guest = try Device(cloud, settings: .smallBatches, scope: .shared)
        try await guest.cache.sync()
        for number in 0..<7 { try guest.save("r\(number)", long, zone: full) }
        for number in 0..<7 { try guest.save("r\(number)", long, zone: free) }
        await #expect(throws: CacheError.self) { try await guest.cache.sync() }
        #expect(try await cloud.names(in: ZoneID(name: "Free"), of: "free").count == 7)
        #expect(try await cloud.names(in: ZoneID(name: "Full"), of: "full").count == 8)
    }

    private func child(_ name: String, of parent: String) -> LocalEdit {
        LocalEdit(
            id: RecordID(name: name, zoneID: .list), type: "Item",
            changes: [Field(name: "text", value: .string("1"))], parent: .set(parent))
    }

    @Test func parentAndChildrenAreDeletedInAnyOrder() async throws {
        let cloud = RealService()
        let phone = try Device(cloud, settings: .smallBatches)
        try phone.save("parent", "1")
        try phone.cache.save((0..<20).map { child("child\($0)", of: "parent") })
        try await phone.cache.sync()
        #expect(try await cloud.names().count == 21)
        try phone.delete("parent")
        for number in 0..<20 { try phone.delete("child\(number)") }
        try await phone.cache.sync()
        #expect(try await cloud.names().isEmpty)
        #expect(try await phone.cache.attentionItems().isEmpty)
    }

    @Test func childSavedBeforeParentIsSentAfterIt() async throws {
        let cloud = RealService()
        let phone = try Device(cloud, settings: .smallBatches)
        try phone.cache.save([child("grandchild", of: "child"), child("child", of: "parent")])
        for number in 0..<7 { try phone.save("r\(number)", "1") }
        try phone.save("parent", "1")
        try await phone.cache.sync()
        #expect(try await cloud.names().count == 10)
        #expect(try await phone.cache.attentionItems().isEmpty)
    }

    @Test func childWithoutParentNeedsAttention() async throws {
        let cloud = RealService()
        let phone = try Device(cloud, settings: .smallBatches)
        try phone.cache.save([child("child", of: "nobody")])
        for number in 0..<7 { try phone.save("r\(number)", "1") }
        try await phone.sync()
        #expect(try await cloud.names().count == 7)
        #expect(try await phone.cache.attentionItems().map(\.recordID.recordName) == ["child"])
    }
}
