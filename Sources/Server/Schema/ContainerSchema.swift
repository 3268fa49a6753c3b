import StratusRecords
import StratusStorage

/// The record types of a container and their fields, its roles and what these may do.
///
/// ```swift
/// let schema = try ContainerSchema(
///     text: """
///         DEFINE SCHEMA
///             RECORD TYPE Hut (
///                 beds INT64 QUERYABLE,
///                 GRANT READ TO "_world"
///             );
///         """)
/// ```
public struct ContainerSchema: Hashable, Sendable {
    /// What the schema says about a field.
    public struct FieldRule: Hashable, Sendable {
        /// The declared type. Values of other types are refused, except that an encrypted field also takes bytes,
        /// which a device encrypted.
        public var type: FieldType
        /// Whether devices encrypt the values: ENCRYPTED in the schema language (decision 10).
        public var isEncrypted: Bool
        /// What queries may do with the field.
        public var indexes: FieldIndexes = []

        /// Makes a rule; by default the field is plain, and queries cannot use it.
        public init(type: FieldType, isEncrypted: Bool = false, indexes: FieldIndexes = []) {
            self.type = type
            self.isEncrypted = isEncrypted
            self.indexes = indexes
        }
    }

    /// Counts the stored changes; 0 for a schema that was not read from a container.
    public internal(set) var version: Int64 = 0

    /// The fields by type and name. A system field is in it if it has marks.
    public private(set) var types: [String: [String: FieldRule]] = [:]

    /// The roles besides those of `BuiltInRole`.
    public private(set) var roles: Set<String> = []

    /// The grants of the types that have others than the standard ones.
    public private(set) var grants: [String: Grants] = [:]

    /// The ``roles`` of users, by record name. The text of a schema leaves them out.
    private(set) var rolesByUser: [String: Set<String>] = [:]

    /// Makes a schema without types and roles, of version 0.
    public init() {}

    /// Makes the schema that the rows describe.
    public init(_ rows: SchemaRows) {
        version = rows.version
        for row in rows.fields { add(row) }
        roles = Set(rows.roles)
        for row in rows.grants {
            grants[row.recordType, default: Grants()].permissions[row.role] = row.permissions
        }
        for row in rows.members { rolesByUser[row.user, default: []].insert(row.role) }
    }

    /// Adds a type or a field; an existing field keeps its type.
    package mutating func add(_ row: SchemaFieldRow) {
        guard let field = row.field, let type = row.type else { return addType(row.recordType) }
        guard types[row.recordType]?[field] == nil else { return }
        types[row.recordType, default: [:]][field] = FieldRule(
            type: type, isEncrypted: row.isEncrypted, indexes: row.indexes)
    }

    /// The fields that every share may have.
    package static let shareFields: [String: FieldType] = [
        "cloudkit.title": .string, "cloudkit.thumbnailImageData": .bytes, "cloudkit.type": .string,
    ]

    /// Adds a record type without fields; an existing type keeps its fields.
    public mutating func addType(_ recordType: String) {
        if types[recordType] == nil { types[recordType] = [:] }
    }

    /// Sets what the schema says about a field, replacing an earlier rule. Adds the record type if it is new.
    public mutating func setRule(_ rule: FieldRule, for field: String, of recordType: String) {
        types[recordType, default: [:]][field] = rule
    }

    /// Adds a role without grants and members.
    public mutating func addRole(_ role: String) { roles.insert(role) }

    /// Sets the grants of a type; without any, the type has ``Grants/standard``.
    public mutating func setGrants(_ grants: Grants, of recordType: String) {
        var grants = grants
        grants.permissions = grants.permissions.filter { !$0.value.isEmpty }
        let isStandard = grants.permissions.isEmpty || grants == .standard
        self.grants[recordType] = isStandard ? nil : grants
    }

    /// Whether the schema names a record type. Shares can be saved even if it does not name theirs.
    public func hasType(_ recordType: String) -> Bool { types[recordType] != nil }

    /// What the schema says about a field, or about a system field under its `SchemaSystemField` name;
    /// nil for a field that the schema does not name.
    public func rule(for field: String, of recordType: String) -> FieldRule? {
        if recordType == SchemaWords.shareType, let type = Self.shareFields[field] {
            return FieldRule(type: type, isEncrypted: false)
        }
        return types[recordType]?[field]
    }

    /// What roles may do with public records of a type: ``Grants/standard`` unless the schema says otherwise.
    public func grants(of recordType: String) -> Grants { grants[recordType] ?? .standard }

    /// How many fields a type has, besides the system's.
    package func fieldCount(of recordType: String) -> Int {
        types[recordType]?.keys.count { SchemaSystemField(rawValue: $0) == nil } ?? 0
    }

    /// The schema as it is stored; users' roles are not a part of it.
    var rows: SchemaRows {
        var rows = SchemaRows(version: version, roles: Array(roles))
        for (recordType, fields) in types {
            rows.fields.append(SchemaFieldRow(recordType: recordType, field: nil, type: nil))
            for (name, rule) in fields {
                rows.fields.append(
                    SchemaFieldRow(
                        recordType: recordType, field: name, type: rule.type,
                        isEncrypted: rule.isEncrypted, indexes: rule.indexes))
            }
        }
        for (recordType, grants) in grants {
            for (role, permissions) in grants.permissions {
                rows.grants.append(
                    SchemaGrantRow(
                        recordType: recordType, role: role, permissions: permissions))
            }
        }
        return rows
    }
}

extension FieldValue {
    /// The value in the form that a field of this type stores; nil when it does not fit.
    ///
    /// A declared type must be the field's own. A type that was guessed from JSON may differ: `22` fits a DOUBLE or a
    /// TIMESTAMP, a base64 string fits BYTES. An empty list fits every list.
    package func fitted(to type: FieldType, isDeclared: Bool) -> FieldValue? {
        if self == .emptyList { return Self.emptyList(of: type) }
        if self.type == type { return self }
        guard !isDeclared else { return nil }
        switch (self, type) {
        case (.int64(let number), .double): return .double(Double(number))
        case (.int64(let number), .timestamp): return .timestamp(milliseconds: number)
        case (.string(let text), .bytes): return Base64.bytes(text).map { .bytes($0) }
        case (.int64List(let numbers), .doubleList): return .doubleList(numbers.map(Double.init))
        case (.int64List(let numbers), .timestampList):
            return .timestampList(milliseconds: numbers)
        case (.stringList(let texts), .bytesList):
            let values = texts.compactMap(Base64.bytes(_:))
            return values.count == texts.count ? .bytesList(values) : nil
        default: return nil
        }
    }

    private static func emptyList(of type: FieldType) -> FieldValue? {
        switch type {
        case .stringList: .stringList([])
        case .int64List: .int64List([])
        case .doubleList: .doubleList([])
        case .timestampList: .timestampList(milliseconds: [])
        case .bytesList: .bytesList([])
        case .locationList: .locationList([])
        case .referenceList: .referenceList([])
        case .assetList: .assetList([])
        case .string, .int64, .double, .timestamp, .bytes, .location, .reference, .asset: nil
        }
    }
}
