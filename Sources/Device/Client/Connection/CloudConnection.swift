import Foundation
import StratusRecords
import StratusRuntime
import Synchronization

/// A device's connection to a service, with or without an account.
///
/// Code written for CloudKit needs no change: the first container makes the process's connection
/// from environment variables (see ``init(environmentVariables:world:)``). Other code sets one for
/// the process, or for each container:
///
/// ```swift
/// CloudConnection.use(CloudConnection(transport: transport, hasAccount: true))
/// let phone = CKContainer(identifier: "iCloud.org.example.Trails", connection: alicesPhone)
/// ```
public final class CloudConnection: Sendable {
    /// Time and randomness, passed in so that tests control both.
    public typealias World = StratusRuntime.World

    private struct Account {
        var isPresent: Bool
        /// The user's record name by container, if the service has named it.
        var userRecordNames: [String: String] = [:]
        /// How often an account was signed in, signed out or replaced.
        var changeCount = 0
        /// The push tokens of this device's listeners, by container.
        var pushTokens: [String: String] = [:]
        /// The session is about to end: the account no longer has listeners.
        var isEnding = false
    }

    private struct CoreHolder {
        weak var core: ContainerCore?
    }

    /// Sends the requests of all containers of this connection.
    public let transport: any Transport
    /// The environment of all containers of this connection: development or production.
    public let environment: ContainerEnvironment
    /// Names this device to the service, which sends it no notifications of its own changes.
    public let deviceID: String
    package let world: World
    let assetFolder: AssetFolder
    let operationFolder: OperationFolder
    let keyring: CloudKeyring
    let listeners = NotificationListeners()
    let signIns = SignInMemory()
    private let account: Mutex<Account>
    /// The cores, by container identifier. A core holds its connection strongly; the connection
    /// holds it weakly.
    private let cores = Mutex<[String: CoreHolder]>([:])
    /// How many items were fetched, and how many of them were from change feeds and so are changes
    /// for certain; used to check an app's answer to a notification.
    private let fetchedItems = Atomic<Int>(0)
    private let changedItems = Atomic<Int>(0)

    /// - Parameters:
    ///   - hasAccount: whether the transport sends a user's credentials. Without them, only the
    ///     public database can be read.
    ///   - deviceID: stays the same whenever the app is started on this device; nil for a random one.
    ///   - keyStore: where the device keeps the keys of encrypted values.
    ///   - operationFolder: where the device keeps its long-lived operations. By default
    ///     `$XDG_DATA_HOME/stratus/operations`, else `~/.local/share/stratus/operations`. Devices
    ///     that share a folder resume each other's operations.
    ///   - environment: development or production.
    ///   - transport: sends the requests.
    ///   - world: time and randomness; tests pass their own.
    public convenience init(
        transport: any Transport, environment: ContainerEnvironment = .development,
        hasAccount: Bool, deviceID: String? = nil, world: World = World(),
        keyStore: any CloudKeyStore = FileKeyStore(), operationFolder: URL? = nil
    ) {
        self.init(
            transport: transport, environment: environment, hasAccount: hasAccount,
            deviceID: deviceID ?? world.makeUUID().uuidString, world: world, keyStore: keyStore,
            assetFolder: .shared, operationFolder: operationFolder)
    }

    init(
        transport: any Transport, environment: ContainerEnvironment, hasAccount: Bool,
        deviceID: String, world: World, keyStore: any CloudKeyStore, assetFolder: AssetFolder,
        operationFolder: URL?
    ) {
        self.transport = transport
        self.environment = environment
        account = Mutex(Account(isPresent: hasAccount))
        keyring = CloudKeyring(store: keyStore)
        self.deviceID = deviceID
        self.world = world
        self.assetFolder = assetFolder
        self.operationFolder = OperationFolder(root: operationFolder, world: world)
    }

    /// Whether a user is signed in on this device, as far as the device knows.
    ///
    /// The service may still refuse the account; see `CKContainer.accountStatus()`.
    public var hasAccount: Bool { account.withLock { $0.isPresent } }

    /// Notes that the transport's account was signed in, signed out or replaced; posts
    /// `CKAccountChanged` with the connection as its object.
    public func accountChanged(hasAccount: Bool) {
        replaceAccount(hasAccount: hasAccount)
        postAccountChange()
    }

    /// Notes another account, of which observers are not notified yet.
    func replaceAccount(hasAccount: Bool) {
        account.withLock {
            $0 = Account(isPresent: hasAccount, changeCount: $0.changeCount + 1)
        }
        keyring.forget()
    }

    /// Posts `CKAccountChanged`. Observers run at once and may make containers, so it is not called within a lock.
    func postAccountChange() {
        NotificationCenter.default.post(name: .CKAccountChanged, object: self)
    }

    /// Whether the account's session is about to end; a new account starts with a new session.
    var isSessionEnding: Bool { account.withLock { $0.isEnding } }

    func noteSessionEnding() {
        account.withLock { $0.isEnding = true }
    }

    func countAccountChange() {
        account.withLock { $0.changeCount += 1 }
    }

    var fetchedItemCount: Int { fetchedItems.load(ordering: .relaxed) }
    var changedItemCount: Int { changedItems.load(ordering: .relaxed) }

    func noteFetched(_ itemCount: Int, areChanges: Bool) {
        fetchedItems.add(itemCount, ordering: .relaxed)
        if areChanges { changedItems.add(itemCount, ordering: .relaxed) }
    }

    /// How often the account changed; a different number may mean a different user.
    package var accountChangeCount: Int { account.withLock { $0.changeCount } }

    func userRecordName(container: String) -> String? {
        account.withLock { $0.userRecordNames[container] }
    }

    /// Remembers who the user is, unless the account changed before the answer arrived.
    func rememberUser(_ recordName: String, container: String, changeCount: Int) {
        account.withLock { account in
            if account.changeCount == changeCount {
                account.userRecordNames[container] = recordName
            }
        }
    }

    /// The state that all containers of an identifier share while any of them exists.
    func containerCore(_ identifier: String) -> ContainerCore {
        cores.withLock { cores in
            if let core = cores[identifier]?.core { return core }
            let core = ContainerCore(identifier: identifier, connection: self)
            cores[identifier] = CoreHolder(core: core)
            return core
        }
    }

    var pushTokens: [String: String] { account.withLock { $0.pushTokens } }

    /// Remembers the push token of a listener, unless the account changed meanwhile.
    func rememberListener(_ pushToken: String, container: String, changeCount: Int) {
        account.withLock { account in
            if account.changeCount == changeCount { account.pushTokens[container] = pushToken }
        }
    }

    // MARK: The process's connection

    private static let shared = Mutex<CloudConnection?>(nil)

    /// The connection of containers that are made without one; created from environment variables
    /// at first use.
    public static var current: CloudConnection {
        shared.withLock { shared in
            if let shared { return shared }
            let made = CloudConnection(environmentVariables: ProcessInfo.processInfo.environment)
            shared = made
            return made
        }
    }

    /// Sets the connection of the process. Containers that already exist keep theirs.
    public static func use(_ connection: CloudConnection) {
        shared.withLock { $0 = connection }
    }
}

extension Notification.Name {
    /// Posted when an account was signed in, signed out or replaced; call `accountStatus()`.
    public static let CKAccountChanged = Notification.Name("CKAccountChangedNotification")
}
