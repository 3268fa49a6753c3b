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
    package var fields: [Field]

    package init(
        changeTag: String? = nil, created: RecordDictionary.Stamp? = nil,
        modified: RecordDictionary.Stamp? = nil, shareRecordName: String? = nil,
        parentRecordName: String? = nil, fields: [Field] = []
    ) {
        self.changeTag = changeTag
        self.created = created
        self.modified = modified
        self.shareRecordName = shareRecordName
        self.parentRecordName = parentRecordName
        self.fields = fields
    }
}

extension CKRecord {
    /// Makes a record of plain values.
    ///
    /// - Parameters:
    ///   - content: what the service knows and, without `edited`, the values of the record.
    ///   - edited: the values that the record shall have; what differs from `content` counts as
    ///     changed.
    package convenience init(
        recordType: RecordType, recordID: CKRecord.ID, content: RecordContent,
        edited: RecordContent? = nil
    ) throws {
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
        self.init(recordType: recordType, recordID: recordID, state: state)
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
            fields: try fields(Array(state.values.keys), of: state))
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
            changes: try Self.fields(Array(state.changes.keys), of: state),
            isParentChanged: state.parentSerial != nil,
            isKnown: state.changeTag != nil || state.isKept, changeCount: state.changeCount)
    }

    /// Takes note that a store of this device has an edit: what came later is another one.
    package func keep(_ edit: Edit) {
        state.withLock { $0.keep(through: edit.changeCount) }
    }

    /// Whether the parent was set or removed since the record was fetched or made.
    package var isParentChanged: Bool { state.withLock { $0.parentSerial != nil } }

    private static func stamp(_ date: Date?, _ name: String?) -> RecordDictionary.Stamp? {
        date.map {
            RecordDictionary.Stamp(
                timestampMilliseconds: ($0 as NSDate).wholeMilliseconds, userRecordName: name ?? "",
                deviceID: "")
        }
    }

    /// The named fields in the order of their names; without value where there is none.
    static func fields(_ keys: [String], of state: RecordState) throws -> [Field] {
        try keys.sorted().map { key in
            let isEncrypted = state.encryptedKeys.contains(key)
            guard let stored = state.values[key] else {
                return Field(name: key, value: nil, isEncrypted: isEncrypted)
            }
            guard let value = stored.fieldValue else {
                throw CKError(
                    .invalidArguments,
                    "Give the field a string, number, date, data, reference, asset or location, or an"
                        + " array of one of these.",
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
