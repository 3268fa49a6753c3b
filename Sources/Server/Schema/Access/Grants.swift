import StratusRecords

/// What the roles may do with the records of one type in the public database.
///
/// In private and shared databases grants have no effect.
public struct Grants: Hashable, Sendable {
    /// The grants of a type whose schema names none: everyone reads, users create, and the creator of a
    /// record changes it. Source: Wire.md, "Credentials".
    public static let standard = Grants([
        BuiltInRole.world: .read, BuiltInRole.icloud: .create, BuiltInRole.creator: .write,
    ])

    /// By role.
    public var permissions: [String: RecordPermissions]

    /// Makes grants from permissions by role; a role without any may do nothing.
    public init(_ permissions: [String: RecordPermissions] = [:]) {
        self.permissions = permissions
    }

    /// What a user with these roles may do. WRITE includes READ.
    func permissions(of roles: Set<String>) -> RecordPermissions {
        var granted: RecordPermissions = []
        for (role, permissions) in permissions where roles.contains(role) {
            granted.formUnion(permissions)
        }
        if granted.contains(.write) { granted.insert(.read) }
        return granted
    }
}
