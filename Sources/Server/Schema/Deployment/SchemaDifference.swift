import StratusRecords

/// What changes from one schema to another.
public struct SchemaDifference: Hashable, Sendable {
    /// In the order of names; empty for equal schemas.
    public private(set) var changes: [SchemaChange] = []

    /// The changes that break an invariant.
    public var violations: [SchemaChange] { changes.filter { $0.violatedInvariant != nil } }

    /// Compares two schemas: their roles, types, fields and grants, but not their versions and role members.
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
