import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// What a batch depends on: room, and other records.
@Suite(.timeLimit(.minutes(5))) struct QuotaTests {
    private var smallBatches: SyncSettings {
        var settings = SyncSettings.quick
        settings.itemsPerBatch = 3
        return settings
    }

    /// A device with so many old records at a cloud with so much room, and six new ones to be sent.
    private func full(saved: Int, room: Int) async throws -> (MemoryCloud, Device) {
        let cloud = MemoryCloud()
        let phone = try Device(cloud, settings: smallBatches)
        for number in 0..<saved { try phone.save("old\(number)", "1") }
        try await phone.cache.sync()
        cloud.state.withLock { $0.room[ZoneID().ownerName] = room }
        for number in 0..<6 { try phone.save("new\(number)", "1") }
        return (cloud, phone)
    }

    @Test func deletionsAreSentWhenQuotaIsExceeded() async throws {
        let (cloud, phone) = try await full(saved: 9, room: 9)
        for number in 0..<7 { try phone.delete("old\(number)") }
        try await phone.cache.sync()
        #expect(cloud.names().filter { $0.hasPrefix("new") }.count == 6)
        #expect(cloud.names().count == 8)
        #expect(try await phone.cache.status().isQuotaExceeded == false)
    }

    @Test func exceededQuotaIsReportedWhileFetchContinues() async throws {
        let (cloud, phone) = try await full(saved: 2, room: 1)
        try phone.delete("old0")
        let error = await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(error?.failure?.code == .quotaExceeded)
        #expect(cloud.names() == ["old1"])
        #expect(try await phone.cache.pendingRecordIDs().count == 6)
        // Fetching goes on too.
        let tablet = try Device(cloud)
        try await tablet.cache.sync()
        try tablet.save("old1", "2")
        try await tablet.cache.sync()
        _ = try? await phone.cache.sync()
        #expect(try phone.text("old1") == "2")
        cloud.state.withLock { $0.room = [:] }
        try await phone.cache.sync()
        #expect(cloud.names().count == 7)
    }

    @Test func exceededQuotaOfOneOwnerBlocksNoOther() async throws {
        let cloud = MemoryCloud()
        let full = ZoneID(name: "Full", ownerName: "_full")
        let free = ZoneID(name: "Free", ownerName: "_free")
        for zone in [full, free] { cloud.createZone(zone) }
        cloud.state.withLock { $0.room["_full"] = 0 }
        let guest = try Device(cloud, settings: smallBatches, scope: .shared)
        try await guest.cache.sync()
        for number in 0..<7 { try guest.save("r\(number)", "1", zone: full) }
        for number in 0..<7 { try guest.save("r\(number)", "1", zone: free) }
        await #expect(throws: CacheError.self) { try await guest.cache.sync() }
        #expect(cloud.names(in: free).count == 7)
        #expect(cloud.names(in: full).isEmpty)
    }

    private func child(_ name: String, of parent: String) -> LocalEdit {
        LocalEdit(
            id: RecordID(name: name, zoneID: .list), type: "Item",
            changes: [Field(name: "text", value: .string("1"))], parent: .set(parent))
    }

    @Test func parentAndChildrenAreDeletedInAnyOrder() async throws {
        let cloud = MemoryCloud()
        cloud.state.withLock { $0.checksParents = true }
        let phone = try Device(cloud, settings: smallBatches)
        try phone.save("parent", "1")
        try phone.cache.save((0..<20).map { child("child\($0)", of: "parent") })
        try await phone.cache.sync()
        #expect(cloud.names().count == 21)
        try phone.delete("parent")
        for number in 0..<20 { try phone.delete("child\(number)") }
        try await phone.cache.sync()
        #expect(cloud.names().isEmpty)
        #expect(try await phone.cache.attentionItems().isEmpty)
    }

    @Test func childSavedBeforeParentIsSentAfterIt() async throws {
        let cloud = MemoryCloud()
        cloud.state.withLock { $0.checksParents = true }
        let phone = try Device(cloud, settings: smallBatches)
        try phone.cache.save([child("grandchild", of: "child"), child("child", of: "parent")])
        for number in 0..<7 { try phone.save("r\(number)", "1") }
        try phone.save("parent", "1")
        try await phone.cache.sync()
        #expect(cloud.names().count == 10)
        #expect(try await phone.cache.attentionItems().isEmpty)
    }

    @Test func childWithoutParentNeedsAttention() async throws {
        let cloud = MemoryCloud()
        cloud.state.withLock { $0.checksParents = true }
        let phone = try Device(cloud, settings: smallBatches)
        try phone.cache.save([child("child", of: "nobody")])
        for number in 0..<7 { try phone.save("r\(number)", "1") }
        try await phone.sync()
        #expect(cloud.names().count == 7)
        #expect(try await phone.cache.attentionItems().map(\.recordID.recordName) == ["child"])
    }
}
