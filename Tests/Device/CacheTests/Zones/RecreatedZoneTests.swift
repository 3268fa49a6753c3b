import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Zones and records that are recreated and deleted again.
@Suite(.timeLimit(.minutes(20))) struct RecreatedZoneTests {
    /// The zone that this device recreated is another one than that whose generation it knew.
    @Test func zoneRecreatedHereAndDeletedStaysDeleted() async throws {
        let cloud = RealService()
        var settings = SyncSettings.quick
        settings.zoneDeletionPolicy = .recreate
        let phone = try Device(cloud, settings: settings)
        try phone.save("a", "1")
        for _ in 0..<2 { try await phone.sync() }
        try await cloud.deleteZone(.list)
        try await phone.sync()
        #expect(try await cloud.names() == ["a"])
        try await phone.cache.deleteZone(CKRecordZone.ID(ZoneID.list))
        for _ in 0..<2 { try await phone.sync() }
        #expect(try await cloud.zones().isEmpty)
        #expect(try phone.texts().isEmpty)
    }

    /// Before a save into the zone is answered, the service is restored to a state without it, and the zone is deleted and
    /// wanted again. The next zone does not have that save, and has lost nothing.
    @Test func saveIntoADeletedZoneIsNotMissingInTheNextOne() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        let copy = try cloud.copy()
        try phone.save("b", "1")
        phone.link.duringNextSend { [phone] in
            try cloud.restore(copy)
            try await phone.cache.deleteZone(CKRecordZone.ID(ZoneID.list))
            try phone.save("c", "1")
        }
        for _ in 0..<2 { try await phone.sync() }
        #expect(try await cloud.names() == ["c"])
        let store = phone.cache.store
        let lossMilliseconds = try store.read { database in
            try store.zone(.list, database)
                .flatMap { try store.lossMilliseconds(in: $0, database) }
        }
        #expect(lossMilliseconds == nil)
    }

    /// Recreates records that another device deleted, and keeps the edit times.
    private struct Resurrects: ConflictResolver {
        private let inner = FieldWise()
        var fieldTimesKey: String? { inner.fieldTimesKey }
        func resolve(_ conflict: SyncConflict) -> ConflictResolution { inner.resolve(conflict) }
        func resolveDeletion(
            of client: RecordSnapshot, clientEditedMilliseconds: Int64
        ) -> DeletionResolution { .resurrect }
    }

    /// The service has the deletion, and the loss concerns another record.
    ///
    /// - Parameter isRecreated: Whether the record had the name of a former one.
    @Test(arguments: [false, true])
    func recordResurrectedByTheResolverStays(isRecreated: Bool) async throws {
        let cloud = RealService()
        let (phone, tablet) = (try Device(cloud, resolver: Resurrects()), try Device(cloud))
        try phone.save("a", "1")
        try phone.save("b", "1")
        for device in [phone, tablet, phone] { try await device.sync() }
        if isRecreated {
            try phone.delete("a")
            for _ in 0..<2 { try await phone.sync() }
            cloud.pass()
            try phone.save("a", "2")
        }
        for device in [phone, tablet, phone, tablet] { try await device.sync() }
        cloud.pass()
        try tablet.delete("a")
        for _ in 0..<2 { try await tablet.sync() }
        let copy = try cloud.copy()
        cloud.pass()
        try tablet.save("c", "1")
        for _ in 0..<2 { try await tablet.sync() }
        try cloud.restore(copy)
        cloud.pass()
        // The tablet learns of the loss, and sends "c" again.
        for _ in 0..<2 { try await tablet.sync() }
        #expect(try await cloud.names() == ["b", "c"])
        // The phone has not synced since before the deletion.
        try phone.save("a", "3")
        for device in [phone, tablet, phone, tablet] { try await device.sync() }
        #expect(try await cloud.names() == ["a", "b", "c"])
        for device in [phone, tablet] {
            #expect(try device.texts() == ["a": "3", "b": "1", "c": "1"])
        }
    }
}
