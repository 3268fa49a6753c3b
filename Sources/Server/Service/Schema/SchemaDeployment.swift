import StratusRecords
import StratusStorage

/// The schemas of one container, as its developer works on them: read, replaced, deployed.
///
/// ```swift
/// let schemas = service.schemaDeployment(of: "iCloud.org.example.Trails")
/// try await schemas.replace(with: ContainerSchema(text: text))
/// let difference = try await schemas.deploy()
/// ```
public struct SchemaDeployment: Sendable {
    /// How often a change is tried anew when somebody else changes the schema meanwhile.
    private static let attempts = 8

    private let container: String
    private let storehouse: any Storehouse
    private let accounts: Accounts
    private let book: SchemaBook

    init(container: String, storehouse: any Storehouse, accounts: Accounts, book: SchemaBook) {
        self.container = container
        self.storehouse = storehouse
        self.accounts = accounts
        self.book = book
    }

    private var directory: any Directory { storehouse.directory }

    /// The schema as it is stored.
    ///
    /// - Throws: ``SchemaRefusal`` when there is no such container.
    public func schema(in environment: ContainerEnvironment) async throws -> ContainerSchema {
        let address = address(environment)
        guard try await directory.container(address) else {
            throw SchemaRefusal(
                "There is no container '\(container)' in the \(environment.rawValue) environment.")
        }
        return ContainerSchema(try await directory.schema(of: address))
    }

    /// What a deployment would change in production.
    public func reviewDeployment() async throws -> SchemaReview {
        try await reviewDeployment(of: schema(in: .development)).review
    }

    /// What ``replace(with:)`` would change in development. Looks into the stored records where a law
    /// is in question.
    public func reviewReplacement(with schema: ContainerSchema) async throws -> SchemaReview {
        try await reviewReplacement(of: self.schema(in: .development), with: schema)
    }

    /// Puts a schema in the place of the development environment's, and makes the container when it is
    /// new.
    ///
    /// - Throws: ``SchemaRefusal`` with the changes that break a law, and then nothing is changed;
    ///   `ServiceError` when a container cannot bear this name.
    @discardableResult
    public func replace(with schema: ContainerSchema) async throws -> SchemaReview {
        try await accounts.createContainerIfNeeded(address(.development))
        return try await change(.development) {
            let old = try await self.schema(in: .development)
            let review = try await reviewReplacement(of: old, with: schema)
            return (old, schema, review)
        }
    }

    /// Copies the development environment's schema to production, and makes the container there when it
    /// is new.
    ///
    /// - Throws: ``SchemaRefusal`` with the changes that break a law, and then nothing is changed.
    @discardableResult
    public func deploy() async throws -> SchemaReview {
        _ = try await schema(in: .development)
        try await accounts.createContainerIfNeeded(address(.production))
        return try await change(.production) {
            let new = try await self.schema(in: .development)
            let (old, review) = try await reviewDeployment(of: new)
            return (old, new, review)
        }
    }

    /// Puts another schema, or with nil production's, in the place of the development environment's,
    /// whatever the laws say. All databases of that environment must have been deleted before.
    @discardableResult
    public func reset(to schema: ContainerSchema?) async throws -> SchemaReview {
        try await accounts.createContainerIfNeeded(address(.development))
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
        return (old, SchemaReview(difference, refused: Set(difference.breaches)))
    }

    /// In development a law is broken where production has what would go, or a record uses it.
    private func reviewReplacement(
        of old: ContainerSchema, with new: ContainerSchema
    ) async throws -> SchemaReview {
        let difference = SchemaDifference(from: old, to: new)
        var refused = Set(difference.breaches)
        if !refused.isEmpty {
            let deployed = Set(SchemaDifference(from: try await deployed(), to: new).breaches)
            let undecided = refused.subtracting(deployed)
            let used = try await StoredSchemaUse(
                storehouse: storehouse, address: address(.development)
            ).changes(among: undecided)
            refused.subtract(undecided.subtracting(used))
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
                    "The schema breaks laws that keep data and apps whole.",
                    breaches: review.refused)
            }
            var rows = new.rows
            rows.version = old.version
            let address = address(environment)
            if try await directory.replaceSchema(of: address, by: rows) != nil {
                book.forget()
                return review
            }
        }
        throw SchemaRefusal("The schema keeps changing; try again when there are fewer saves.")
    }

    private func address(_ environment: ContainerEnvironment) -> ContainerAddress {
        ContainerAddress(container: container, environment: environment)
    }
}

extension SchemaDeployment {
    // MARK: Who has which role

    /// A user who has a role.
    public struct Member: Hashable, Sendable {
        public var role: String
        /// What the user signs in with; nil for a user who is gone.
        public var userName: String?
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
    /// - Parameter userName: What the user signs in with.
    /// - Throws: ``SchemaRefusal`` when there is no such user, role or container.
    public func setRole(
        _ role: String, ofUserNamed userName: String, in environment: ContainerEnvironment,
        isAssigned: Bool
    ) async throws {
        guard try await schema(in: environment).roles.contains(role) else {
            throw SchemaRefusal(
                "The \(environment.rawValue) schema makes no role '\(role)'; see CREATE ROLE.")
        }
        guard let user = try await directory.user(named: userName) else {
            throw SchemaRefusal("There is no user of the name '\(userName)'.")
        }
        try await directory.setRole(
            role, of: user.recordName, in: address(environment), isAssigned: isAssigned)
        book.forget()
    }
}

/// Why a schema is not what was asked.
public struct SchemaRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// One sentence.
    public var message: String
    /// The changes that break a law.
    public var breaches: [SchemaChange]

    init(_ message: String, breaches: [SchemaChange] = []) {
        self.message = message
        self.breaches = breaches
    }

    /// The sentence, then a line for each breach.
    public var description: String {
        ([message] + breaches.map { "  " + $0.lineWithLaw }).joined(separator: "\n")
    }
}

extension CloudService {
    /// The schemas of a container, for its developer.
    public func schemaDeployment(of container: String) -> SchemaDeployment {
        SchemaDeployment(
            container: container, storehouse: storehouse, accounts: accounts,
            book: schemas)
    }
}
