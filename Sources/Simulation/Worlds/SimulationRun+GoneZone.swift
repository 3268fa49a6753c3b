import StratusCache
import StratusClient
import StratusRecords

/// A zone that is deleted for good, whoever was off meanwhile and whatever copy is restored.
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
            // The disk was full or the process ended: then there is a zone, or there is none.
            return
        }
    }

    func deleteGoneZone(_ number: Int) throws {
        let device = devices[number]
        let cache = try device.opened()
        guard try cache.zoneIDs(in: .private).contains(goneZone) else { return }
        // A zone of which a device has no history is not told from one that somebody makes after a restore.
        let isKnown = try device.isKnown(zone: Plan.goneZone, in: .private)
        do {
            try cache.deleteZone(goneZone)
        } catch {
            // As above.
            return
        }
        // Of a process that has ended nobody knows.
        if isKnown, device.openCache != nil { goneZones.insert(device.user) }
    }

    /// No user who deleted the zone has it. Where a device was told that its history is lost, it may be there without what
    /// was in it.
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
