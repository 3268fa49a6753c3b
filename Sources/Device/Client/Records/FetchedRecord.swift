import StratusRecords
import StratusWire

/// A record of a zone's changes, for a store of this device: no object is made of what only has to be kept.
package enum FetchedRecord: Sendable {
    /// One that lies on every device as it came.
    case row(FetchedRow)
    /// One in which something had to be made sense of: what is encrypted, assets, people.
    indirect case record(RecordSnapshot)
}

/// A record as it came: its fields are the bytes to keep, and nobody has looked at them.
///
/// An object, so that a page, its order and its observers share one: of a million records each copy would count.
package final class FetchedRow: Sendable {
    package let name: String
    package let type: String
    package let system: RecordSnapshot.SystemFields
    package let parentRecordName: String?
    /// JSON in the order of the names, every value with its type; see `RecordFields.kept`.
    package let fields: [UInt8]
    /// What the device's file finds it by, and the system fields as they lie there: made beside the fetch, not while the
    /// file is written.
    package let nameHash: Int64
    package let systemBytes: [UInt8]

    package init(
        name: String, type: String, system: RecordSnapshot.SystemFields,
        parentRecordName: String? = nil, fields: [UInt8]
    ) {
        self.name = name
        self.type = type
        self.system = system
        self.parentRecordName = parentRecordName
        self.fields = fields
        nameHash = NameHash.of(name)
        systemBytes = StoredSystem(system).bytes
    }
}

/// What changed in a zone, as far as one answer tells, in the order of the changes.
package struct FetchedPage: Sendable {
    package var records: [FetchedRecord] = []
    package var deletedNames: [String] = []
    package var token: String
    package var moreComing: Bool
    /// How many changes are still to come, at the most; nil where the service does not tell.
    package var remainingCount: Int?
}

extension RecordReader {
    /// The record as it is to be kept, where this device has nothing to make sense of in it.
    ///
    /// - Parameter zoneID: the zone that was asked; the answer is about it.
    mutating func fetched(
        _ dictionary: RecordDictionary, in zoneID: CKRecordZoneID
    ) -> FetchedRecord? {
        guard let name = dictionary.recordName, let type = dictionary.recordType,
            type != CKRecord.SystemType.share, dictionary.share == nil,
            scope == .shared || zoneID.ownerName == CKCurrentUserDefaultName,
            encryptedKeys[type] == nil, let system = system(of: dictionary)
        else { return nil }
        var parent: String?
        if case .some(let name) = dictionary.parentRecordName { parent = name }
        // What cannot be read is read once more as an object, and then said.
        switch try? dictionary.fields.keeping() {
        case .kept(let bytes):
            return .row(
                FetchedRow(
                    name: name, type: type, system: system, parentRecordName: parent, fields: bytes)
            )
        case .values(let fields):
            guard let fields = kept(fields, in: zoneID) else { return nil }
            return .record(
                RecordSnapshot(
                    id: RecordID(
                        name: name,
                        zoneID: ZoneID(name: zoneID.zoneName, ownerName: zoneID.ownerName)),
                    type: type, system: system, parentRecordName: parent, fields: fields))
        case .encoded, nil: return nil
        }
    }

    /// Nil for a record without a tag, and for times that a date does not hold to the millisecond.
    private func system(of dictionary: RecordDictionary) -> RecordSnapshot.SystemFields? {
        let (created, modified) = (dictionary.created, dictionary.modified)
        guard let tag = dictionary.recordChangeTag,
            [created, modified].allSatisfy({ stamp in
                stamp.map { (0..<1 << 46).contains($0.timestampMilliseconds) } ?? true
            })
        else { return nil }
        return RecordSnapshot.SystemFields(
            changeTag: tag, createdMilliseconds: created?.timestampMilliseconds,
            creatorRecordName: created?.userRecordName,
            modifiedMilliseconds: modified?.timestampMilliseconds,
            modifierRecordName: modified?.userRecordName,
            shareRecordName: dictionary.shareRecordName)
    }

    /// Fields as this device keeps them; nil where something is encrypted, or there are assets.
    private mutating func kept(_ fields: [Field], in zoneID: CKRecordZoneID) -> [Field]? {
        var kept = fields
        for (index, field) in fields.enumerated() {
            if field.isEncrypted { return nil }
            switch field.value {
            case .asset, .assetList: return nil
            case .reference(let target): kept[index].value = .reference(self.kept(target, zoneID))
            case .referenceList(let targets):
                kept[index].value =
                    targets.isEmpty
                    ? .emptyList : .referenceList(targets.map { self.kept($0, zoneID) })
            default: break
            }
        }
        return kept
    }

    /// With its zone, whose owner has the name that this device gives them.
    private mutating func kept(_ target: Reference, _ zoneID: CKRecordZoneID) -> Reference {
        let zone = target.zoneID.map {
            self.zoneID(ZoneIDDictionary(zoneName: $0.name, ownerRecordName: $0.ownerName))
        }
        return Reference(
            recordName: target.recordName,
            zoneID: ZoneID(
                name: (zone ?? zoneID).zoneName, ownerName: (zone ?? zoneID).ownerName),
            action: target.action == .deleteSelf ? .deleteSelf : .none)
    }
}
