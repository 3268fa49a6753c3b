import StratusRecords

/// What changes from one schema to another.
public struct SchemaDifference: Hashable, Sendable {
    /// In the order of names; empty for equal schemas.
    public private(set) var changes: [SchemaChange] = []

    /// The changes that break a law.
    public var breaches: [SchemaChange] { changes.filter { $0.brokenLaw != nil } }

    public init(from old: ContainerSchema, to new: ContainerSchema) {
        for role in Self.sorted(old.roles.symmetricDifference(new.roles)) {
            changes.append(new.roles.contains(role) ? .roleAdded(role) : .roleRemoved(role))
        }
        for recordType in Self.sorted(Set(old.types.keys).union(new.types.keys)) {
            switch (old.types[recordType], new.types[recordType]) {
            case (nil, let fields?):
                changes.append(.recordTypeAdded(recordType))
                compareFields([:], fields, of: recordType)
            case (_?, nil): changes.append(.recordTypeRemoved(recordType))
            case (let before?, let after?): compareFields(before, after, of: recordType)
            case (nil, nil): break
            }
            if new.hasType(recordType) {
                compareGrants(
                    old.grants(of: recordType), new.grants(of: recordType), of: recordType)
            }
        }
    }

    private mutating func compareFields(
        _ old: [String: ContainerSchema.FieldRule], _ new: [String: ContainerSchema.FieldRule],
        of recordType: String
    ) {
        for name in Self.sorted(Set(old.keys).union(new.keys)) {
            let field = SchemaChange.FieldName(recordType: recordType, field: name)
            let isSystem = SchemaSystemField(rawValue: name) != nil
            switch (old[name], new[name]) {
            case (nil, let rule?) where !isSystem: changes.append(.fieldAdded(field, rule))
            case (_?, nil) where !isSystem: changes.append(.fieldRemoved(field))
            case (let before, let after):
                if let before, let after, before.type != after.type {
                    changes.append(.typeChanged(field, from: before.type, to: after.type))
                }
                if let before, let after, before.isEncrypted != after.isEncrypted {
                    changes.append(.encryptionChanged(field, isEncrypted: after.isEncrypted))
                }
                let (marks, newMarks) = (before?.indexes ?? [], after?.indexes ?? [])
                if marks != newMarks {
                    changes.append(
                        .marksChanged(
                            field, added: newMarks.subtracting(marks),
                            removed: marks.subtracting(newMarks)))
                }
            }
        }
    }

    private mutating func compareGrants(_ old: Grants, _ new: Grants, of recordType: String) {
        for role in Self.sorted(Set(old.permissions.keys).union(new.permissions.keys)) {
            let (before, after) = (old.permissions[role] ?? [], new.permissions[role] ?? [])
            guard before != after else { continue }
            changes.append(
                .grantsChanged(
                    recordType: recordType, role: role, added: after.subtracting(before),
                    removed: before.subtracting(after)))
        }
    }

    private static func sorted(_ names: Set<String>) -> [String] {
        names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}

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
    /// Of a field or a system field. A query index appears or goes with a mark.
    case marksChanged(FieldName, added: FieldIndexes, removed: FieldIndexes)
    case grantsChanged(
        recordType: String, role: String, added: RecordPermissions, removed: RecordPermissions)

    /// The law that forbids the change where records may be stored; nil for what may always be done.
    public var brokenLaw: SchemaLaw? {
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

/// A law of schemas that hold data: what breaks it would lose data or break apps that are out there.
///
/// Everything else may change: types, fields, roles, marks and grants may be added, marks, roles and
/// grants be taken away.
public enum SchemaLaw: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    case noRecordTypeIsRemoved = "No record type is removed."
    case noFieldIsRemoved = "No field is removed."
    case noFieldChangesItsType = "No field changes its type."
    case noFieldBecomesEncryptedOrPlain = "No encrypted field becomes plain, nor the reverse."

    public var description: String { rawValue }
}

extension SchemaChange: CustomStringConvertible {
    /// One line.
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
}
