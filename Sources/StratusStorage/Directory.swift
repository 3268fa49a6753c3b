import StratusRecords

/// The databases of one service and the small directory beside them.
///
/// On disk it is a folder with one small directory file and one file per database; in memory it is
/// two dictionaries.
public protocol Storehouse: Sendable {
    var directory: any Directory { get }

    /// The store of a database, made on first use with its default zone.
    func store(for address: DatabaseAddress) async throws -> any RecordStore

    /// Every database there is.
    func databases() async throws -> [DatabaseAddress]

    /// Finishes the writes under way and closes the files. What is asked afterwards throws
    /// ``StorageError/Code/closed``.
    func close() async throws
}

/// What the service knows apart from records: who may ask, and where they listen.
public protocol Directory: SchemaDirectory {
    /// The key that signs change tokens and web-auth tokens; random, made once.
    func signingKey() async throws -> [UInt8]

    /// A number that is another one after another process changed the directory: what was remembered
    /// from before must be read again. Cheap; a service asks about once a second.
    func changesByOthers() async throws -> Int64

    func container(_ address: ContainerAddress) async throws -> Bool
    func createContainer(_ address: ContainerAddress) async throws

    func apiToken(_ token: String) async throws -> APITokenRow?
    func put(_ token: APITokenRow) async throws

    /// The user who signs in under this name.
    func user(named name: String) async throws -> UserRow?
    func user(recordName: String) async throws -> UserRow?
    /// Stores a new user.
    ///
    /// - Returns: the stored user; when the name was taken meanwhile, the one who has it.
    func insert(_ user: UserRow) async throws -> UserRow

    func session(_ identifier: String) async throws -> SessionRow?
    func put(_ session: SessionRow) async throws
    func deleteSession(_ identifier: String) async throws

    func device(pushToken: String) async throws -> DeviceRow?
    func put(_ device: DeviceRow) async throws
    /// All devices of a user in a container, registered or not, the longest unused first.
    func devices(of user: String, in address: ContainerAddress) async throws -> [DeviceRow]
    func deleteDevice(pushToken: String) async throws
}

/// A key with which an app may speak to a container.
public struct APITokenRow: Hashable, Sendable {
    public var token: String
    public var address: ContainerAddress
    public var name: String

    public init(token: String, address: ContainerAddress, name: String) {
        self.token = token
        self.address = address
        self.name = name
    }
}

/// A person.
public struct UserRow: Hashable, Sendable {
    /// `_` and 32 hexadecimal digits.
    public var recordName: String
    /// What the user signs in with.
    public var name: String

    public init(recordName: String, name: String) {
        self.recordName = recordName
        self.name = name
    }
}

/// A sign-in on one device or browser. Web-auth tokens name it.
public struct SessionRow: Hashable, Sendable {
    public var identifier: String
    public var userRecordName: String
    public var staysSignedIn: Bool
    /// Milliseconds since 1970.
    public var createdMilliseconds: Int64

    public init(
        identifier: String, userRecordName: String, staysSignedIn: Bool, createdMilliseconds: Int64
    ) {
        self.identifier = identifier
        self.userRecordName = userRecordName
        self.staysSignedIn = staysSignedIn
        self.createdMilliseconds = createdMilliseconds
    }
}

/// A device that listens for notifications.
public struct DeviceRow: Hashable, Sendable {
    /// Base64.
    public var pushToken: String
    public var address: ContainerAddress
    public var userRecordName: String
    /// The identifier that the device sends with its requests, so that it is not told of its own.
    public var clientID: String
    /// Milliseconds since 1970.
    public var lastUsedMilliseconds: Int64
    /// Whether `tokens/register` was called: only then do the container's notifications go there.
    public var isRegistered: Bool

    public init(
        pushToken: String, address: ContainerAddress, userRecordName: String, clientID: String,
        lastUsedMilliseconds: Int64, isRegistered: Bool
    ) {
        self.pushToken = pushToken
        self.address = address
        self.userRecordName = userRecordName
        self.clientID = clientID
        self.lastUsedMilliseconds = lastUsedMilliseconds
        self.isRegistered = isRegistered
    }
}
