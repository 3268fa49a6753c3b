import StratusRecords
import StratusStorage

/// What one caller may do with the records of one database.
package struct RecordAccess: Sendable {
    /// What the caller may do with the records of one type.
    package struct OfType: Sendable {
        /// Everything.
        package static let unrestricted = OfType(
            others: [.read, .create, .write], own: [], user: nil)

        fileprivate var others: RecordPermissions
        /// What the caller may do in addition with records that the caller created.
        fileprivate var own: RecordPermissions
        /// Nil for a caller without a user.
        fileprivate var user: String?

        package var mayCreate: Bool { others.contains(.create) }

        /// Whether the caller may read any record at all, even if only those that the caller created.
        package var mayReadSome: Bool {
            others.contains(.read) || user != nil && own.contains(.read)
        }

        /// Whether the caller may create or change any record at all, even if only those that the caller created.
        package var mayWriteSome: Bool {
            mayCreate || others.contains(.write) || user != nil && own.contains(.write)
        }

        package func mayRead(_ row: RecordRow) -> Bool { permits(.read, row) }

        /// Whether the caller may change and delete a record.
        package func mayWrite(_ row: RecordRow) -> Bool { permits(.write, row) }

        private func permits(_ permission: RecordPermissions, _ row: RecordRow) -> Bool {
            others.contains(permission) || own.contains(permission) && row.creator == user
        }
    }

    /// What the owner of a private database may do. For participants, the share decides.
    package static let unrestricted = RecordAccess(standard: .unrestricted, roles: [], grants: [:])

    /// For types with the standard grants, which nearly all have.
    private let standard: OfType
    private let roles: Set<String>
    private let grants: [String: Grants]

    private init(standard: OfType, roles: Set<String>, grants: [String: Grants]) {
        self.standard = standard
        self.roles = roles
        self.grants = grants
    }

    /// The access of a user to the public database; nil for a caller without a user.
    package init(ofUser user: String?, schema: ContainerSchema) {
        var roles: Set<String> = [BuiltInRole.world]
        if let user {
            roles.insert(BuiltInRole.icloud)
            roles.formUnion(schema.rolesByUser[user] ?? [])
        }
        self.init(
            standard: Self.access(Grants.standard, roles, user), roles: roles,
            grants: schema.grants)
    }

    /// What a person may do with their own records when the account is exported or deleted: read and delete them,
    /// regardless of the grants.
    package init(ofAccount user: String) {
        self.init(
            standard: OfType(others: [], own: [.read, .write], user: user), roles: [], grants: [:])
    }

    package subscript(recordType: String) -> OfType {
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
