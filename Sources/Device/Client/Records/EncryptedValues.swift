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
