/// The container and environment that a request is about.
///
/// ```swift
/// let address = ContainerAddress(container: "iCloud.org.example.Trails", environment: .development)
/// ```
public struct ContainerAddress: Hashable, Sendable {
    /// The container's identifier, case-sensitive, such as `iCloud.org.example.Trails`.
    public var container: String
    /// Development or production, which have separate schemas and records.
    public var environment: ContainerEnvironment

    /// Makes an address; the container's name is not checked.
    public init(container: String, environment: ContainerEnvironment) {
        self.container = container
        self.environment = environment
    }
}

/// The environment of a container: each has its own copy of the container's data.
///
/// The raw values are the wire's. Source: CloudKit Web Services, "Composing Web Service Requests".
public enum ContainerEnvironment: String, Hashable, Sendable, CaseIterable {
    /// Record types and fields are created when a record is first saved.
    case development
    /// The deployed schema is fixed.
    case production
}

/// One of the three databases of a container, as a user sees them.
///
/// The raw values are those of `CKDatabase.Scope`.
public enum DatabaseScope: Int, Hashable, Sendable, CaseIterable {
    /// The database that all users of the container share: only the default zone, without a change feed.
    case `public` = 1
    /// The user's own database, with custom zones.
    case `private` = 2
    /// The zones and records of other users that are shared with the user.
    case shared = 3

    /// The path segment of the protocol: `public`, `private` or `shared`.
    public var pathSegment: String {
        switch self {
        case .public: "public"
        case .private: "private"
        case .shared: "shared"
        }
    }

    /// Makes a scope from a path segment; nil for any other word.
    public init?(pathSegment: some StringProtocol) {
        switch pathSegment {
        case "public": self = .public
        case "private": self = .private
        case "shared": self = .shared
        default: return nil
        }
    }
}

/// One stored database: the unit of ownership, of locking, of backup and of files on the disk.
///
/// There is no address for the shared database: it is a view of other owners' private databases.
///
/// ```swift
/// let trails = ContainerAddress(container: "iCloud.org.example.Trails", environment: .development)
/// let own = DatabaseAddress(trails, .private(owner: "_alice"))
/// ```
public struct DatabaseAddress: Hashable, Sendable {
    /// Whose database it is.
    public enum Tenant: Hashable, Sendable {
        /// The public database of the container.
        case `public`
        /// The private database of the user with this record name.
        case `private`(owner: String)
    }

    /// The container and environment that the database belongs to.
    public var containerAddress: ContainerAddress
    /// Whether it is the public database, or whose private one.
    public var tenant: Tenant

    /// Makes the address of a container's public database, or of a user's private one.
    public init(_ containerAddress: ContainerAddress, _ tenant: Tenant) {
        self.containerAddress = containerAddress
        self.tenant = tenant
    }

    /// Hashes a private database only by its owner: a service looks it up several times per request, and a user has
    /// few.
    public func hash(into hasher: inout Hasher) {
        switch tenant {
        case .public: hasher.combine(containerAddress)
        case .private(let owner): hasher.combine(owner)
        }
    }
}
