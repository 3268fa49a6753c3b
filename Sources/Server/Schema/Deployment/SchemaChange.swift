import StratusRecords

/// One change of a schema.
public enum SchemaChange: Hashable, Sendable {
    /// A field of a record type. Its description is `Type.field`.
    public struct FieldName: Hashable, Sendable, CustomStringConvertible {
        /// The name of the record type that has the field.
        public var recordType: String
        /// The name of the field, or the `SchemaSystemField` name of a system field.
        public var field: String

        /// Names a field of a record type.
        public init(recordType: String, field: String) {
            self.recordType = recordType
            self.field = field
        }

        public var description: String { "\(recordType).\(field)" }
    }

    /// A role with this name is new.
    case roleAdded(String)
    /// The role with this name is gone; its members lose it.
    case roleRemoved(String)
    /// A record type with this name is new. Its fields are listed as changes of their own.
    case recordTypeAdded(String)
    /// The record type with this name is gone. Its fields are not listed.
    case recordTypeRemoved(String)
    /// A field is new, with this rule. Never a system field.
    case fieldAdded(FieldName, ContainerSchema.FieldRule)
    /// A field is gone. Never a system field.
    case fieldRemoved(FieldName)
    /// A field has another type than before.
    case typeChanged(FieldName, from: FieldType, to: FieldType)
    /// A field that was plain is encrypted, or an encrypted one is plain.
    case encryptionChanged(FieldName, isEncrypted: Bool)
    /// Of a field or a system field. Adding a mark builds a query index, removing it drops the index.
    case marksChanged(FieldName, added: FieldIndexes, removed: FieldIndexes)
    /// A role may do more or less with the public records of a type. For a new type the standard grants count as
    /// before.
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
    /// A record type that is deployed or that stored records have cannot be removed.
    case noRecordTypeIsRemoved = "No record type is removed."
    /// A field that is deployed or that stored records use cannot be removed.
    case noFieldIsRemoved = "No field is removed."
    /// A field that is deployed or that stored records use cannot get another type.
    case noFieldChangesItsType = "No field changes its type."
    /// A field that is deployed or that stored records use stays encrypted, or stays plain.
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
