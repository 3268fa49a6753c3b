import StratusCache
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import StratusWire
import Testing

@testable import StratusCache

/// A record's DELETE_SELF reference is moved from one record to another, and the former target is deleted: the service
/// would delete every record that still refers to it.
@Suite(.timeLimit(.minutes(20))) struct MovedRecordTests {
    private static func owner(_ name: String) -> FieldValue {
        .reference(Reference(recordName: name, zoneID: .list, action: .deleteSelf))
    }

    /// A phone and a tablet that have the item "item" of the list "old".
    private func pair(_ cloud: RealService) async throws -> (phone: Device, tablet: Device) {
        let (phone, tablet) = try await Device.pair(cloud, ["old": "1", "new": "1"])
        try phone.edit("item", ["text": .string("1"), "owner": Self.owner("old")])
        for device in [phone, tablet, phone] { try await device.sync() }
        return (phone, tablet)
    }

    /// - Parameter movesFirst: Whether the move was made before the deletion.
    private func move(_ phone: Device, movesFirst: Bool = true) throws {
        if !movesFirst { try phone.delete("old") }
        try phone.edit("item", ["owner": Self.owner("new")])
        if movesFirst { try phone.delete("old") }
    }

    @Test(arguments: [true, false], [true, false])
    func movedRecordStaysWhenItIsEditedElsewhere(movesFirst: Bool, isEdited: Bool) async throws {
        let cloud = RealService()
        let (phone, tablet) = try await pair(cloud)
        try move(phone, movesFirst: movesFirst)
        if isEdited {
            phone.link.beforeNextSend { [tablet] in
                try tablet.save("item", "edited")
                try await tablet.sync()
            }
        }
        for device in [phone, tablet] { try await device.sync() }
        #expect(try await cloud.names() == ["item", "new"])
        for device in [phone, tablet] {
            #expect(try device.texts() == ["item": isEdited ? "edited" : "1", "new": "1"])
            #expect(try await device.cache.pendingRecordIDs().isEmpty)
            #expect(try await device.cache.reports().isEmpty)
        }
        #expect(try await cloud.record("item")?.deleteSelfNames == ["new"])
    }

    /// The service deletes along references of any depth: a card is deleted with the board of its list.
    @Test(arguments: [true, false])
    func movedRecordStaysWhenItsFormerAncestorsAreDeleted(deletesList: Bool) async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["board": "1", "new": "1"])
        try phone.edit("list", ["text": .string("1"), "owner": Self.owner("board")])
        try phone.edit("item", ["text": .string("1"), "owner": Self.owner("list")])
        for device in [phone, tablet, phone] { try await device.sync() }
        try phone.edit("item", ["owner": Self.owner("new")])
        if deletesList { try phone.delete("list") }
        try phone.delete("board")
        phone.link.beforeNextSend { [tablet] in
            try tablet.save("item", "edited")
            try await tablet.sync()
        }
        for device in [phone, tablet, phone] { try await device.sync() }
        #expect(try await cloud.names() == ["item", "new"])
        for device in [phone, tablet] {
            #expect(try device.texts() == ["item": "edited", "new": "1"])
            #expect(try await device.cache.pendingRecordIDs().isEmpty)
        }
    }

    /// Each of the former records is deleted with the other one.
    @Test func recreatedRecordsReplaceDeletedOnesThatReferredToEachOther() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1", "b": "1"])
        try phone.edit("a", ["owner": Self.owner("b")])
        try phone.edit("b", ["owner": Self.owner("a")])
        for device in [phone, tablet, phone] { try await device.sync() }
        for name in ["a", "b"] { try phone.delete(name) }
        for name in ["a", "b"] { try phone.save(name, "another") }
        for device in [phone, tablet] { try await device.sync() }
        #expect(try tablet.texts() == ["a": "another", "b": "another"])
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    /// If the deletion were sent, it would remove the record. If it waited for space, it would never be sent, and the
    /// app would not be notified.
    @Test func deletionIsSetAsideWithAMoveOverQuota() async throws {
        let cloud = RealService()
        let (phone, _) = try await pair(cloud)
        cloud.refuse("item", SyncFailure(.quotaExceeded, message: "Full."))
        try move(phone)
        // The sync throws, as not everything was sent.
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(try await cloud.names() == ["item", "new", "old"])
        #expect(try await phone.cache.attentionItems().map(\.recordID.recordName) == ["old"])
        cloud.refuseNothing()
        try await phone.cache.retryAttentionItems()
        try await phone.sync()
        #expect(try await cloud.names() == ["item", "new"])
    }

    /// A new list has the name of the deleted one, whose deletion is sent first.
    @Test func movedRecordStaysWhenItsFormerOwnerIsRecreated() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await pair(cloud)
        try move(phone)
        try phone.save("old", "another")
        phone.link.beforeNextSend { [tablet] in
            try tablet.save("item", "edited")
            try await tablet.sync()
        }
        for device in [phone, tablet] { try await device.sync() }
        #expect(try tablet.texts() == ["item": "edited", "new": "1", "old": "another"])
        #expect(try phone.texts() == tablet.texts())
    }

    /// A retry of both changes sends both; the app can also decide otherwise.
    @Test(arguments: [true, false]) func deletionIsSetAsideWithARefusedMove(
        isRecreated: Bool
    ) async throws {
        let cloud = RealService()
        let (phone, tablet) = try await pair(cloud)
        cloud.refuse("item", SyncFailure(.invalidArguments, message: "No."))
        try move(phone)
        if isRecreated { try phone.save("old", "another") }
        for device in [phone, tablet] { try await device.sync() }
        #expect(try await cloud.names() == ["item", "new", "old"])
        let items = try await phone.cache.attentionItems()
        #expect(items.map(\.recordID.recordName).sorted() == ["item", "old"])
        #expect(try await phone.cache.status().pendingCount == 0)
        // The move is refused again, and the deletion is set aside again with it.
        try await phone.cache.retryAttentionItems()
        try await phone.sync()
        #expect(try await phone.cache.attentionItems().count == 2)
        cloud.refuseNothing()
        try await phone.cache.retryAttentionItems()
        for device in [phone, tablet] { try await device.sync() }
        #expect(
            try tablet.texts()
                == ["item": "1", "new": "1"].merging(isRecreated ? ["old": "another"] : [:]) { $1 })
        #expect(try await phone.cache.attentionItems().isEmpty)
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    /// More deletions are waiting than fit in a batch.
    @Test(arguments: [true, false]) func waitingDeletionsDoNotBlockSaves(
        deletionsFirst: Bool
    ) async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["new": "1"])
        for number in 0..<5 {
            try phone.save("old\(number)", "1")
            try phone.edit("item\(number)", ["owner": Self.owner("old\(number)")])
        }
        try await phone.sync()
        for number in 0..<5 { try phone.delete("old\(number)") }
        for number in 0..<5 { try phone.edit("item\(number)", ["owner": Self.owner("new")]) }
        let store = phone.cache.store
        let batch = try store.nextBatch(
            itemLimit: 3, bytesLimit: 1_000_000, deletionsFirst: deletionsFirst)
        #expect(batch.map(\.change.id.name) == ["item0", "item1", "item2"])
        try store.noteFailure(of: batch, SyncFailure(.limitExceeded))
        try await phone.sync()
        #expect(try await cloud.names() == ["item0", "item1", "item2", "item3", "item4", "new"])
    }

    @Test func movedRecordStaysWhileItsPhotoIsUploaded() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let record = try phone.savePhoto("photo", CloudDevice.bytes("first"))
        for name in ["old", "new"] { try phone.cache.save(name, "1") }
        func setOwner(_ name: String) throws {
            record["owner"] = CKRecord.Reference(
                recordID: CKRecord.ID(recordName: name, zoneID: .list), action: .deleteSelf)
            try phone.cache.save(record)
        }
        try setOwner("old")
        try await phone.cache.sync()
        try phone.savePhoto("photo", CloudDevice.bytes("second"))
        try setOwner("new")
        try await phone.cache.delete([CKRecord.ID(recordName: "old", zoneID: .list)])
        let store = phone.cache.store
        #expect(try store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000).isEmpty)
        try await phone.cache.sync()
        #expect(try phone.image("photo") == CloudDevice.bytes("second"))
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        #expect(try await phone.cache.reports().isEmpty)
        let tablet = try await CloudDevice(cloud, "tablet")
        try await tablet.cache.sync()
        #expect(try tablet.photo("photo") != nil)
    }

    /// The app's engine sends the changes.
    @Test(arguments: [true, false]) func movedRecordStaysWithAnEngine(
        isRefused: Bool
    ) async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(
            cloud, ["old": "1", "new": "1", "item": "1"])
        let id = CKRecord.ID(recordName: "item", zoneID: .list)
        func setOwner(_ name: String) throws {
            let record = try #require(try phone.cache.record(for: id))
            record["owner"] = CKRecord.Reference(
                recordID: CKRecord.ID(recordName: name, zoneID: .list), action: .deleteSelf)
            try phone.store.save([record], phone.engine)
        }
        try setOwner("old")
        for app in [phone, tablet, phone] { try await app.sync() }
        try setOwner("new")
        try phone.delete("old")
        if isRefused {
            // With the field of times, and without it.
            cloud.faults(on: "phone").next(2, of: RecordsModify.self, .answer(.badRequest))
            for _ in 0..<2 {
                await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
            }
            try await phone.engine.sendChanges()
            #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
            let items = try await phone.cache.attentionItems()
            #expect(items.map(\.recordID.recordName).sorted() == ["item", "old"])
            try await phone.cache.retryAttentionItems()
            try phone.store.resume(phone.engine)
        } else {
            try tablet.save("item", "edited")
            try await tablet.sync()
            await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
        }
        for app in [phone, tablet] { try await app.sync() }
        let texts = ["item": isRefused ? "1" : "edited", "new": "1"]
        for app in [phone, tablet] { #expect(try app.texts() == texts) }
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }
}
