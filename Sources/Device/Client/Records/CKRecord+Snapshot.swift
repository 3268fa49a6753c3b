import Foundation
import StratusRecords
import StratusWire

// Records as plain values, for stores that do not archive objects.

extension RecordSnapshot {
    /// Makes a snapshot of a record with its unsaved changes.
    ///
    /// - Throws: `CKError.invalidArguments` when a field has a value that no field can hold.
    public init(_ record: CKRecord) throws {
        try self.init(record, record.state.withLock { $0 })
    }

    fileprivate init(_ record: CKRecord, _ state: RecordState) throws {
        let system = state.changeTag.map { tag in
            SystemFields(
                changeTag: tag, createdMilliseconds: state.creationDate.map(Self.milliseconds),
                creatorRecordName: state.creationDate.map { _ in state.creatorName ?? "" },
                modifiedMilliseconds: state.modificationDate.map(Self.milliseconds),
                modifierRecordName: state.modificationDate.map { _ in state.modifierName ?? "" },
                shareRecordName: state.share?.recordID.recordName, sharing: state.sharing?.content)
        }
        self.init(
            id: RecordID(record.recordID), type: record.recordType, system: system,
            parentRecordName: state.parent?.recordID.recordName,
            fields: try CKRecord.fields(Array(state.values.keys), of: state, areLocal: true))
    }

    private static func milliseconds(_ date: Date) -> Int64 { (date as NSDate).wholeMilliseconds }

    /// The snapshot as a record of the framework, without changes; a share is a `CKShare`.
    public func record() throws -> CKRecord {
        let recordID = CKRecord.ID(id)
        var reader = RecordReader.local
        return made(reader.state(self, in: recordID.zoneID), recordID, known: system)
    }

    /// The snapshot as a record whose unsaved changes are those since the base, to be saved.
    ///
    /// The service has the base's values; without a base, every value is a change.
    package func record(changedSince base: RecordSnapshot?) throws -> CKRecord {
        let recordID = CKRecord.ID(id)
        let base = base ?? RecordSnapshot(id: id, type: type)
        var reader = RecordReader.local
        var state = reader.state(base, in: recordID.zoneID)
        let wanted = reader.state(self, in: recordID.zoneID)
        let known = Dictionary(base.fields.map { ($0.name, $0.value) }) { $1 }
        let named = Set(fields.map(\.name))
        for field in fields where known[field.name] != .some(field.value) {
            state.set(wanted.values[field.name], for: field.name, isEncrypted: field.isEncrypted)
        }
        for name in known.keys where !named.contains(name) {
            state.set(nil, for: name, isEncrypted: state.encryptedKeys.contains(name))
        }
        if parentRecordName != base.parentRecordName { state.setParent(wanted.parent) }
        return made(state, recordID, known: base.system)
    }

    /// Makes the record; a share has the participants that the service knows.
    private func made(
        _ state: RecordState, _ recordID: CKRecord.ID, known system: SystemFields?
    ) -> CKRecord {
        var state = state
        if type == CKRecord.SystemType.share, let system {
            // A share without content was stored before stores supported shares: its participants
            // are unknown.
            state.sharing =
                system.sharing.flatMap { ShareState(content: $0) }
                ?? ShareState(ShareDictionary(), shortGUID: nil, linkOrigin: nil)
        }
        return CKRecord.made(recordType: type, recordID: recordID, state: state)
    }
}

extension CKRecord {
    /// The changes of the record since it was fetched, created or stored.
    ///
    /// - Throws: `CKError.invalidArguments` when a field has a value that no field can hold.
    package func edit() throws -> LocalEdit {
        let state = self.state.withLock { $0 }
        let isParentChanged = state.parentSerial != nil
        let content = try RecordSnapshot(self, state)
        let original = try RecordSnapshot(self, state.base)
        return LocalEdit(
            id: content.id, type: content.type,
            changes: try Self.fields(Array(state.changes.keys), of: state, areLocal: true),
            initial: content.fields, initialParent: content.parentRecordName,
            parent: isParentChanged ? .set(content.parentRecordName) : .unchanged,
            original: original.system == nil ? nil : original,
            isKnown: state.changeTag != nil || state.isKept, changeCount: state.changeCount)
    }

    /// Starts to record which fields are read.
    package func noteReads() { state.withLock { $0.readKeys = [] } }

    /// The fields that were read since ``noteReads()``, here or in the record from which this one was copied.
    package var readKeys: Set<FieldKey> { state.withLock { $0.readKeys ?? [] } }

    /// The encrypted fields that this device has no key for.
    package var unreadableKeys: Set<FieldKey> {
        state.withLock { state in Set(state.values.filter { !$0.value.isReadable }.keys) }
    }

    /// Notes that a store of this device has an edit: later changes are a new edit.
    package func keep(_ edit: LocalEdit) {
        state.withLock { $0.keep(through: edit.changeCount) }
    }

    /// Whether the parent was set or removed since the record was fetched or made.
    package var isParentChanged: Bool { state.withLock { $0.parentSerial != nil } }

    /// Whether it is a share that the service does not have, or whose participants were changed
    /// here.
    package var isUnsavedShare: Bool {
        state.withLock { state in
            state.sharing.map { state.changeTag == nil || $0.terms != $0.known } ?? false
        }
    }

    /// The fields with these names, in the order of their names; a missing one has no value.
    ///
    /// - Parameter areLocal: whether they are stored on this device rather than sent to the
    ///   service.
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
                    "The field \(key) has a value of a type that records do not support; give it a"
                        + " string, finite number up to Int64.max, date, data, reference, asset or"
                        + " location, or an array of one of these.",
                    details: [CKError.fieldNameKey: key])
            }
            return Field(name: key, value: value, isEncrypted: isEncrypted)
        }
    }
}

extension RecordState {
    /// The record before its unsaved changes.
    var base: RecordState {
        var base = self
        for (key, change) in changes {
            base.values[key] = change.base
        }
        base.changes = [:]
        if parentSerial != nil { base.parent = formerParent }
        (base.parentSerial, base.formerParent) = (nil, nil)
        base.sharing = sharing?.base
        return base
    }
}
