import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Deletions of zones after a restore, and to which of several zones with the same name they apply.
@Suite(.timeLimit(.minutes(20))) struct RestoredZoneTests {
    /// The deletion of a zone that a restore brought back applies only to that zone, even if its answer is lost.
    @Test func repeatedDeletionOfARestoredZoneKeepsTheRecreatedZone() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        try await phone.sync()
        let copy = try cloud.copy()
        try await phone.cache.deleteZone(CKRecordZone.ID(ZoneID.list))
        for _ in 0..<2 { try await phone.sync() }
        try cloud.restore(copy)
        // The zone is deleted again at the service, and the phone gets no answer.
        phone.link.fail("zones", 0, .answerLost)
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(try await cloud.zones().isEmpty)
        try await tablet.sync()
        #expect(try tablet.texts().isEmpty)
        cloud.pass()
        try tablet.save("b", "1")
        try await tablet.sync()
        #expect(try await cloud.names() == ["b"])
        for device in [phone, tablet, phone] { try await device.sync() }
        #expect(try await cloud.names() == ["b"])
        for device in [phone, tablet] { #expect(try device.texts() == ["b": "1"]) }
    }

    /// After a restore zones get the same numbers again, and the phone does not know the number of the zone that it has
    /// created.
    @Test func zoneCreatedAfterARestoreAndDeletedElsewhereStaysDeleted() async throws {
        let cloud = RealService()
        let (phone, tablet) = (try Device(cloud), try Device(cloud))
        for device in [phone, tablet] { try await device.sync() }
        let copy = try cloud.copy()
        // The phone knows a zone with the number 1 and its deletion; both are lost.
        try phone.save("a", "1")
        for _ in 0..<2 { try await phone.sync() }
        try await phone.cache.deleteZone(CKRecordZone.ID(ZoneID.list))
        for _ in 0..<2 { try await phone.sync() }
        try cloud.restore(copy)
        // The phone has learned of the loss and has fetched the whole database again.
        for device in [phone, tablet] { try await device.sync() }
        #expect(try phone.cache.store.lastIntactDatabaseVersion() == nil)
        // It creates the next zone of the name, again with number 1, without fetching the database's changes after it.
        phone.link.duringNextDatabasePage { try phone.save("n", "1") }
        try await phone.sync()
        #expect(try await cloud.names() == ["n"])
        try await tablet.sync()
        #expect(try tablet.texts() == ["n": "1"])
        cloud.pass()
        try await tablet.cache.deleteZone(CKRecordZone.ID(ZoneID.list))
        try await tablet.sync()
        #expect(try await cloud.zones().isEmpty)
        for device in [phone, tablet, phone] { try await device.sync() }
        #expect(try await cloud.zones().isEmpty)
        for device in [phone, tablet] { #expect(try device.texts().isEmpty) }
    }
}
