import Crypto
import StratusClient
import StratusRecords

// For a database without a change feed: a `Device` record for each device, and in `DeleteQueue` an
// entry for each deleted object and device, removed by that device after it has deleted its object.

extension CloudMapping {
    static let deviceType = "Device"
    static let queueType = "DeleteQueue"
    /// The service refuses a longer value in a query, so a device with a longer ID could not request its entries.
    private static let largestDeviceIDBytes = 64_000

    func registerDevice() async throws {
        let record = CKRecord(
            recordType: Self.deviceType, recordID: validRecordID("device-\(deviceID)"))
        record["deviceId"] = deviceID
        try check(try await source.modify(saving: [record], deleting: []))
        log.debug("device registered", metadata: ["device": "\(deviceID)"])
    }

    /// The entries of deleted objects for all other devices, and for this device those that are
    /// deleted in cascade.
    func queueEntries(_ names: [String], ofType type: String) async throws -> [CKRecord] {
        let known = try await source.changes(ofType: Self.deviceType, since: nil)
        // A device without an entry would keep the object, and could save it again.
        if let error = known.unreadable.values.first { throw error }
        let devices = known.records.values.compactMap { $0["deviceId"] as String? }
            .filter { $0.utf8.count <= Self.largestDeviceIDBytes }
        var entries: [CKRecord] = []
        for device in devices where device != deviceID {
            entries += names.map { entry(for: device, type, $0) }
        }
        for (holderType, holder) in try await holders(of: names, ofType: type) {
            entries += devices.map { entry(for: $0, holderType, holder) }
        }
        return entries
    }

    private func entry(for device: String, _ type: String, _ name: String) -> CKRecord {
        let record = CKRecord(
            recordType: Self.queueType,
            recordID: validRecordID("\(device)|\(type)|\(name)"))
        record["device"] = device
        record["entityType"] = type
        record["syncId"] = name
        return record
    }

    /// An ID with this name, or with its digest if no record can have the name, as with a long ID of a device.
    private func validRecordID(_ name: String) -> CKRecord.ID {
        if Names.isRecordName(name) { return recordID(name) }
        return recordID(Hexadecimal.text(SHA256.hash(data: Array(name.utf8))))
    }

    /// The entries for this device: the names of deleted objects, and of the entries, by type.
    func entriesForThisDevice() async throws -> [String: [String: String]] {
        guard !source.tellsDeletions else { return [:] }
        var entries: [String: [String: String]] = [:]
        for record in try await source.records(
            ofType: Self.queueType, where: "device", is: deviceID)
        {
            guard let type: String = record["entityType"], let name: String = record["syncId"]
            else {
                continue
            }
            entries[type, default: [:]][name] = record.recordID.recordName
        }
        return entries
    }

    /// The objects that are deleted with others because they refer to them weakly, in cascade.
    private func holders(
        of names: [String], ofType type: String
    ) async throws -> [(type: String, name: String)] {
        var found: [(type: String, name: String)] = []
        var seen: Set<String> = Set(names.map { "\(type)/\($0)" })
        var level = names.map { (type: type, name: $0) }
        while !level.isEmpty {
            let gone = Dictionary(grouping: level, by: \.type).mapValues { Set($0.map(\.name)) }
            level = []
            for type in types {
                for (type, name) in try await weakHolders(type, of: gone)
                where seen.insert("\(type)/\(name)").inserted {
                    level.append((type, name))
                }
            }
            found += level
        }
        return found
    }

    private func weakHolders<E: CloudEntity>(
        _ type: E.Type, of gone: [String: Set<String>]
    ) async throws -> [(type: String, name: String)] {
        let references = E.cloudMap.references.filter {
            $0.target.isWeakTarget && gone[$0.target.recordTypeName] != nil
        }
        guard !references.isEmpty else { return [] }
        return try await store.all(type).compactMap { entity in
            let refers = references.contains { reference in
                let names = gone[reference.target.recordTypeName] ?? []
                return !names.isDisjoint(with: reference.names(of: entity))
            }
            return refers ? entity.cloudID.map { (E.recordTypeName, $0) } : nil
        }
    }
}
