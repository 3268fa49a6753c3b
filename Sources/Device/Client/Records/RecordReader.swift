import Foundation
import StratusRecords
import StratusWire

/// Makes records from the dictionaries of answers, for one database.
///
/// A zone's ID is created once per page. The owner's name is the one that the framework shows:
/// `CKCurrentUserDefaultName` everywhere except in the shared database.
struct RecordReader {
    let scope: DatabaseScope
    /// Whether encrypted values are stored unencrypted, as in this device's own stores.
    private var isLocal = false
    /// The origin of share links.
    let linkOrigin: String?
    /// The fields that this device encrypts: their plain values are ignored.
    let encryptedKeys: EncryptedKeys
    private var zones: [ZoneIDDictionary: CKRecordZoneID] = [:]
    /// Whether some records lack their assets' bytes, decrypted values, or the key in a share's
    /// link; see `DatabaseSession.complete(_:progress:)`.
    private(set) var isIncomplete = false
    /// Whether only some fields of the records were requested.
    var lacksFields = false

    init(
        scope: DatabaseScope, linkOrigin: String? = nil, encryptedKeys: EncryptedKeys = [:]
    ) {
        self.scope = scope
        self.linkOrigin = linkOrigin
        self.encryptedKeys = encryptedKeys
    }

    /// Reads records from this device's own stores, which have owners' names as the framework shows
    /// them.
    static var local: RecordReader {
        var reader = RecordReader(scope: .shared)
        reader.isLocal = true
        return reader
    }

    mutating func zoneID(_ dictionary: ZoneIDDictionary) -> CKRecordZoneID {
        if let known = zones[dictionary] { return known }
        let owner = scope == .shared ? dictionary.ownerRecordName : nil
        let zoneID = CKRecordZoneID(
            known: dictionary.zoneName, ownerName: owner ?? CKCurrentUserDefaultName)
        zones[dictionary] = zoneID
        return zoneID
    }

    /// Makes a record from an answer's dictionary.
    ///
    /// - Parameter zoneID: the requested zone, for answers that leave it out.
    mutating func record(
        _ dictionary: RecordDictionary, in zoneID: CKRecordZoneID
    ) throws -> CKRecord {
        guard let name = dictionary.recordName, let type = dictionary.recordType else {
            throw CKError(
                .internalError,
                "The service returned a record without a name or type; try again, or update the service."
            )
        }
        let zoneID = dictionary.zoneID.map { self.zoneID($0) } ?? zoneID
        return CKRecord.made(
            recordType: type, recordID: CKRecordID(known: name, zoneID: zoneID),
            state: try state(dictionary, in: zoneID))
    }

    mutating func state(
        _ dictionary: RecordDictionary, in zoneID: CKRecordZoneID
    ) throws -> RecordState {
        var state = RecordState()
        state.lacksFields = lacksFields
        state.changeTag = dictionary.recordChangeTag
        state.creationDate = dictionary.created.map { Date(milliseconds: $0.timestampMilliseconds) }
        state.creatorName = dictionary.created?.userRecordName
        state.modificationDate =
            dictionary.modified.map { Date(milliseconds: $0.timestampMilliseconds) }
        state.modifierName = dictionary.modified?.userRecordName
        if case .some(let name) = dictionary.parentRecordName {
            state.parent = CKReference(
                recordID: CKRecordID(known: name, zoneID: zoneID), action: .none)
        }
        state.share = dictionary.shareRecordName.map {
            CKReference(recordID: CKRecordID(known: $0, zoneID: zoneID), action: .none)
        }
        if dictionary.recordType == CKRecord.SystemType.share || dictionary.share != nil {
            state.sharing = ShareState(
                dictionary.share ?? ShareDictionary(), shortGUID: dictionary.shortGUID,
                linkOrigin: linkOrigin)
            isIncomplete = true
        }
        let fields: [Field]
        do {
            fields = try dictionary.fields.values()
        } catch {
            throw CKError(
                .internalError,
                "The service returned the record \(dictionary.recordName ?? "without a name") with fields"
                    + " that cannot be read; update the app or the service.",
                cause: error)
        }
        let holder = dictionary.recordName.map { CKAsset.Holder(recordName: $0, zoneID: zoneID) }
        set(fields, of: &state, in: zoneID, holder: holder)
        if let keys = dictionary.recordType.flatMap({ encryptedKeys[$0] }) {
            state.dropPlainValues(of: keys)
        }
        return state
    }

    /// Makes the state of a record from a store of this device; a share's state has no
    /// participants.
    mutating func state(_ record: RecordSnapshot, in zoneID: CKRecordZoneID) -> RecordState {
        var state = RecordState()
        if let system = record.system {
            state.changeTag = system.changeTag
            state.creationDate = system.createdMilliseconds.map { Date(milliseconds: $0) }
            state.creatorName = system.createdMilliseconds.map { _ in
                system.creatorRecordName ?? ""
            }
            state.modificationDate = system.modifiedMilliseconds.map { Date(milliseconds: $0) }
            state.modifierName = system.modifiedMilliseconds.map { _ in
                system.modifierRecordName ?? ""
            }
            state.share = system.shareRecordName.map {
                CKReference(recordID: CKRecordID(known: $0, zoneID: zoneID), action: .none)
            }
        }
        state.parent = record.parentRecordName.map {
            CKReference(recordID: CKRecordID(known: $0, zoneID: zoneID), action: .none)
        }
        let holder = CKAsset.Holder(recordName: record.id.name, zoneID: zoneID)
        set(record.fields, of: &state, in: zoneID, holder: holder)
        return state
    }

    private mutating func set(
        _ fields: [Field], of state: inout RecordState, in zoneID: CKRecordZoneID,
        holder: CKAsset.Holder?
    ) {
        state.values.reserveCapacity(fields.count)
        for field in fields {
            if field.isEncrypted { state.encryptedKeys.insert(field.name) }
            if let value = stored(field, in: zoneID, holder: holder) {
                state.values[field.name] = value
            }
        }
    }

    /// - Returns: nil for a field without a value, and for an encrypted field with a plain value:
    ///   the writer had no key, so the value cannot be trusted.
    mutating func stored(
        _ field: Field, in zoneID: CKRecordZoneID, holder: CKAsset.Holder?
    ) -> StoredValue? {
        guard let value = field.value else { return nil }
        guard field.isEncrypted else { return stored(value, in: zoneID, holder: holder) }
        guard case .bytes(let bytes) = value else {
            return isLocal ? stored(value, in: zoneID, holder: nil) : nil
        }
        if isLocal, let open = SealedValue.open(bytes) { return .wire(.bytes(open)) }
        guard SealedValue.isSealed(bytes) else { return nil }
        isIncomplete = true
        return .sealed(bytes)
    }

    mutating func stored(
        _ value: FieldValue, in zoneID: CKRecordZoneID, holder: CKAsset.Holder? = nil
    ) -> StoredValue {
        switch value {
        case .asset(let receipt): .object(asset(receipt, holder))
        case .assetList(let receipts):
            .object(NSArray(array: receipts.map { asset($0, holder) }))
        case .reference(let target): .object(reference(target, in: zoneID))
        case .referenceList(let targets):
            .object(NSArray(array: targets.map { reference($0, in: zoneID) }))
        default: .wire(value)
        }
    }

    private mutating func asset(_ receipt: AssetReceipt, _ holder: CKAsset.Holder?) -> CKAsset {
        isIncomplete = true
        guard receipt.isLocal else { return CKAsset(receipt, in: holder) }
        // The store that has the file sets its location.
        return CKAsset(onlyIn: KeptAsset(value: receipt) { nil })
    }

    private mutating func reference(_ target: Reference, in zoneID: CKRecordZoneID) -> CKReference {
        let zone = target.zoneID.map {
            self.zoneID(ZoneIDDictionary(zoneName: $0.name, ownerRecordName: $0.ownerName))
        }
        return CKReference(
            recordID: CKRecordID(known: target.recordName, zoneID: zone ?? zoneID),
            action: target.action == .deleteSelf ? .deleteSelf : .none)
    }
}
