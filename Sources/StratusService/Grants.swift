import StratusRecords
import StratusStorage

/// What the roles may do with the records of one type in the public database.
///
/// In private and shared databases grants mean nothing.
public struct Grants: Hashable, Sendable {
    /// What a type has when nobody says otherwise: everybody reads, users create, and who made a record
    /// changes it. Source: Wire.md, "Credentials".
    public static let standard = Grants([
        BuiltInRole.world: .read, BuiltInRole.icloud: .create, BuiltInRole.creator: .write,
    ])

    /// By role.
    public var permissions: [String: RecordPermissions]

    public init(_ permissions: [String: RecordPermissions] = [:]) {
        self.permissions = permissions
    }

    /// What somebody with these roles may do, READ with WRITE.
    func permissions(of roles: Set<String>) -> RecordPermissions {
        var granted: RecordPermissions = []
        for (role, permissions) in permissions where roles.contains(role) {
            granted.formUnion(permissions)
        }
        if granted.contains(.write) { granted.insert(.read) }
        return granted
    }
}

/// What one caller may do with the records of one database.
struct RecordAccess: Sendable {
    /// A caller of the public database.
    private struct Visitor: Sendable {
        var user: String?
        var roles: Set<String>
        var grants: [String: Grants]
    }

    /// What the owner of a private database may do. What a participant of a share may is said elsewhere.
    static let unrestricted = RecordAccess(visitor: nil)

    /// Nil where everything is permitted.
    private let visitor: Visitor?

    private init(visitor: Visitor?) { self.visitor = visitor }

    /// The access to the public database of a user, or with nil of somebody who is not signed in.
    init(ofUser user: String?, schema: ContainerSchema) {
        var roles: Set<String> = [BuiltInRole.world]
        if let user {
            roles.insert(BuiltInRole.icloud)
            roles.formUnion(schema.rolesByUser[user] ?? [])
        }
        visitor = Visitor(user: user, roles: roles, grants: schema.grants)
    }

    func mayCreate(_ recordType: String) -> Bool {
        permits(.create, recordType, creator: nil)
    }

    func mayRead(_ row: RecordRow) -> Bool {
        permits(.read, row.type, creator: row.creator)
    }

    /// Whether the caller may change and delete a record.
    func mayWrite(_ row: RecordRow) -> Bool {
        permits(.write, row.type, creator: row.creator)
    }

    /// Whether the caller may read any record of a type, be it only those of their own making.
    func mayReadSome(of recordType: String) -> Bool {
        permits(.read, recordType, creator: visitor?.user)
    }

    private func permits(
        _ permission: RecordPermissions, _ recordType: String, creator: String?
    ) -> Bool {
        guard let visitor else { return true }
        let grants = visitor.grants[recordType] ?? .standard
        var granted = grants.permissions(of: visitor.roles)
        if let user = visitor.user, user == creator {
            granted.formUnion(grants.permissions(of: [BuiltInRole.creator]))
        }
        return granted.contains(permission)
    }
}

extension RequestContext {
    /// What grants let the caller do in the database of the request.
    func recordAccess(_ schema: ContainerSchema) -> RecordAccess {
        scope == .public
            ? RecordAccess(ofUser: caller.userRecordName, schema: schema) : .unrestricted
    }
}
