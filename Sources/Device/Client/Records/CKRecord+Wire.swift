import Foundation
import StratusRecords
import StratusWire

extension CKRecord {
    /// A record as a request sends it, with the record's state at that time.
    struct Draft: Sendable {
        var operation: RecordsModify.Operation
        /// The fields to send, except those in ``assetFields``.
        var fields: [Field]
        /// Fields of ``fields`` whose values must be encrypted first.
        var openKeys: Set<String> = []
        /// Fields with files, some of which must be uploaded first.
        var assetFields: [AssetField] = []
        /// The state of the record that is sent.
        var sent: RecordState
        var hasAllFields: Bool
        /// The values of the assets that were uploaded.
        var receipts: [ObjectIdentifier: AssetReceipt] = [:]
        /// The terms of a share that are sent.
        var terms: ShareState.Terms?

        /// The record before its changes, which is the ancestor of a conflict.
        var base: RecordState { sent.base }
    }

    struct AssetField: Sendable {
        var name: String
        var assets: [CKAsset]
        var isList: Bool
    }

    /// Makes the draft of a save, without asset values and with unencrypted values.
    ///
    /// Participants are saved only with the share's change tag, regardless of the policy.
    ///
    /// - Parameter replaces: whether all fields are sent and the service clears all others, if its change tag is the
    ///   record's.
    /// - Throws: `CKError.invalidArguments` when a field has a value that no field can hold.
    func draft(
        policy: CKModifyRecordsOperation.RecordSavePolicy, replaces: Bool = false
    ) throws -> Draft {
        let state = self.state.withLock { $0 }
        let terms = state.sharing?.terms
        let isShareChanged = terms.map { state.changeTag == nil || $0 != state.sharing?.known }
        let kind: RecordsModify.Kind =
            if policy == .ifServerRecordUnchanged || isShareChanged == true {
                state.changeTag == nil ? .create : replaces ? .replace : .update
            } else {
                .forceUpdate
            }
        var dictionary = RecordDictionary(
            recordName: recordID.recordName, recordType: recordType,
            recordChangeTag: kind == .forceUpdate ? nil : state.changeTag,
            zoneID: recordID.zoneID.dictionary)
        var keys = Set(state.changes.keys)
        let isWhole = policy == .allKeys || kind == .create || kind == .replace
        if state.parentSerial != nil || (isWhole && state.parent != nil) {
            dictionary.parentRecordName =
                state.parent.map { .some($0.recordID.recordName) } ?? .none
        }
        if isWhole { keys.formUnion(state.values.keys) }
        var assetFields: [AssetField] = []
        for key in keys {
            guard let value = state.values[key], let assets = value.assets else { continue }
            if state.encryptedKeys.contains(key) { throw Self.cannotBeEncrypted(key) }
            assetFields.append(AssetField(name: key, assets: assets, isList: value.isList))
        }
        keys.subtract(assetFields.map(\.name))
        if let sharing = state.sharing, let terms {
            dictionary.share = try sharing.draft(terms, isNew: state.changeTag == nil)
        }
        let hasAllFields = kind == .forceUpdate
        let openKeys = keys.filter { state.mustEncrypt($0) }
        for key in openKeys where state.values[key]?.isReference == true {
            throw Self.cannotBeEncrypted(key)
        }
        return Draft(
            operation: RecordsModify.Operation(
                kind, dictionary, desiredKeys: hasAllFields ? nil : []),
            fields: try Self.fields(Array(keys), of: state), openKeys: openKeys,
            assetFields: assetFields,
            sent: state, hasAllFields: hasAllFields, terms: terms)
    }

    private static func cannotBeEncrypted(_ key: String) -> CKError {
        CKError(
            .invalidArguments,
            "The field \(key) has a reference or an asset, which cannot be encrypted; keep it out of"
                + " encryptedValues.",
            details: [CKError.fieldNameKey: key])
    }

    /// This record as the holder of assets.
    var assetHolder: CKAsset.Holder {
        CKAsset.Holder(recordName: recordID.recordName, zoneID: recordID.zoneID)
    }

    /// The record without plain values that the service returned for encrypted fields.
    func withoutPlainValues(of keys: Set<String>) -> CKRecord {
        state.withLock { $0.dropPlainValues(of: keys) }
        return self
    }

    /// Updates the record with the answer to a save.
    func confirm(_ draft: Draft, _ server: RecordState) {
        for asset in draft.assetFields.lazy.flatMap(\.assets) {
            guard let receipt = draft.receipts[ObjectIdentifier(asset)] else { continue }
            asset.keep(receipt, in: assetHolder)
        }
        state.withLock {
            $0.confirm(server, sent: draft.sent, hasAllFields: draft.hasAllFields)
            if let share = server.sharing, let terms = draft.terms {
                $0.sharing?.confirm(share, sent: terms)
            }
        }
    }
}

extension RecordState {
    fileprivate func mustEncrypt(_ key: String) -> Bool {
        guard encryptedKeys.contains(key), let value = values[key] else { return false }
        if case .sealed = value { return false }
        return true
    }
}

extension CKRecord.Draft {
    /// A field with a plain value that this device encrypts; nil if there is none.
    ///
    /// - Parameter keys: the encrypted fields of the record's type.
    func plainField(of keys: Set<String>) -> String? {
        fields.first { $0.value != nil && !$0.isEncrypted && keys.contains($0.name) }?.name
            ?? assetFields.first { keys.contains($0.name) }?.name
    }

    /// The operation with all fields.
    ///
    /// - Parameter holder: the record; assets that it holds already need no upload.
    func complete(in holder: CKAsset.Holder) -> RecordsModify.Operation {
        var fields = fields
        for field in assetFields {
            let values = field.assets.compactMap {
                receipts[ObjectIdentifier($0)] ?? $0.value(in: holder)
            }
            let value: FieldValue? =
                field.isList ? .assetList(values) : values.first.map { .asset($0) }
            fields.append(Field(name: field.name, value: value))
        }
        fields.sort { $0.name < $1.name }
        var operation = operation
        operation.record.fields = .values(fields)
        return operation
    }
}

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
