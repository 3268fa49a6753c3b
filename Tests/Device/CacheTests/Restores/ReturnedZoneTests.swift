import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Deletions of zones after a restore: which of the zones of a name they are of.
@Suite(.timeLimit(.minutes(20))) struct ReturnedZoneTests {
    /// The deletion of a zone that a restore brought back names that zone, also where its answer is lost.
    @Test func repeatedDeletionOfAReturnedZoneSparesTheOneMadeSince() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        try await phone.sync()
        let copy = try cloud.copy()
        try await phone.cache.deleteZone(CKRecordZone.ID(ZoneID.list))
        for _ in 0..<2 { try await phone.sync() }
        try cloud.restore(copy)
        // It is deleted again at the service, and the phone hears no answer.
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

    /// After a restore the numbers of zones come again, and the zone that this device made has none here yet.
    @Test func zoneMadeAfterARestoreAndDeletedElsewhereStaysDeleted() async throws {
        let cloud = RealService()
        let (phone, tablet) = (try Device(cloud), try Device(cloud))
        for device in [phone, tablet] { try await device.sync() }
        let copy = try cloud.copy()
        // The phone knows a zone of number 1, and that it was deleted; both are lost.
        try phone.save("a", "1")
        for _ in 0..<2 { try await phone.sync() }
        try await phone.cache.deleteZone(CKRecordZone.ID(ZoneID.list))
        for _ in 0..<2 { try await phone.sync() }
        try cloud.restore(copy)
        // The phone has heard of the loss, and knows all of the database again.
        for device in [phone, tablet] { try await device.sync() }
        #expect(try phone.cache.store.lastIntactDatabaseVersion() == nil)
        // It makes the next zone of the name, which has the number 1 too, and does not fetch the database's changes after that.
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
