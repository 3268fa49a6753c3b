import StratusRecords
import StratusSync
import StratusTesting

@testable import StratusCache

extension Device {
    /// A device that made records with these texts, and sent them.
    static func synced(
        _ cloud: RealService, _ texts: KeyValuePairs<String, String>
    ) async throws -> Device {
        let device = try Device(cloud)
        for (name, text) in texts { try device.save(name, text) }
        try await device.sync()
        return device
    }

    /// Two devices that have records with these texts: the first made them.
    static func pair(
        _ cloud: RealService, _ texts: KeyValuePairs<String, String>
    ) async throws -> (Device, Device) {
        let (phone, tablet) = (try await synced(cloud, texts), try Device(cloud))
        try await tablet.sync()
        return (phone, tablet)
    }

    /// Sets some fields of one item and leaves its others.
    func edit(_ name: String, _ fields: [String: FieldValue?]) throws {
        try cache.save([
            LocalEdit(
                id: RecordID(name: name, zoneID: .list), type: "Item",
                changes: fields.map { Field(name: $0.key, value: $0.value) })
        ])
    }
}

extension CloudDevice {
    /// Two devices that have records with these texts: the first made them.
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

/// Keeps what this device has, and makes anew what another deleted.
struct KeepsClient: ConflictResolver {
    func resolve(_ conflict: SyncConflict) -> ConflictResolution { .keepClient }
    func resolveDeletion(
        of client: RecordSnapshot, clientEditedMilliseconds: Int64
    ) -> DeletionResolution { .resurrect }
}
