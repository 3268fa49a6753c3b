import StratusRecords
import StratusStorage

/// The record types of a container and the types of their fields.
struct ContainerSchema: Hashable, Sendable {
    struct FieldRule: Hashable, Sendable {
        var type: FieldType
        var isEncrypted: Bool
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
            type: type, isEncrypted: row.isEncrypted)
    }

    func hasType(_ recordType: String) -> Bool { types[recordType] != nil }

    func rule(for field: String, of recordType: String) -> FieldRule? {
        types[recordType]?[field]
    }
}
