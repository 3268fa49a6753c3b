import StratusRecords

/// The databases of one service and the small directory beside them.
///
/// ```swift
/// func zoneCount(in storage: any StorageEngine) async throws -> Int {
///     var count = 0
///     for address in try await storage.databases() {
///         count += try await storage.store(for: address).read { try $0.zones().count }
///     }
///     return count
/// }
/// ```
public protocol StorageEngine: Sendable {
    /// What the service keeps apart from its databases; one directory for all containers.
    var directory: any Directory { get }

    /// The store of a database, which is created on first use with its default zone.
    func store(for address: DatabaseAddress) async throws -> any RecordStore

    /// The bytes of a database's assets.
    func blobs(for address: DatabaseAddress) async throws -> any BlobStore

    /// Every database that ever kept a blob.
    func databasesWithBlobs() async throws -> [DatabaseAddress]

    /// All existing databases.
    func databases() async throws -> [DatabaseAddress]

    /// The engine's current state.
    var condition: StorageCondition { get }

    /// Finishes the writes in progress and closes the databases. Later calls throw
    /// ``StorageError/Code/closed``.
    func close() async throws
}

/// What a service keeps besides records: containers, users, sessions, keys, schemas, devices.
public protocol Directory: AccountDirectory, SchemaDirectory, SharingDirectory {
    /// The key that signs change tokens and web-auth tokens; random, made once.
    func signingKey() async throws -> [UInt8]

    /// A number that changes when another process has changed the directory: then what was cached before must be read
    /// again. Reading it is cheap; a service does so about once a second.
    func changesByOthers() async throws -> Int64

    /// Whether a container exists in an environment.
    func container(_ address: ContainerAddress) async throws -> Bool
    /// Creates a container in an environment, unless it exists.
    func createContainer(_ address: ContainerAddress) async throws

    /// Removes a container's environment with all that the directory stores about it: API tokens, keys of servers with
    /// their users, its sessions, devices, schema, roles and links. Its databases stay.
    func deleteContainer(_ address: ContainerAddress) async throws

    /// The row of an API token; nil when there is none, also after it was revoked.
    func apiToken(_ token: String) async throws -> APITokenRow?
    /// Stores an API token, replacing a row of the same token.
    func put(_ token: APITokenRow) async throws

    /// The user with this sign-in name.
    func user(named name: String) async throws -> UserRow?
    /// The user with this record name; nil when there is none.
    func user(recordName: String) async throws -> UserRow?
    /// Stores a new user.
    ///
    /// - Returns: the stored user; if another request took the name, the user who has it.
    func insert(_ user: UserRow) async throws -> UserRow

    /// The session with an identifier; nil when it never began or has ended. Its tokens may have expired.
    func session(_ identifier: String) async throws -> SessionRow?
    /// Stores a session, replacing the one with the same identifier.
    func put(_ session: SessionRow) async throws
    /// Ends a session; does nothing when there is none.
    func deleteSession(_ identifier: String) async throws

    /// The rows of a push token, one for each container that it is registered with, ordered by container.
    func devices(pushToken: String) async throws -> [DeviceRow]
    /// Stores a device, in place of the one with the same token and container.
    ///
    /// - Parameter session: The session that the device signed in with; nil for none.
    /// - Returns: false when the session has ended; then nothing is stored.
    func put(_ device: DeviceRow, ofSession session: String?) async throws -> Bool
    /// Notes when a push token was used in a container; does nothing when it is not stored any more.
    func renewDevice(
        pushToken: String, in address: ContainerAddress, atMilliseconds milliseconds: Int64
    ) async throws
    /// All devices of a user in a container, registered or not, the least recently used first.
    func devices(of user: String, in address: ContainerAddress) async throws -> [DeviceRow]
    /// Removes a push token from one container, or from all.
    func deleteDevice(pushToken: String, in address: ContainerAddress?) async throws
}

extension Directory {
    /// Stores a device regardless of sessions.
    public func put(_ device: DeviceRow) async throws {
        _ = try await put(device, ofSession: nil)
    }

    /// The first row of a push token.
    public func device(pushToken: String) async throws -> DeviceRow? {
        try await devices(pushToken: pushToken).first
    }

    /// Removes a push token from all containers.
    public func deleteDevice(pushToken: String) async throws {
        try await deleteDevice(pushToken: pushToken, in: nil)
    }
}
