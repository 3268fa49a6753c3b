import StratusRecords
import StratusStorage
import StratusWire

/// The record types of a container and their fields, the marks of system fields among them.
struct ContainerSchema: Hashable, Sendable {
    struct FieldRule: Hashable, Sendable {
        var type: FieldType
        var isEncrypted: Bool
        /// What queries may do with the field.
        var indexes: FieldIndexes = []
    }

    private(set) var types: [String: [String: FieldRule]] = [:]

    init(_ rows: [SchemaFieldRow] = []) {
        for row in rows { add(row) }
    }

    /// Adds a type or a field; a field that is there keeps its type.
    mutating func add(_ row: SchemaFieldRow) {
        guard let field = row.field, let type = row.type else {
            types[row.recordType, default: [:]] = types[row.recordType] ?? [:]
            return
        }
        guard types[row.recordType]?[field] == nil else { return }
        types[row.recordType, default: [:]][field] = FieldRule(
            type: type, isEncrypted: row.isEncrypted, indexes: row.indexes)
    }

    /// The fields that every share may have.
    static let shareFields: [String: FieldType] = [
        "cloudkit.title": .string, "cloudkit.thumbnailImageData": .bytes, "cloudkit.type": .string,
    ]

    func hasType(_ recordType: String) -> Bool { types[recordType] != nil }

    /// What is said of a field, or of a system field by its ``SchemaSystemField`` name; nil for one that
    /// the schema does not name.
    func rule(for field: String, of recordType: String) -> FieldRule? {
        if recordType == ShareDictionary.recordType, let type = Self.shareFields[field] {
            return FieldRule(type: type, isEncrypted: false)
        }
        return types[recordType]?[field]
    }
}
