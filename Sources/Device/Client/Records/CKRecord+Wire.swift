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
