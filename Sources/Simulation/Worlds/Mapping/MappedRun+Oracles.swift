import StratusCache
import StratusClient

/// The conditions that must hold on all devices at the end of a world of mapped objects.
extension MappedRun {
    /// Checks that all devices have the same objects with the same links.
    func differences() -> [String] {
        let first = Self.lines(devices[0])
        return devices.dropFirst().flatMap { device -> [String] in
            let lines = Self.lines(device)
            return first.subtracting(lines).sorted().map { "\(devices[0].name) alone: \($0)" }
                + lines.subtracting(first).sorted().map { "\(device.name) alone: \($0)" }
        }
    }

    private static func lines(_ device: MappedDevice) -> Set<String> {
        let objects = device.store.objects
        return Set(
            objects.map { object in
                "\(object.recordType) \(object.number) \(object.syncID ?? "-")"
                    + " \(object.edits) -> \(targets(of: object, among: objects).map(\.number))"
            })
    }

    /// The targets of an object without those that were removed, to which it may still refer.
    private static func targets(
        of object: any MappedEntity, among objects: [any MappedEntity]
    ) -> [any MappedEntity] {
        object.targets.filter { target in objects.contains { $0 === target } }
    }

    /// Checks that each object has a record and refers to what its record refers to, and that no sign outlives its
    /// trail.
    func brokenReferences() async throws -> [String] {
        var broken: [String] = []
        for device in devices {
            let cache = try device.below.opened()
            let records = try await cache.records(
                inZoneWith: CKRecordZone.ID(zoneName: "Objects"))
            let there = Dictionary(records.map { ($0.recordID.recordName, $0) }) { $1 }
            let objects = device.store.objects
            for object in objects {
                let name = "\(device.name): object \(object.number)"
                guard let record = object.syncID.flatMap({ there[$0] }) else {
                    broken.append("\(name) has no record")
                    continue
                }
                let referred = Self.references(of: record)
                let has = Self.targets(of: object, among: objects).compactMap(\.syncID)
                if referred.filter({ there[$0] != nil }) != has {
                    broken.append("\(name) does not have the links of its record")
                }
                if object is MappedSign, referred.contains(where: { there[$0] == nil }) {
                    broken.append("\(name) exists without the target of its weak reference")
                }
                let trail: CKRecord.Reference? = record["trail"]
                if let trail, trail.action != .deleteSelf {
                    broken.append("\(name) would outlive the target of its weak reference")
                }
            }
        }
        return broken
    }

    /// The references of a record, in the order of the objects' targets.
    private static func references(of record: CKRecord) -> [String] {
        ["valley", "main", "trail", "nearby"].flatMap { field -> [String] in
            if let one: CKRecord.Reference = record[field] { return [one.recordID.recordName] }
            let many: [CKRecord.Reference]? = record[field]
            return many?.map(\.recordID.recordName) ?? []
        }
    }
}

extension MappedEntity {
    fileprivate var recordType: String { Self.cloudMap.recordType }
}
