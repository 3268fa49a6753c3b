import Foundation
import StratusRecords
import StratusWire

/// A record's content as plain values, for stores that keep records without archiving objects.
package struct RecordContent: Hashable, Sendable {
    /// What the service knows; nil for a record that it does not have.
    package var changeTag: String?
    package var created: RecordDictionary.Stamp?
    package var modified: RecordDictionary.Stamp?
    package var shareRecordName: String?
    package var parentRecordName: String?
    /// What only a share has, of a record that is one and that the service has; opaque.
    package var sharing: [UInt8]?
    package var fields: [Field]

    package init(
        changeTag: String? = nil, created: RecordDictionary.Stamp? = nil,
        modified: RecordDictionary.Stamp? = nil, shareRecordName: String? = nil,
        parentRecordName: String? = nil, sharing: [UInt8]? = nil, fields: [Field] = []
    ) {
        self.changeTag = changeTag
        self.created = created
        self.modified = modified
        self.shareRecordName = shareRecordName
        self.parentRecordName = parentRecordName
        self.sharing = sharing
        self.fields = fields
    }
}

extension CKRecord {
    /// Makes a record of plain values: a share where the service has one.
    ///
    /// - Parameters:
    ///   - content: what the service knows and, without `edited`, the values of the record.
    ///   - edited: the values that the record shall have; what differs from `content` counts as
    ///     changed.
    package static func made(
        recordType: RecordType, recordID: CKRecord.ID, content: RecordContent,
        edited: RecordContent? = nil
    ) throws -> CKRecord {
        var reader = RecordReader.local
        var state = try reader.state(content.dictionary, in: recordID.zoneID)
        if let edited {
            let wanted = try reader.state(edited.dictionary, in: recordID.zoneID)
            let known = Dictionary(content.fields.map { ($0.name, $0.value) }) { $1 }
            let named = Set(edited.fields.map(\.name))
            for field in edited.fields where known[field.name] != .some(field.value) {
                state.set(
                    wanted.values[field.name], for: field.name, isEncrypted: field.isEncrypted)
            }
            for name in known.keys where !named.contains(name) {
                state.set(nil, for: name, isEncrypted: state.encryptedKeys.contains(name))
            }
            if edited.parentRecordName != content.parentRecordName {
                state.setParent(wanted.parent)
            }
        }
        if recordType == SystemType.share, content.changeTag != nil {
            // Without content it was kept before stores knew of shares: its people are unknown.
            state.sharing =
                content.sharing.flatMap { ShareState(content: $0) }
                ?? ShareState(ShareDictionary(), shortGUID: nil, linkOrigin: nil)
        }
        return made(recordType: recordType, recordID: recordID, state: state)
    }

    /// The record as plain values, with its changes.
    ///
    /// - Throws: `CKError.invalidArguments` when a field holds what no field can hold.
    package func content() throws -> RecordContent {
        try Self.content(of: state.withLock { $0 })
    }

    private static func content(of state: RecordState) throws -> RecordContent {
        RecordContent(
            changeTag: state.changeTag, created: stamp(state.creationDate, state.creatorName),
            modified: stamp(state.modificationDate, state.modifierName),
            shareRecordName: state.share?.recordID.recordName,
            parentRecordName: state.parent?.recordID.recordName,
            sharing: state.changeTag == nil ? nil : state.sharing?.content,
            fields: try fields(Array(state.values.keys), of: state, areLocal: true))
    }

    /// What an app did to a record, at one moment.
    package struct Edit {
        /// The record with its changes.
        package var content: RecordContent
        /// The record before them.
        package var original: RecordContent
        /// The fields that were set, or removed (without value).
        package var changes: [Field]
        package var isParentChanged: Bool
        /// Whether the service, or a store of this device, had the record before.
        package var isKnown: Bool
        fileprivate var changeCount: Int
    }

    /// What was done to the record since it was fetched, made or kept.
    ///
    /// - Throws: `CKError.invalidArguments` when a field holds what no field can hold.
    package func edit() throws -> Edit {
        let state = self.state.withLock { $0 }
        var original = try Self.content(of: state.base)
        // What the parent was is not remembered.
        if state.parentSerial != nil { original.parentRecordName = nil }
        return Edit(
            content: try Self.content(of: state), original: original,
            changes: try Self.fields(Array(state.changes.keys), of: state, areLocal: true),
            isParentChanged: state.parentSerial != nil,
            isKnown: state.changeTag != nil || state.isKept, changeCount: state.changeCount)
    }

    /// Takes note that a store of this device has an edit: what came later is another one.
    package func keep(_ edit: Edit) {
        state.withLock { $0.keep(through: edit.changeCount) }
    }

    /// Whether the parent was set or removed since the record was fetched or made.
    package var isParentChanged: Bool { state.withLock { $0.parentSerial != nil } }

    /// Whether it is a share that the service does not have, or whose people were changed here.
    package var isUnsavedShare: Bool {
        state.withLock { state in
            state.sharing.map { state.changeTag == nil || $0.terms != $0.known } ?? false
        }
    }

    private static func stamp(_ date: Date?, _ name: String?) -> RecordDictionary.Stamp? {
        date.map {
            RecordDictionary.Stamp(
                timestampMilliseconds: ($0 as NSDate).wholeMilliseconds, userRecordName: name ?? "",
                deviceID: "")
        }
    }

    /// The named fields in the order of their names; without value where there is none.
    ///
    /// - Parameter areLocal: for this device itself, in place of the service.
    static func fields(
        _ keys: [String], of state: RecordState, areLocal: Bool = false
    ) throws -> [Field] {
        try keys.sorted().map { key in
            let isEncrypted = state.encryptedKeys.contains(key)
            guard let stored = state.values[key] else {
                return Field(name: key, value: nil, isEncrypted: isEncrypted)
            }
            let value =
                areLocal ? stored.localValue(isEncrypted: isEncrypted) : stored.fieldValue
            guard let value else {
                throw CKError(
                    .invalidArguments,
                    "Give the field a string, finite number up to Int64.max, date, data, reference,"
                        + " asset or location, or an array of one of these.",
                    details: [CKError.fieldNameKey: key])
            }
            return Field(name: key, value: value, isEncrypted: isEncrypted)
        }
    }
}

extension RecordContent {
    fileprivate var dictionary: RecordDictionary {
        RecordDictionary(
            recordChangeTag: changeTag, fields: .values(fields), created: created,
            modified: modified,
            parentRecordName: parentRecordName.map { .some($0) } ?? .absent,
            shareRecordName: shareRecordName)
    }
}
