import Foundation
import StratusRecords
import StratusWire

extension CKRecord {
    /// A record as a request carries it, and the point in its history that the request stands for.
    struct Draft: Sendable {
        var operation: RecordsModify.Operation
        var changeCount: Int
        /// The record before its changes; the ancestor of a conflict.
        var base: RecordState
        var hasAllFields: Bool
        /// What the owner of a share had decided.
        var terms: ShareState.Terms?
    }

    /// Writes the record for a save.
    ///
    /// Participants are saved on the share's change tag alone, whatever the policy.
    ///
    /// - Throws: `CKError.invalidArguments` when a field holds what no field can hold.
    func draft(policy: CKModifyRecordsOperation.RecordSavePolicy) throws -> Draft {
        let state = self.state.withLock { $0 }
        let terms = state.sharing?.terms
        let isShareChanged = terms.map { state.changeTag == nil || $0 != state.sharing?.known }
        let kind: RecordsModify.Kind =
            if policy == .ifServerRecordUnchanged || isShareChanged == true {
                state.changeTag == nil ? .create : .update
            } else {
                .forceUpdate
            }
        var dictionary = RecordDictionary(
            recordName: recordID.recordName, recordType: recordType,
            recordChangeTag: kind == .update ? state.changeTag : nil,
            zoneID: recordID.zoneID.dictionary)
        var keys = Set(state.changes.keys)
        if policy == .allKeys || kind == .create { keys.formUnion(state.values.keys) }
        dictionary.fields = .values(try Self.fields(Array(keys), of: state))
        if state.parentSerial != nil || (policy == .allKeys && state.parent != nil) {
            dictionary.parentRecordName =
                state.parent.map { .some($0.recordID.recordName) } ?? .none
        }
        if let sharing = state.sharing, let terms {
            dictionary.share = try sharing.draft(terms, isNew: state.changeTag == nil)
        }
        let hasAllFields = kind == .forceUpdate
        return Draft(
            operation: RecordsModify.Operation(
                kind, dictionary, desiredKeys: hasAllFields ? nil : []),
            changeCount: state.changeCount, base: state.base, hasAllFields: hasAllFields,
            terms: terms)
    }

    /// Takes over the answer to a save.
    func confirm(_ draft: Draft, _ server: RecordState) {
        state.withLock {
            $0.confirm(server, sentCount: draft.changeCount, hasAllFields: draft.hasAllFields)
            if let share = server.sharing, let terms = draft.terms {
                $0.sharing?.confirm(share, sent: terms)
            }
        }
    }
}

/// Turns the dictionaries of answers into records, for one database.
///
/// Zone identities are made once per page, and the owner's name is what the framework shows:
/// `CKCurrentUserDefaultName` everywhere but in the shared database.
struct RecordReader {
    let scope: DatabaseScope
    /// The beginning of shares' links.
    let linkOrigin: String?
    private var zones: [ZoneIDDictionary: CKRecordZoneID] = [:]

    init(scope: DatabaseScope, linkOrigin: String? = nil) {
        self.scope = scope
        self.linkOrigin = linkOrigin
    }

    mutating func zoneID(_ dictionary: ZoneIDDictionary) -> CKRecordZoneID {
        if let known = zones[dictionary] { return known }
        let owner = scope == .shared ? dictionary.ownerRecordName : nil
        let zoneID = CKRecordZoneID(
            zoneName: dictionary.zoneName, ownerName: owner ?? CKCurrentUserDefaultName)
        zones[dictionary] = zoneID
        return zoneID
    }

    /// Makes a record of an answer's dictionary.
    ///
    /// - Parameter zoneID: the zone that was asked, for answers that leave it out.
    mutating func record(
        _ dictionary: RecordDictionary, in zoneID: CKRecordZoneID
    ) throws -> CKRecord {
        guard let name = dictionary.recordName, let type = dictionary.recordType else {
            throw CKError(.internalError, "The service answered a record without name or type.")
        }
        let zoneID = dictionary.zoneID.map { self.zoneID($0) } ?? zoneID
        return CKRecord.made(
            recordType: type, recordID: CKRecordID(recordName: name, zoneID: zoneID),
            state: try state(dictionary, in: zoneID))
    }

    mutating func state(
        _ dictionary: RecordDictionary, in zoneID: CKRecordZoneID
    ) throws -> RecordState {
        var state = RecordState()
        state.changeTag = dictionary.recordChangeTag
        state.creationDate = dictionary.created.map { Date(milliseconds: $0.timestampMilliseconds) }
        state.creatorName = dictionary.created?.userRecordName
        state.modificationDate =
            dictionary.modified.map { Date(milliseconds: $0.timestampMilliseconds) }
        state.modifierName = dictionary.modified?.userRecordName
        if case .some(let name) = dictionary.parentRecordName {
            state.parent = CKReference(
                recordID: CKRecordID(recordName: name, zoneID: zoneID), action: .none)
        }
        state.share = dictionary.shareRecordName.map {
            CKReference(recordID: CKRecordID(recordName: $0, zoneID: zoneID), action: .none)
        }
        if dictionary.recordType == CKRecord.SystemType.share || dictionary.share != nil {
            state.sharing = ShareState(
                dictionary.share ?? ShareDictionary(), shortGUID: dictionary.shortGUID,
                linkOrigin: linkOrigin)
        }
        let fields: [Field]
        do {
            fields = try dictionary.fields.values()
        } catch {
            throw CKError(
                .internalError, "The service answered fields that cannot be read.", cause: error)
        }
        state.values.reserveCapacity(fields.count)
        for field in fields {
            if let value = field.value {
                state.values[field.name] = stored(value, in: zoneID)
            }
        }
        return state
    }

    mutating func stored(_ value: FieldValue, in zoneID: CKRecordZoneID) -> StoredValue {
        switch value {
        case .reference(let target): .object(reference(target, in: zoneID))
        case .referenceList(let targets):
            .object(NSArray(array: targets.map { reference($0, in: zoneID) }))
        default: .wire(value)
        }
    }

    private mutating func reference(_ target: Reference, in zoneID: CKRecordZoneID) -> CKReference {
        let zone = target.zoneID.map {
            self.zoneID(ZoneIDDictionary(zoneName: $0.name, ownerRecordName: $0.ownerName))
        }
        return CKReference(
            recordID: CKRecordID(recordName: target.recordName, zoneID: zone ?? zoneID),
            action: target.action == .deleteSelf ? .deleteSelf : .none)
    }
}
