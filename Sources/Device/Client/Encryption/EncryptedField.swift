/// A field whose values an app keeps in `encryptedValues`, in all records of a type.
public struct EncryptedField: Hashable, Sendable {
    public var recordType: String
    public var key: String

    public init(recordType: String, key: String) {
        self.recordType = recordType
        self.key = key
    }
}

/// Fields by record type, for those who look at one record after another.
package typealias EncryptedKeys = [String: Set<String>]

extension Dictionary where Key == String, Value == Set<String> {
    package init(_ fields: Set<EncryptedField>) {
        self.init()
        for field in fields { self[field.recordType, default: []].insert(field.key) }
    }
}

extension CKError {
    /// Why a record is not sent that has an encrypted field in the clear.
    ///
    /// Type and key are names that the app chose, and the sentence has them: whoever reads it in a log
    /// must find the line of code.
    package static func plainValue(of field: EncryptedField) -> CKError {
        CKError(
            .invalidArguments,
            "This device has encrypted \(field.key) of \(field.recordType), and sends no value of it in"
                + " the clear; set it in encryptedValues, as before, or give a plain field another"
                + " name.",
            details: [recordTypeKey: field.recordType, fieldNameKey: field.key])
    }
}
