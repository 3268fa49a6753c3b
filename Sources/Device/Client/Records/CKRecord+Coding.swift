import Foundation
import StratusRecords
import StratusWire

extension ArchivedRecordReading {
    /// Decodes a record, or its system fields alone; a share is decoded as a `CKShare`.
    ///
    /// - Returns: nil when the archive is damaged, or of another class of record than requested.
    public init?(coder: NSCoder) {
        guard let record = CKRecord.archived(coder) as? Self else { return nil }
        self = record
    }
}

extension CKRecord {
    fileprivate static func archived(_ coder: NSCoder) -> CKRecord? {
        guard let recordType = coder.archivedString("recordType"),
            let recordID = coder.archivedObject(CKRecordID.self, "recordID"),
            let state = RecordState(coder: coder),
            (state.sharing != nil) == (recordType == SystemType.share)
        else { return nil }
        return made(recordType: recordType, recordID: recordID, state: state)
    }

    /// Writes the whole record, with its values and unsaved changes; a field that was set to an
    /// unsupported value is written with its former value.
    public func encode(with coder: NSCoder) {
        let state = self.state.withLock { $0 }.archivable
        encodeSystemFields(state, with: coder)
        coder.archive(state.values, state.encryptedKeys, "values")
        if state.lacksFields { coder.encode(true, forKey: "lacksFields") }
        coder.archive(Array(state.changes.keys), "changedKeys")
        coder.archive(state.changes.compactMapValues(\.base), state.encryptedKeys, "base")
        coder.archive(tree: Self.archived(state.values), "assets")
        coder.archive(tree: Self.archived(state.changes.compactMapValues(\.base)), "baseAssets")
    }

    /// Writes the record without its values: ID, type, change tag, dates, share and parent.
    ///
    /// An app stores this with its own row and rebuilds the record with `init(coder:)`. The same
    /// system fields give the same bytes: a keyed archiver writes XML, because Foundation on Linux
    /// writes the keys of a binary archive in random order.
    public func encodeSystemFields(with coder: NSCoder) {
        (coder as? NSKeyedArchiver)?.outputFormat = .xml
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
        coder.encode(state.parentSerial != nil, forKey: "isParentChanged")
        coder.archive(state.formerParent, "formerParent")
        state.sharing?.archive(with: coder)
    }
}

extension RecordState {
    /// Decodes either form of archive; nil when a required part is missing or of another type.
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
        changeCount = 1
        parentSerial = coder.decodeBool(forKey: "isParentChanged") ? 1 : nil
        formerParent = coder.archivedObject(CKReference.self, "formerParent")
        guard coder.containsValue(forKey: "values") else {
            // A record that was never saved has no other fields.
            lacksFields = changeTag != nil
            return
        }
        lacksFields = coder.decodeBool(forKey: "lacksFields")
        guard var values = coder.archivedValues("values"),
            let changedKeys = coder.archivedStrings("changedKeys"),
            var base = coder.archivedValues("base"),
            values.addAssets(of: coder, "assets"), base.addAssets(of: coder, "baseAssets")
        else { return nil }
        self.values = values.values
        encryptedKeys = values.encryptedKeys
        // A removed encrypted value is only in the base; its field stays encrypted.
        encryptedKeys.formUnion(base.encryptedKeys)
        for key in changedKeys {
            changes[key] = Change(base: base.values[key], serial: 1)
        }
    }

    /// The record without unsupported values, which cannot be archived: such a field has its former
    /// value. Without a value the change would be decoded as a removal.
    fileprivate var archivable: RecordState {
        var state = self
        for (key, change) in changes {
            guard let value = values[key], value.assets == nil, value.fieldValue == nil
            else { continue }
            state.values[key] = change.base
            state.changes[key] = nil
        }
        return state
    }
}

/// The fields of an archived record.
private struct ArchivedValues {
    var values: [String: StoredValue] = [:]
    var encryptedKeys: Set<String> = []

    /// Decodes the assets that ``CKRecord/archived(_:)`` wrote.
    ///
    /// - Returns: false when the data under the key is damaged.
    mutating func addAssets(of coder: NSCoder, _ key: String) -> Bool {
        guard coder.containsValue(forKey: key) else { return true }
        guard let fields = coder.archivedTree(key) as? [[Any]] else { return false }
        for field in fields {
            guard field.count == 3, let name = field[0] as? String,
                let isList = field[1] as? Bool, let list = field[2] as? [[String]]
            else { return false }
            let assets = list.compactMap(CKAsset.init(archived:))
            guard assets.count == list.count, isList || assets.count == 1 else { return false }
            values[name] = .object(isList ? NSArray(array: assets) : assets[0])
        }
        return true
    }
}

extension CKRecord {
    /// The assets of a record as a tree: the field's name, whether it is a list, and each asset.
    fileprivate static func archived(_ values: [String: StoredValue]) -> [Any] {
        values.compactMap { name, value -> [Any]? in
            guard let assets = value.assets, !assets.isEmpty else { return nil }
            return [name, value.isList, assets.map(\.archived)]
        }
    }
}

extension NSCoder {
    /// Writes values in the protocol's form, with dates in full precision; assets are written
    /// separately.
    fileprivate func archive(
        _ values: [String: StoredValue], _ encryptedKeys: Set<String>, _ key: String
    ) {
        let fields = values.compactMap { name, value -> Field? in
            let isEncrypted = encryptedKeys.contains(name)
            guard value.assets == nil, let local = value.localValue(isEncrypted: isEncrypted)
            else { return nil }
            return Field(name: name, value: local, isEncrypted: isEncrypted)
        }
        encode(Data(RecordFields.values(fields).encoded()) as NSData, forKey: key)
    }

    fileprivate func archivedValues(_ key: String) -> ArchivedValues? {
        guard let data = archivedData(key) else { return nil }
        var reader = RecordReader.local
        // A damaged archive decodes as nil, as everywhere in this module.
        guard let fields = try? RecordFields.encoded([UInt8](data)).values() else { return nil }
        var archived = ArchivedValues()
        for field in fields {
            if let value = reader.stored(field, in: .default, holder: nil) {
                archived.values[field.name] = value
            }
            if field.isEncrypted { archived.encryptedKeys.insert(field.name) }
        }
        return archived
    }
}
