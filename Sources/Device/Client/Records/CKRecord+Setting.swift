import Foundation
import StratusRecords

extension CKRecord {
    static func unsupportedValue(of key: FieldKey) -> String {
        "The field \(key) has a value of a type that records do not support; give it a string, number,"
            + " date, data, reference, asset or location, or an array of one of these."
    }

    /// Sets a field on behalf of the app; nil removes it.
    ///
    /// A value of an unsupported class ends the process; Apple's platforms raise an exception. An
    /// invalid name is refused by the service, as by Apple's.
    ///
    /// - Parameter isEncrypted: whether it is set as an encrypted value.
    func set(_ object: Any?, forKey key: FieldKey, isEncrypted: Bool = false) {
        let value = StoredValue(object)
        precondition(value?.isSupported ?? true, Self.unsupportedValue(of: key))
        let canBeEncrypted = value.map { !$0.isReference && $0.assets == nil } ?? true
        state.withLock { state in
            // An encrypted field stays encrypted, so that code that copies all fields of a record
            // does not send them unencrypted.
            let staysEncrypted = canBeEncrypted && state.encryptedKeys.contains(key)
            state.set(value, for: key, isEncrypted: isEncrypted || staysEncrypted)
        }
    }
}
