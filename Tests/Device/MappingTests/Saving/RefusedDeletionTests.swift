import StratusClient
import StratusMapping
import StratusTesting
import Testing

/// Deletions of other users' records in the public database, which only their creators may delete.
@Suite(.timeLimit(.minutes(20)))
struct RefusedDeletionTests {
    let cloud = TestCloud()

    @Test func refusedDeletionRemovesNoObjectOnOtherDevices() async throws {
        let phone = try await MappedDevice(cloud, "phone", user: "alice", scope: .public)
        let tablet = try await MappedDevice(cloud, "tablet", user: "bob", scope: .public)
        let anna = phone.addPerson("Anna")
        for device in [phone, tablet] { try await device.sync() }
        let copy = try #require(tablet.person("Anna"))
        tablet.store.memory.remove(copy)
        let error = await #expect(throws: CKError.self) { try await tablet.mapping.delete(copy) }
        #expect(error?.code == .permissionFailure)
        #expect(try await phone.records("DeleteQueue").isEmpty)
        for device in [phone, tablet] { try await device.sync() }
        #expect(phone.person("Anna") === anna)
        try await tablet.sync(forced: true)
        #expect(tablet.person("Anna") != nil)
    }

    /// The deletion was requested without a connection, and a sync sends it.
    @Test func refusedDeletionDoesNotKeepObjectsFromBeingSent() async throws {
        let phone = try await MappedDevice(cloud, "phone", user: "alice", scope: .public)
        let tablet = try await MappedDevice(cloud, "tablet", user: "bob", scope: .public)
        _ = phone.addPerson("Anna")
        for device in [phone, tablet] { try await device.sync() }
        let copy = try #require(tablet.person("Anna"))
        tablet.store.memory.remove(copy)
        tablet.mapping.isLocked = true
        try await tablet.mapping.delete(copy)
        tablet.mapping.isLocked = false
        let bea = tablet.addPerson("Bea")
        let error = await #expect(throws: CKError.self) { try await tablet.sync() }
        #expect(error?.code == .permissionFailure)
        #expect(try await tablet.record(bea.syncID)["firstName"] == "Bea")
        try await tablet.sync()
        try await phone.sync()
        #expect(phone.person("Anna") != nil && phone.person("Bea") != nil)
    }

    /// The record stays, so objects that refer to it keep their references.
    @Test func refusedDeletionLeavesReferencesToTheRecord() async throws {
        let phone = try await MappedDevice(cloud, "phone", user: "alice", scope: .public)
        let tablet = try await MappedDevice(cloud, "tablet", user: "bob", scope: .public)
        let home = phone.addHome("Lake Road")
        for device in [phone, tablet] { try await device.sync() }
        let copy = try #require(tablet.store.memory.objects(Home.self).first)
        let bea = tablet.addPerson("Bea") { $0.home = copy }
        try await tablet.sync()
        tablet.store.memory.remove(copy)
        await #expect(throws: CKError.self) { try await tablet.mapping.delete(copy) }
        bea.edit { $0.age = 31 }
        try await tablet.sync()
        let record = try await tablet.record(bea.syncID)
        #expect(record["age"] == 31)
        let reference = record.object(forKey: "address") as? CKRecord.Reference
        #expect(reference?.recordID.recordName == home.syncID)
    }
}
