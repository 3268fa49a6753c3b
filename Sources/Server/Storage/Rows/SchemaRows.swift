import StratusRecords

/// All that is stored of a container's schema.
public struct SchemaRows: Hashable, Sendable {
    /// Counts the changes of types, fields, marks, roles, grants and role members. 0 at first; it never decreases.
    public var version: Int64
    /// In the order of types, then fields, by their bytes.
    public var fields: [SchemaFieldRow]
    /// The roles besides those of `BuiltInRole`.
    public var roles: [String]
    /// The grants; a type without any has the standard grants.
    public var grants: [SchemaGrantRow]
    public var members: [RoleMemberRow]

    public init(
        version: Int64 = 0, fields: [SchemaFieldRow] = [], roles: [String] = [],
        grants: [SchemaGrantRow] = [], members: [RoleMemberRow] = []
    ) {
        self.version = version
        self.fields = fields
        self.roles = roles
        self.grants = grants
        self.members = members
    }
}

/// What one role may do with the public records of one type.
public struct SchemaGrantRow: Hashable, Sendable {
    public var recordType: String
    public var role: String
    public var permissions: RecordPermissions

    public init(recordType: String, role: String, permissions: RecordPermissions) {
        self.recordType = recordType
        self.role = role
        self.permissions = permissions
    }
}

/// A user who has a role.
public struct RoleMemberRow: Hashable, Sendable {
    /// The user's record name.
    public var user: String
    public var role: String

    public init(user: String, role: String) {
        self.user = user
        self.role = role
    }
}

/// A field of a record type, or the marks of a `SchemaSystemField` in it. A type without either has
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

    /// Whether it is a field of the app, not a system field or a type without fields.
    var isUserField: Bool { field.map { !$0.hasPrefix("___") } ?? false }
}
