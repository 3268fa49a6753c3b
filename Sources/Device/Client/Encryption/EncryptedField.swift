/// A field whose values an app keeps in `encryptedValues`, in all records of a type.
public struct EncryptedField: Hashable, Sendable {
    /// The type of the records that have the field.
    public var recordType: String
    /// The field's name.
    public var key: String

    /// Names a field of all records of a type.
    public init(recordType: String, key: String) {
        self.recordType = recordType
        self.key = key
    }
}

/// The names of encrypted fields by record type.
package typealias EncryptedKeys = [String: Set<String>]

extension Dictionary where Key == String, Value == Set<String> {
    package init(_ fields: Set<EncryptedField>) {
        self.init()
        for field in fields { self[field.recordType, default: []].insert(field.key) }
    }
}

extension CKError {
    /// The error of a record that has a plain value in an encrypted field.
    ///
    /// The sentence includes type and key, which are names that the app chose: a developer who
    /// reads it in a log must find the line of code.
    package static func plainValue(of field: EncryptedField) -> CKError {
        CKError(
            .invalidArguments,
            "This device has encrypted \(field.key) of \(field.recordType), and does not send it"
                + " unencrypted; set it in encryptedValues, as before, or give a plain field another"
                + " name.",
            details: [recordTypeKey: field.recordType, fieldNameKey: field.key])
    }
}
