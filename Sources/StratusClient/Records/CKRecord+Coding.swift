import Foundation
import StratusRecords
import StratusWire

extension CKRecord {
    /// Writes the whole record, with its values and the changes that are not saved yet.
    public func encode(with coder: NSCoder) {
        let state = self.state.withLock { $0 }
        encodeSystemFields(state, with: coder)
        coder.archive(state.values, "values")
        coder.archive(Array(state.changes.keys), "changedKeys")
        coder.archive(state.changes.compactMapValues(\.base), "base")
        coder.encode(state.parentSerial != nil, forKey: "isParentChanged")
    }

    /// Writes all that the record is but its values: identity, type, change tag, dates, share,
    /// parent.
    ///
    /// An app keeps this beside its own row and rebuilds the record with `init(coder:)`.
    public func encodeSystemFields(with coder: NSCoder) {
        encodeSystemFields(state.withLock { $0 }, with: coder)
    }

    private func encodeSystemFields(_ state: RecordState, with coder: NSCoder) {
        coder.archive(recordType, "recordType")
        coder.archive(recordID, "recordID")
        coder.archive(state.changeTag, "changeTag")
        coder.archive(state.creationDate, "creationDate")
        coder.archive(state.creatorName, "creatorName")
        coder.archive(state.modificationDate, "modificationDate")
        coder.archive(state.modifierName, "modifierName")
        coder.archive(state.share, "share")
        coder.archive(state.parent, "parent")
        state.sharing?.archive(with: coder)
    }
}

extension RecordState {
    /// Reads either form of archive; nil when a part that must be there is of another kind.
    init?(coder: NSCoder) {
        self.init()
        changeTag = coder.archivedString("changeTag")
        creationDate = coder.archivedDate("creationDate")
        creatorName = coder.archivedString("creatorName")
        modificationDate = coder.archivedDate("modificationDate")
        modifierName = coder.archivedString("modifierName")
        share = coder.archivedObject(CKReference.self, "share")
        parent = coder.archivedObject(CKReference.self, "parent")
        if coder.containsValue(forKey: "sharing") {
            guard let sharing = ShareState(coder: coder) else { return nil }
            self.sharing = sharing
        }
        guard coder.containsValue(forKey: "values") else { return }
        guard let values = coder.archivedValues("values"),
            let changedKeys = coder.archivedStrings("changedKeys"),
            let base = coder.archivedValues("base")
        else { return nil }
        self.values = values
        changeCount = 1
        for key in changedKeys {
            changes[key] = Change(base: base[key], serial: 1)
        }
        parentSerial = coder.decodeBool(forKey: "isParentChanged") ? 1 : nil
    }
}

extension NSCoder {
    /// Writes values as the protocol has them. Dates are cut to milliseconds; what no field can
    /// hold is left out.
    fileprivate func archive(_ values: [String: StoredValue], _ key: String) {
        let fields = values.compactMap { name, value in
            value.fieldValue.map { Field(name: name, value: $0) }
        }
        encode(Data(RecordFields.values(fields).encoded()) as NSData, forKey: key)
    }

    fileprivate func archivedValues(_ key: String) -> [String: StoredValue]? {
        guard let data = archivedData(key) else { return nil }
        // Owners of zones stand in the archive as they were shown, so they are read as they stand.
        var reader = RecordReader(scope: .shared)
        // A damaged archive is told as nil, like every other one.
        guard let fields = try? RecordFields.encoded([UInt8](data)).values() else { return nil }
        var values: [String: StoredValue] = [:]
        for field in fields {
            if let value = field.value {
                values[field.name] = reader.stored(value, in: .default)
            }
        }
        return values
    }
}
