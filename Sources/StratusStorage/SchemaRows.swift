import StratusRecords

/// A field of a record type, or the marks of a ``SchemaSystemField`` in it. A type without either has
/// one row whose field is nil.
public struct SchemaFieldRow: Hashable, Sendable {
    public var recordType: String
    public var field: String?
    public var type: FieldType?
    public var isEncrypted: Bool
    public var indexes: FieldIndexes

    public init(
        recordType: String, field: String?, type: FieldType?, isEncrypted: Bool = false,
        indexes: FieldIndexes = []
    ) {
        self.recordType = recordType
        self.field = field
        self.type = type
        self.isEncrypted = isEncrypted
        self.indexes = indexes
    }

    /// The marks of a system field.
    public init(recordType: String, _ field: SchemaSystemField, indexes: FieldIndexes) {
        self.init(
            recordType: recordType, field: field.rawValue, type: field.type, indexes: indexes)
    }
}
