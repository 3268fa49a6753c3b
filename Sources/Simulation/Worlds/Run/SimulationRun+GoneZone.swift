import StratusCache
import StratusClient
import StratusRecords

/// A zone that is deleted permanently, regardless of devices that were off meanwhile and copies that are restored.
extension SimulationRun {
    private var goneZone: CKRecordZone.ID { CKRecordZone.ID(zoneName: Plan.goneZone) }

    func fillGoneZone(_ number: Int) throws {
        let device = devices[number]
        let item = CKRecord(
            recordType: "Note", recordID: CKRecord.ID(recordName: "note", zoneID: goneZone))
        item["text"] = "Nobody will miss it."
        do {
            try device.opened().save(item, in: .private)
        } catch {
            // The disk was full or the process ended: the zone exists, or it does not.
            return
        }
    }

    func deleteGoneZone(_ number: Int) throws {
        let device = devices[number]
        let cache = try device.opened()
        guard try cache.zoneIDs(in: .private).contains(goneZone) else { return }
        // Without history of the zone, a device cannot distinguish it from one that is created after a restore.
        let isKnown = try device.isKnown(zone: Plan.goneZone, in: .private)
        do {
            try cache.deleteZone(goneZone)
        } catch {
            // As above.
            return
        }
        // If the process has ended, the outcome is unknown.
        if isKnown, device.openCache != nil { goneZones.insert(device.user) }
    }

    /// Checks that no user who deleted the zone has it. If a device was notified that its history is lost, the zone may
    /// exist without its content.
    func checkGoneZones() async throws {
        for user in goneZones.sorted() {
            let name = userRecordNames[user]
            let zones = try await clean(user).privateCloudDatabase.allRecordZones()
            guard zones.contains(where: { $0.zoneID.zoneName == Plan.goneZone }) else { continue }
            let isEmpty =
                try await truth(user).contents[.private]?.keys
                .contains { $0.zoneID.name == Plan.goneZone } != true
            if isEmpty, cloud.isMisled(name) { continue }
            violations.append(
                "user \(user)'s zone \(Plan.goneZone) was deleted and is back"
                    + (isEmpty ? "" : ", with what was in it"))
        }
    }
}
