import StratusCache
import StratusClient
import StratusRecords

/// An app deletes everything that a user has: between the other steps, and once more at the end.
extension SimulationRun {
    /// Deletes everything of the user on a device. The service follows with a later sync, so nothing is promised for
    /// the user's records of this world, except that all devices are equal at its end.
    func deleteEverything(_ device: SimulatedDevice) throws {
        for zone in Plan.zones.indices { ledger.brokenZones.insert([device.user, zone]) }
        let cache = try device.opened()
        let former = try SimulatedDevice.contents(of: cache, .private)
        var isUncertain = false
        do {
            try cache.deleteEverything()
        } catch {
            // The disk was full or the process ended: everything is deleted, or nothing.
            isUncertain = true
        }
        isUncertain = isUncertain || device.openCache == nil
        let left = try SimulatedDevice.contents(of: device.opened(), .private)
        if left.isEmpty || isUncertain && Set(left.keys) == Set(former.keys) { return }
        violations.append(
            "\(device.name): everything was deleted, and \(left.count) of \(former.count) records"
                + " are left")
    }

    /// Deletes everything of a user at the end, when no device changes anything else. All of it must be gone, here and
    /// elsewhere, and nothing of other users. In half of the worlds a record is created afterwards, which must stay.
    func checkDeletionOfEverything() async throws {
        guard plan.deletesEverything, violations.isEmpty else { return }
        let device = devices[Int(plan.seed / 7 % UInt64(devices.count))]
        let user = device.user
        let others = (0..<plan.userCount).filter { $0 != user }
        var former: [Int: Set<String>] = [:]
        for other in others { former[other] = try await names(of: other, .private) }
        // So that there is something to delete, on every device of the user.
        _ = try saveNote("before", on: device)
        violations += try await becomeEqual()
        guard violations.isEmpty else { return }
        if device.user != user { try device.switchAccount(to: user) }
        cloud.note(device.name, "delete everything", "")
        let created = try deleteEverythingAtLast(device)
        violations += try await becomeEqual()
        guard violations.isEmpty else { return }
        try checkObservers()
        try await checkNothingIsLeft(of: user, but: created)
        for other in others {
            let lost = try await (former[other] ?? []).subtracting(names(of: other, .private))
            violations += lost.sorted().map {
                "user \(other)'s \($0) is missing since user \(user) deleted everything"
            }
            // Only the first user shares a zone.
            guard user == 0 else { continue }
            violations += try await names(of: other, .shared).sorted().map {
                "user \(other) sees \($0) of user 0, who deleted everything"
            }
        }
        if plan.hasAssets { _ = try await checkPhotos() }
    }

    /// - Returns: the record that was created afterwards; nil for none.
    private func deleteEverythingAtLast(_ device: SimulatedDevice) throws -> String? {
        try device.opened().deleteEverything(in: [.private, .shared])
        if let sql = mutation?.sqlAfterDeletingEverything {
            try device.files[device.user]?.execute(sql)
            // The next process reads the file again.
            try device.kill()
        }
        // In a zone whose predecessor is still to be deleted.
        return plan.seed.isMultiple(of: 2) ? try saveNote("afterwards", on: device) : nil
    }

    /// - Returns: the record, with its zone.
    private func saveNote(_ name: String, on device: SimulatedDevice) throws -> String {
        let zone = CKRecordZone.ID(zoneName: Plan.zones[0])
        let note = CKRecord(
            recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        note["text"] = name
        try device.opened().save(note, in: .private)
        return "\(zone.zoneName)/\(name)"
    }

    private func checkNothingIsLeft(of user: Int, but created: String?) async throws {
        let kept = Set([created].compactMap(\.self))
        let left = try await names(of: user, .private)
        let shared = try await names(of: user, .shared)
        violations += left.union(shared).subtracting(kept).sorted().map {
            "user \(user) deleted everything, and \($0) is still there"
        }
        violations += kept.subtracting(left).sorted().map {
            "user \(user)'s \($0) is missing, but was created after everything was deleted"
        }
        // As in checkGoneZones(), a zone may then exist without its content.
        if cloud.isMisled(userRecordNames[user]) { return }
        let keptZones = Set(created == nil ? [] : [Plan.zones[0]])
        for scope in [CKDatabase.Scope.private, .shared] {
            let zones = try await clean(user).database(with: scope).allRecordZones()
            for zone in zones where zone.zoneID != .default {
                let name = zone.zoneID.zoneName
                if scope == .private, keptZones.contains(name) { continue }
                violations.append(
                    "user \(user) deleted everything, and the zone \(name) is still there")
            }
        }
    }

    /// The records that the service has in a user's database, with their zones.
    private func names(
        of user: Int, _ scope: CKDatabase.Scope
    ) async throws -> Set<String> {
        let contents = try await truth(user).contents[scope] ?? [:]
        return Set(contents.keys.map { "\($0.zoneID.name)/\($0.name)" })
    }
}
