import StratusRecords
import StratusWire

/// A changed record for a store of this device; a record that is only stored is not turned into an
/// object.
package enum FetchedRecord: Sendable {
    /// A record that is stored as it was received.
    case row(FetchedRow)
    /// A record with parts that had to be interpreted: encrypted values, assets or participants.
    indirect case record(RecordSnapshot)
}

/// A record as it was received: its fields are the bytes to store, not decoded.
///
/// A class, so that a page and its observers share one instance: with a million records, copies
/// would be costly.
package final class FetchedRow: Sendable {
    package let name: String
    package let type: String
    package let system: RecordSnapshot.SystemFields
    package let parentRecordName: String?
    /// JSON with the fields in the order of their names, each value with its type; see
    /// `RecordFields.kept`.
    package let fields: [UInt8]
    /// The key by which the device's file finds the record, and the system fields in their stored form; both are made
    /// during the fetch, not while the file is written.
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

/// One page of the changes in a zone, in order.
package struct FetchedPage: Sendable {
    package var records: [FetchedRecord] = []
    package var deletedNames: [String] = []
    /// The errors of the records whose fields this version of the client cannot read, by name.
    package var unreadable: [String: CKError] = [:]
    /// When deleted records were created, by name; the service reports this only after a loss of history.
    package var createdMillisecondsOfDeleted: [String: Int64] = [:]
    package var token: String
    package var moreComing: Bool
    /// The maximum number of changes that follow; nil if the service does not say.
    package var remainingCount: Int?
}

extension RecordReader {
    /// The record as it is stored, if this device has nothing to interpret in it.
    ///
    /// - Parameter zoneID: the requested zone.
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
        // Fields that cannot be read here are decoded again as an object, which throws the error.
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

    /// Nil for a record without a change tag, and for times that a `Date` cannot represent to the
    /// millisecond.
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

    /// The fields as this device stores them; nil if there are encrypted values or assets.
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

    /// The reference with its zone, whose owner has the name that this device uses.
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
