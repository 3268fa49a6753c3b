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
    fileprivate func permissions(of roles: Set<String>) -> RecordPermissions {
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
    /// What the caller may do with the records of one type.
    struct OfType: Sendable {
        /// Everything.
        static let unrestricted = OfType(others: [.read, .create, .write], own: [], user: nil)

        fileprivate var others: RecordPermissions
        /// With records of the caller's own making, besides.
        fileprivate var own: RecordPermissions
        /// Nil for somebody who is not signed in.
        fileprivate var user: String?

        var mayCreate: Bool { others.contains(.create) }

        /// Whether the caller may read any record, be it only those of their own making.
        var mayReadSome: Bool { others.contains(.read) || user != nil && own.contains(.read) }

        func mayRead(_ row: RecordRow) -> Bool { permits(.read, row) }

        /// Whether the caller may change and delete a record.
        func mayWrite(_ row: RecordRow) -> Bool { permits(.write, row) }

        private func permits(_ permission: RecordPermissions, _ row: RecordRow) -> Bool {
            others.contains(permission) || own.contains(permission) && row.creator == user
        }
    }

    /// What the owner of a private database may do. What a participant of a share may is said elsewhere.
    static let unrestricted = RecordAccess(standard: .unrestricted, roles: [], grants: [:])

    /// For types with the standard grants: nearly all.
    private let standard: OfType
    private let roles: Set<String>
    private let grants: [String: Grants]

    private init(standard: OfType, roles: Set<String>, grants: [String: Grants]) {
        self.standard = standard
        self.roles = roles
        self.grants = grants
    }

    /// The access to the public database of a user, or with nil of somebody who is not signed in.
    init(ofUser user: String?, schema: ContainerSchema) {
        var roles: Set<String> = [BuiltInRole.world]
        if let user {
            roles.insert(BuiltInRole.icloud)
            roles.formUnion(schema.rolesByUser[user] ?? [])
        }
        self.init(
            standard: Self.access(Grants.standard, roles, user), roles: roles,
            grants: schema.grants)
    }

    subscript(recordType: String) -> OfType {
        guard let grants = grants[recordType] else { return standard }
        return Self.access(grants, roles, standard.user)
    }

    private static func access(
        _ grants: Grants, _ roles: Set<String>, _ user: String?
    ) -> OfType {
        OfType(
            others: grants.permissions(of: roles),
            own: user == nil ? [] : grants.permissions(of: [BuiltInRole.creator]), user: user)
    }
}

extension RequestContext {
    /// What grants let the caller do in the database of the request, by today's schema.
    func recordAccess() async throws -> RecordAccess {
        guard scope == .public else { return .unrestricted }
        return recordAccess(try await service.schemas.schema(of: address))
    }

    /// What grants let the caller do in the database of the request.
    func recordAccess(_ schema: ContainerSchema) -> RecordAccess {
        scope == .public
            ? RecordAccess(ofUser: caller.userRecordName, schema: schema) : .unrestricted
    }
}
