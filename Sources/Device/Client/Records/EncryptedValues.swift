import Foundation

/// The encrypted fields of a record.
final class EncryptedValues: NSObject, CKRecordKeyValueSetting, NSCopying, Sendable {
    private let record: CKRecord

    init(record: CKRecord) {
        self.record = record
    }

    func object(forKey key: CKRecord.FieldKey) -> (any CKRecordValue)? {
        record.state.withLock { state in
            state.readKeys?.insert(key)
            return state.encryptedKeys.contains(key) ? state.values[key] : nil
        }?.object
    }

    /// Sets an encrypted field. References and assets are refused when the record is saved.
    ///
    /// - Precondition: as for the record's own fields.
    func setObject(_ object: (any CKRecordValue)?, forKey key: CKRecord.FieldKey) {
        record.set(object, forKey: key, isEncrypted: true)
    }

    subscript(key: CKRecord.FieldKey) -> (any CKRecordValue)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    func allKeys() -> [CKRecord.FieldKey] {
        record.state.withLock { state in state.values.keys.filter(state.encryptedKeys.contains) }
            .sorted()
    }

    func changedKeys() -> [CKRecord.FieldKey] {
        record.state.withLock { state in state.changes.keys.filter(state.encryptedKeys.contains) }
            .sorted()
    }

    /// Returns itself: the values belong to the record.
    func copy(with zone: NSZone? = nil) -> Any { self }
}

extension CKRecord {
    /// The fields whose values only the devices of the user, and of a share's participants, can read.
    ///
    /// They are encrypted on this device before they are sent, with a key that the service never
    /// sees. They cannot be queried, sorted or indexed. In the public database, and for references
    /// and assets, saving fails with `CKError.invalidArguments`. A field is either encrypted or
    /// plain and cannot change; an encrypted one can also be read and set on the record itself. A
    /// value whose key this device lacks reads as nil; see
    /// `Documentation/Decisions/0010-encrypted-values.md`.
    ///
    /// ```swift
    /// record.encryptedValues["diary"] = "We met a marmot."
    /// let diary = record.encryptedValues["diary"] as? String
    /// ```
    public var encryptedValues: any CKRecordKeyValueSetting & Sendable {
        EncryptedValues(record: self)
    }
}
