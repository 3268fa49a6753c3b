import StratusRecords

/// One change of a schema.
public enum SchemaChange: Hashable, Sendable {
    public struct FieldName: Hashable, Sendable, CustomStringConvertible {
        public var recordType: String
        public var field: String

        public init(recordType: String, field: String) {
            self.recordType = recordType
            self.field = field
        }

        public var description: String { "\(recordType).\(field)" }
    }

    case roleAdded(String)
    case roleRemoved(String)
    case recordTypeAdded(String)
    case recordTypeRemoved(String)
    case fieldAdded(FieldName, ContainerSchema.FieldRule)
    case fieldRemoved(FieldName)
    case typeChanged(FieldName, from: FieldType, to: FieldType)
    case encryptionChanged(FieldName, isEncrypted: Bool)
    /// Of a field or a system field. Adding a mark builds a query index, removing it drops the index.
    case marksChanged(FieldName, added: FieldIndexes, removed: FieldIndexes)
    case grantsChanged(
        recordType: String, role: String, added: RecordPermissions, removed: RecordPermissions)

    /// The invariant that the change would break where records are stored; nil if the change is always
    /// permitted.
    public var violatedInvariant: SchemaInvariant? {
        switch self {
        case .recordTypeRemoved: .noRecordTypeIsRemoved
        case .fieldRemoved: .noFieldIsRemoved
        case .typeChanged: .noFieldChangesItsType
        case .encryptionChanged: .noFieldBecomesEncryptedOrPlain
        case .roleAdded, .roleRemoved, .recordTypeAdded, .fieldAdded, .marksChanged,
            .grantsChanged:
            nil
        }
    }
}

/// An invariant of schemas that hold data: breaking it would lose data or break published apps.
///
/// Everything else may change: types, fields, roles, marks and grants may be added; marks, roles and
/// grants may be removed.
public enum SchemaInvariant: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    case noRecordTypeIsRemoved = "No record type is removed."
    case noFieldIsRemoved = "No field is removed."
    case noFieldChangesItsType = "No field changes its type."
    case noFieldBecomesEncryptedOrPlain = "No encrypted field becomes plain, nor the reverse."

    public var description: String { rawValue }
}

extension SchemaChange: CustomStringConvertible {
    /// The change in one line.
    public var description: String {
        switch self {
        case .roleAdded(let role): "+ role \(role)"
        case .roleRemoved(let role): "- role \(role)"
        case .recordTypeAdded(let name): "+ record type \(name)"
        case .recordTypeRemoved(let name): "- record type \(name)"
        case .fieldAdded(let field, let rule):
            "+ \(field) " + ([Self.type(rule)] + Self.words(rule.indexes)).joined(separator: " ")
        case .fieldRemoved(let field): "- \(field)"
        case .typeChanged(let field, let old, let new):
            "~ \(field): \(old.rawValue) becomes \(new.rawValue)"
        case .encryptionChanged(let field, let isEncrypted):
            "~ \(field): becomes \(isEncrypted ? "ENCRYPTED" : "plain")"
        case .marksChanged(let field, let added, let removed):
            "~ \(field):" + Self.signed(Self.words(added), Self.words(removed))
        case .grantsChanged(let recordType, let role, let added, let removed):
            "~ \(recordType), grants to \(role):"
                + Self.signed(Self.words(added), Self.words(removed))
        }
    }

    private static func type(_ rule: ContainerSchema.FieldRule) -> String {
        (rule.isEncrypted ? "ENCRYPTED " : "") + rule.type.rawValue
    }

    private static func words(_ indexes: FieldIndexes) -> [String] {
        SchemaWords.indexes.filter { indexes.contains($0.mark) }.map(\.word)
    }

    private static func words(_ permissions: RecordPermissions) -> [String] {
        SchemaWords.permissions.filter { permissions.contains($0.permission) }.map(\.word)
    }

    private static func signed(_ added: [String], _ removed: [String]) -> String {
        (added.map { " +" + $0 } + removed.map { " -" + $0 }).joined()
    }

    /// The change in one line, with the invariant that it breaks.
    var lineWithInvariant: String {
        violatedInvariant.map { "\(self)  (breaks the invariant: \($0))" } ?? description
    }
}
