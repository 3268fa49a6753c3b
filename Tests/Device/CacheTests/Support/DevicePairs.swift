import GRDB
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import Testing

@testable import StratusCache

extension Device {
    /// A device that has created records with these texts and sent them.
    static func synced(
        _ cloud: RealService, _ texts: KeyValuePairs<String, String>,
        resolver: (any ConflictResolver)? = nil
    ) async throws -> Device {
        let device = try Device(cloud, resolver: resolver)
        for (name, text) in texts { try device.save(name, text) }
        try await device.sync()
        return device
    }

    /// Two devices that have records with these texts, created by the first one.
    static func pair(
        _ cloud: RealService, _ texts: KeyValuePairs<String, String>,
        resolver: (any ConflictResolver)? = nil
    ) async throws -> (Device, Device) {
        let phone = try await synced(cloud, texts, resolver: resolver)
        let tablet = try Device(cloud, resolver: resolver)
        try await tablet.sync()
        return (phone, tablet)
    }

    /// A service and two devices that have records with these texts.
    static func pairAndCloud(
        _ texts: KeyValuePairs<String, String>
    ) async throws -> (cloud: RealService, phone: Device, tablet: Device) {
        let cloud = RealService()
        let (phone, tablet) = try await pair(cloud, texts)
        return (cloud, phone, tablet)
    }

    /// A device whose syncing was turned off before it created a record.
    static func disabled(_ cloud: RealService) async throws -> Device {
        let device = try Device(cloud)
        await device.cache.setEnabled(false)
        try device.save("a", "1")
        return device
    }

    /// Expects that a sync is refused, as syncing is turned off.
    func expectDisabledSync() async {
        let error = await #expect(throws: CacheError.self) { try await cache.sync() }
        #expect(error?.code == .disabled)
    }

    /// Expects that there are no zones, neither at the service nor on the device.
    func expectNoZones(
        _ cloud: RealService, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(try await cloud.zones().isEmpty, sourceLocation: sourceLocation)
        #expect(try await cache.zoneIDs().isEmpty, sourceLocation: sourceLocation)
    }

    /// Expects that the deletion of everything fails, as the file refuses it in the shared database.
    func expectFailedDeletionOfEverything(
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await cache.store.pool.write { database in
            try database.execute(
                sql: """
                    CREATE TRIGGER refusal BEFORE INSERT ON flag
                    WHEN NEW.database = \(CKDatabase.Scope.shared.rawValue)
                    BEGIN SELECT RAISE(ABORT, 'Nothing of this database is deleted.'); END
                    """)
        }
        await #expect(throws: (any Error).self, sourceLocation: sourceLocation) {
            try await cache.deleteEverything(in: [.private, .shared])
        }
    }

    /// Sets some fields of an item and leaves its others.
    func edit(_ name: String, _ fields: [String: FieldValue?]) throws {
        try cache.save([
            LocalEdit(
                id: RecordID(name: name, zoneID: .list), type: "Item",
                changes: fields.map { Field(name: $0.key, value: $0.value) })
        ])
    }
}

extension RealService {
    /// Expects that devices that sync one after the other have these texts, and that the service has no other records.
    func expectTexts(
        _ texts: [String: String], on devices: Device...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for device in devices {
            try await device.sync()
            #expect(try device.texts() == texts, sourceLocation: sourceLocation)
        }
        #expect(try await names() == texts.keys.sorted(), sourceLocation: sourceLocation)
    }

    /// One device deletes a record and creates it again, and another one deletes the former record.
    func recreate(
        _ name: String, _ text: String, on device: Device, deletedOn other: Device
    ) async throws {
        try device.delete(name)
        pass()
        try device.save(name, text)
        try await device.sync()
        pass()
        try other.delete(name)
        for device in [other, device, other] { try await device.sync() }
    }
}

extension CloudDevice {
    /// A phone, and a tablet that downloads some files by itself.
    static func pair(
        downloading change: (inout AssetSettings) -> Void
    ) async throws -> (phone: CloudDevice, tablet: CloudDevice) {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        var settings = AssetSettings()
        change(&settings)
        return (phone, try await CloudDevice(cloud, "tablet", assets: settings))
    }

    /// Two devices that have records with these texts, created by the first one.
    static func pair(
        _ cloud: TestCloud, _ texts: KeyValuePairs<String, String>
    ) async throws -> (CloudDevice, CloudDevice) {
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        for (name, text) in texts { try phone.save(name, text) }
        try await phone.cache.sync()
        try await tablet.cache.sync()
        return (phone, tablet)
    }
}

/// Keeps this device's record, and recreates one that another device deleted.
struct KeepsClient: ConflictResolver {
    func resolve(_ conflict: SyncConflict) -> ConflictResolution { .keepClient }
    func resolveDeletion(
        of client: RecordSnapshot, clientEditedMilliseconds: Int64
    ) -> DeletionResolution { .resurrect }
}
