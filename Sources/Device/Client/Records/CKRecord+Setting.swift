import Foundation
import StratusRecords

extension CKRecord {
    static let unsupportedValue =
        "The field's value is of no kind that a record keeps; give it a string, number, date, data,"
        + " reference, asset or location, or an array of one of these."

    /// Sets a field on behalf of the app; nil removes it.
    ///
    /// A value of a class that no field can hold ends the process, as it raises an exception on Apple's
    /// platforms. A name that no field can have is the service's to refuse, as is Apple's way too.
    ///
    /// - Parameter isEncrypted: whether it is set as an encrypted value.
    func set(_ object: Any?, forKey key: FieldKey, isEncrypted: Bool = false) {
        let value = StoredValue(object)
        precondition(value?.isSupported ?? true, Self.unsupportedValue)
        let canBeEncrypted = value.map { !$0.isReference && $0.assets == nil } ?? true
        state.withLock { state in
            // What was encrypted once stays so: code that copies all fields of a record must not
            // send them in the clear.
            let staysEncrypted = canBeEncrypted && state.encryptedKeys.contains(key)
            state.set(value, for: key, isEncrypted: isEncrypted || staysEncrypted)
        }
    }
}
