import Foundation

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

    /// Writes all that the record is but its values: identity, type, change tag, dates, share, parent.
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
    /// Every class of object that a field's value can be.
    static let valueClasses: [AnyClass] = [
        NSDictionary.self, NSArray.self, NSString.self, NSNumber.self, NSDate.self, NSData.self,
        CKReference.self, CKRecordID.self, CKRecordZoneID.self, CLLocation.self,
    ]

    fileprivate func archive(_ values: [String: StoredValue], _ key: String) {
        let dictionary = NSMutableDictionary()
        for (name, value) in values {
            if let object = value.object {
                dictionary.setObject(object, forKey: name as NSString)
            }
        }
        encode(dictionary, forKey: key)
    }

    fileprivate func archivedValues(_ key: String) -> [String: StoredValue]? {
        guard containsValue(forKey: key),
            let dictionary = decodeObject(of: Self.valueClasses, forKey: key) as? NSDictionary
        else { return nil }
        var values: [String: StoredValue] = [:]
        for (name, object) in dictionary {
            guard let name = name as? String, let value = StoredValue(object) else { return nil }
            values[name] = value
        }
        return values
    }
}
