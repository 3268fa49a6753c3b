import StratusRecords
import StratusStorage

/// Reads, replaces and deploys the schemas of one container.
///
/// ```swift
/// let schemas = service.schemaDeployment(of: "iCloud.org.example.Trails")
/// try await schemas.replace(with: ContainerSchema(text: text))
/// let difference = try await schemas.deploy()
/// ```
public struct SchemaDeployment: Sendable {
    /// How often a change is tried when the schema is changed in the meantime.
    private static let attempts = 8

    private let container: String
    private let storage: any StorageEngine
    private let createContainerIfNeeded: @Sendable (ContainerAddress) async throws -> Void
    private let fieldNames: @Sendable (RecordRow) throws -> Set<String>
    private let onChange: @Sendable () -> Void

    /// - Parameters:
    ///   - createContainerIfNeeded: Creates a container, or throws a `ServiceError` for an invalid name.
    ///   - fieldNames: The names of a stored record's fields.
    ///   - onChange: Called after a schema or a role member was changed.
    package init(
        container: String, storage: any StorageEngine,
        createContainerIfNeeded: @escaping @Sendable (ContainerAddress) async throws -> Void,
        fieldNames: @escaping @Sendable (RecordRow) throws -> Set<String>,
        onChange: @escaping @Sendable () -> Void
    ) {
        self.container = container
        self.storage = storage
        self.createContainerIfNeeded = createContainerIfNeeded
        self.fieldNames = fieldNames
        self.onChange = onChange
    }

    private var directory: any Directory { storage.directory }

    /// The schema as it is stored.
    ///
    /// - Throws: ``SchemaRefusal`` when there is no such container.
    public func schema(in environment: ContainerEnvironment) async throws -> ContainerSchema {
        let address = address(environment)
        guard try await directory.container(address) else {
            throw SchemaRefusal(
                "There is no container '\(container)' in the \(environment.rawValue) environment; see"
                    + " `stratus container list`.")
        }
        return ContainerSchema(try await directory.schema(of: address))
    }

    /// What a deployment would change in production.
    public func reviewDeployment() async throws -> SchemaReview {
        try await reviewDeployment(of: schema(in: .development)).review
    }

    /// What ``replace(with:)`` would change in development. Reads the stored records where a change could
    /// break an invariant.
    public func reviewReplacement(with schema: ContainerSchema) async throws -> SchemaReview {
        try await reviewReplacement(of: self.schema(in: .development), with: schema)
    }

    /// Replaces the development environment's schema. Creates the container if it does not exist.
    ///
    /// - Throws: ``SchemaRefusal`` with the changes that break an invariant, and nothing is changed;
    ///   `ServiceError` when the name is not one for a container.
    @discardableResult
    public func replace(with schema: ContainerSchema) async throws -> SchemaReview {
        try await createContainerIfNeeded(address(.development))
        return try await change(.development) {
            let old = try await self.schema(in: .development)
            let review = try await reviewReplacement(of: old, with: schema)
            return (old, schema, review)
        }
    }

    /// Copies the development environment's schema to production. Creates the container there if it does
    /// not exist.
    ///
    /// - Throws: ``SchemaRefusal`` with the changes that break an invariant, and nothing is changed.
    @discardableResult
    public func deploy() async throws -> SchemaReview {
        _ = try await schema(in: .development)
        try await createContainerIfNeeded(address(.production))
        return try await change(.production) {
            let new = try await self.schema(in: .development)
            let (old, review) = try await reviewDeployment(of: new)
            return (old, new, review)
        }
    }

    /// Replaces the development environment's schema without regard to the invariants. All databases of
    /// that environment must have been deleted before.
    ///
    /// - Parameter schema: The new schema; nil takes production's.
    @discardableResult
    public func reset(to schema: ContainerSchema?) async throws -> SchemaReview {
        try await createContainerIfNeeded(address(.development))
        return try await change(.development) {
            let old = try await self.schema(in: .development)
            var new = schema
            if new == nil { new = try await deployed() }
            let difference = SchemaDifference(from: old, to: new ?? ContainerSchema())
            return (old, new ?? ContainerSchema(), SchemaReview(difference, refused: []))
        }
    }

    /// Production's schema, empty before the first deployment.
    private func deployed() async throws -> ContainerSchema {
        ContainerSchema(try await directory.schema(of: address(.production)))
    }

    private func reviewDeployment(
        of new: ContainerSchema
    ) async throws -> (old: ContainerSchema, review: SchemaReview) {
        let old = try await deployed()
        let difference = SchemaDifference(from: old, to: new)
        return (old, SchemaReview(difference, refused: Set(difference.violations)))
    }

    /// In development, a change breaks an invariant if production has what it would remove or change, or
    /// if a stored record uses it.
    private func reviewReplacement(
        of old: ContainerSchema, with new: ContainerSchema
    ) async throws -> SchemaReview {
        let difference = SchemaDifference(from: old, to: new)
        var refused = Set(difference.violations)
        if !refused.isEmpty {
            let deployed = Set(SchemaDifference(from: try await deployed(), to: new).violations)
            let undecided = refused.subtracting(deployed)
            let inUse = try await StoredSchemaUse(
                storage: storage, address: address(.development), fieldNames: fieldNames
            ).changesInUse(among: undecided)
            refused.subtract(undecided.subtracting(inUse))
        }
        return SchemaReview(difference, refused: refused)
    }

    private func change(
        _ environment: ContainerEnvironment,
        by decide: () async throws -> (
            old: ContainerSchema, new: ContainerSchema, review: SchemaReview
        )
    ) async throws -> SchemaReview {
        for _ in 0..<Self.attempts {
            let (old, new, review) = try await decide()
            if review.changes.isEmpty { return review }
            guard review.isPermitted else {
                throw SchemaRefusal(
                    "The schema breaks invariants that protect stored data and published apps; undo these"
                        + " changes:",
                    violations: review.refused)
            }
            var rows = new.rows
            rows.version = old.version
            let address = address(environment)
            if try await directory.replaceSchema(of: address, by: rows) != nil {
                onChange()
                return review
            }
        }
        throw SchemaRefusal(
            "The schema of \(container) was changed by saves meanwhile; try again when there are fewer."
        )
    }

    private func address(_ environment: ContainerEnvironment) -> ContainerAddress {
        ContainerAddress(container: container, environment: environment)
    }
}

extension SchemaDeployment {
    // MARK: Role members

    /// A user who has a role.
    public struct Member: Hashable, Sendable {
        /// The name of a role that the schema defines.
        public var role: String
        /// The name that the user signs in with; nil for a deleted user.
        public var userName: String?
        /// The record name of the user who has the role.
        public var userRecordName: String
    }

    /// The users of all roles, by role.
    public func members(in environment: ContainerEnvironment) async throws -> [Member] {
        _ = try await schema(in: environment)
        var members: [Member] = []
        for row in try await directory.schema(of: address(environment)).members {
            let name = try await directory.user(recordName: row.user)?.name
            members.append(Member(role: row.role, userName: name, userRecordName: row.user))
        }
        return members
    }

    /// Gives a user a role, or takes it away.
    ///
    /// - Parameter userName: The name that the user signs in with.
    /// - Throws: ``SchemaRefusal`` when there is no such user, role or container.
    public func setRole(
        _ role: String, ofUserNamed userName: String, in environment: ContainerEnvironment,
        isAssigned: Bool
    ) async throws {
        guard try await schema(in: environment).roles.contains(role) else {
            throw SchemaRefusal(
                "The \(environment.rawValue) schema has no role '\(role)'; add it with CREATE ROLE."
            )
        }
        guard let user = try await directory.user(named: userName) else {
            throw SchemaRefusal(
                "There is no user named '\(userName)'; see `stratus user list`.")
        }
        try await directory.setRole(
            role, of: user.recordName, in: address(environment), isAssigned: isAssigned)
        onChange()
    }
}

/// Why a schema was not read or changed.
public struct SchemaRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// One sentence.
    public var message: String
    /// The changes that break an invariant.
    public var violations: [SchemaChange]

    init(_ message: String, violations: [SchemaChange] = []) {
        self.message = message
        self.violations = violations
    }

    /// The sentence, then a line for each violation.
    public var description: String {
        ([message] + violations.map { "  " + $0.lineWithInvariant }).joined(separator: "\n")
    }
}
