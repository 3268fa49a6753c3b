import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// A record with the name of one that was deleted on the same device: records that refer to it wait with it, and the
/// former one's deletion is kept in every case.
@Suite(.timeLimit(.minutes(20))) struct RecreatedRecordTests {
    /// How a record refers to another one.
    enum Need: CaseIterable {
        case parent
        case deleteSelf
    }

    private func edit(
        _ name: String, needing owner: String? = nil, _ need: Need = .parent
    ) -> LocalEdit {
        var changes = [Field(name: "text", value: .string("new"))]
        if let owner, need == .deleteSelf {
            changes.append(
                Field(
                    name: "owner",
                    value: .reference(Reference(recordName: owner, action: .deleteSelf))))
        }
        let id = RecordID(name: name, zoneID: .list)
        guard let owner, need == .parent else {
            return LocalEdit(id: id, type: "Item", changes: changes)
        }
        return LocalEdit(id: id, type: "Item", changes: changes, parent: .set(owner))
    }

    // MARK: Records that refer to it

    @Test(arguments: Need.allCases) func childWaitsForItsRecreatedParent(need: Need) async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["list": "1"])
        try phone.delete("list")
        try await phone.sync()
        try phone.cache.save([edit("item", needing: "list", need), edit("list")])
        let store = phone.cache.store
        #expect(try store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000).isEmpty)
        try await phone.sync()
        #expect(try await cloud.names() == ["item", "list"])
    }

    /// The running loop sends before it fetches.
    @Test(arguments: Need.allCases) func loopFetchesBeforeSendingChildOfRecreatedParent(
        need: Need
    ) async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["list": "1"])
        await phone.cache.start()
        try phone.delete("list")
        // The device is idle: until it learns of the save, it fetches nothing by itself.
        var status = try await phone.cache.status()
        while status.pendingCount > 0 || status.operation != nil {
            await Task.yield()
            status = try await phone.cache.status()
        }
        try phone.cache.save([edit("list"), edit("item", needing: "list", need)])
        while try await !phone.cache.pendingRecordIDs().isEmpty,
            try await phone.cache.attentionItems().isEmpty
        {
            await Task.yield()
        }
        await phone.cache.stop()
        #expect(try await phone.cache.attentionItems().isEmpty)
        #expect(try await cloud.names() == ["item", "list"])
    }

    /// The deletion of the former record would delete them, so the record is saved over it.
    @Test(arguments: ["list", #"the "list""#, #"list\1"#])
    func recordDeletedAndRecreatedKeepsRecordsThatReferToIt(list: String) async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, [list: "1"])
        try phone.cache.save([edit("card", needing: list, .deleteSelf)])
        try await phone.sync()
        try phone.delete(list)
        try phone.save(list, "2")
        for _ in 0..<2 { try await phone.sync() }
        #expect(try await cloud.texts() == [list: "2", "card": "new"])
        #expect(try phone.texts() == [list: "2", "card": "new"])
    }

    // MARK: The former's deletion

    /// The service loses the deletion, and a device that never learned of it sends the record again.
    @Test func discardedRecreatedRecordKeepsItsPredecessorsDeletion() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["b": "1"])
        let tablet = try Device(cloud)
        let copy = try cloud.copy()
        try phone.save("a", "1")
        for device in [phone, tablet] { try await device.sync() }
        try phone.delete("a")
        try await phone.sync()
        cloud.pass()
        cloud.refuse("a", SyncFailure(.permissionFailure))
        try phone.save("a", "new")
        try await phone.sync()
        let items = try await phone.cache.attentionItems()
        #expect(items.map(\.recordID.recordName) == ["a"])
        try await phone.cache.discardAttentionItems(items)
        #expect(try phone.text("a") == nil)
        cloud.refuseNothing()
        try cloud.restore(copy)
        for device in [phone, tablet, phone, tablet] { try await device.sync() }
        #expect(try await cloud.names() == ["b"])
        for device in [phone, tablet] { #expect(try device.texts() == ["b": "1"]) }
    }

    /// A mark distinguishes records of one name: the later one has the later mark, even if the clock was set back.
    @Test func recreationMarkIncreasesAlthoughTheClockWasSetBack() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "first"])
        func mark() throws -> Int64 {
            let record = try #require(
                try phone.cache.snapshot(RecordID(name: "a", zoneID: .list)))
            return try #require(phone.cache.store.recreatedMilliseconds(record))
        }
        try phone.delete("a")
        try await phone.sync()
        try phone.save("a", "second")
        try await phone.sync()
        let second = try mark()
        try phone.delete("a")
        try await phone.sync()
        phone.time.advance(milliseconds: -3_600_000)
        try phone.save("a", "third")
        #expect(try mark() > second)
    }

    /// Both devices know of the deletion and recreate the record; the record that refers to the other device's one
    /// stays.
    @Test func recordRecreatedOnBothDevicesKeepsRecordsThatReferToIt() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["list": "1"])
        try phone.delete("list")
        for device in [phone, tablet, phone] { try await device.sync() }
        cloud.pass()
        phone.link.beforeNextSend { [tablet] in
            try tablet.cache.save([edit("list"), edit("card", needing: "list", .deleteSelf)])
            try await tablet.sync()
            cloud.pass()
            try phone.save("list", "later")
        }
        try phone.save("list", "phone")
        for device in [phone, tablet, phone] { try await device.sync() }
        for device in [phone, tablet] {
            #expect(try device.texts() == ["list": "later", "card": "new"])
        }
    }
}
