import Foundation
import StratusRecords
import StratusRuntime
import Synchronization

/// A device's connection to a service, with or without an account.
///
/// Unmodified code never meets it: the first container that is asked for makes the process's own
/// connection of the environment's variables (see ``init(environmentVariables:world:)``). Code that
/// knows better names one, once for the process or for each container:
///
/// ```swift
/// CloudConnection.use(CloudConnection(transport: transport, hasAccount: true))
/// let phone = CKContainer(identifier: "iCloud.org.example.Trails", connection: alicesPhone)
/// ```
public final class CloudConnection: Sendable {
    /// The clock, and chance, as arguments, so that tests own both.
    public typealias World = StratusRuntime.World

    private struct Account {
        var isPresent: Bool
        /// The user's record name by container, as far as the service told it.
        var userRecordNames: [String: String] = [:]
        /// How often the account came, went or became another's.
        var changeCount = 0
        /// Under which the service notifies this device's listeners of changes, by container.
        var pushTokens: [String: String] = [:]
        /// The session is about to end: nobody listens for the account any more.
        var isEnding = false
    }

    private struct CoreHolder {
        weak var core: ContainerCore?
    }

    public let transport: any Transport
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
    /// By container identifier. Cores keep their connection; it does not keep them.
    private let cores = Mutex<[String: CoreHolder]>([:])
    /// How many items fetches brought, and how many of them are certainly changes, as change feeds
    /// tell; shows whether an app's answer to a notification is true.
    private let fetchedItems = Atomic<Int>(0)
    private let changedItems = Atomic<Int>(0)

    /// - Parameters:
    ///   - hasAccount: whether the transport sends a user's credentials. Without, only the public
    ///     database can be read.
    ///   - deviceID: the same at each start of the same device.
    ///   - keyStore: where the device keeps the keys of encrypted values.
    ///   - operationFolder: where the device keeps its long-lived operations. By default
    ///     `$XDG_DATA_HOME/stratus/operations`, else `~/.local/share/stratus/operations`. Devices in
    ///     one folder go on with each other's.
    ///   - environment: development or production.
    ///   - transport: sends the requests.
    ///   - world: time and chance; others in tests.
    public convenience init(
        transport: any Transport, environment: ContainerEnvironment = .development,
        hasAccount: Bool, deviceID: String = World.live.makeUUID().uuidString,
        world: World = World(),
        keyStore: any CloudKeyStore = FileKeyStore(), operationFolder: URL? = nil
    ) {
        self.init(
            transport: transport, environment: environment, hasAccount: hasAccount,
            deviceID: deviceID, world: world, keyStore: keyStore, assetFolder: .shared,
            operationFolder: operationFolder)
    }

    init(
        transport: any Transport, environment: ContainerEnvironment, hasAccount: Bool,
        deviceID: String, world: World, keyStore: any CloudKeyStore, assetFolder: AssetFolder,
        operationFolder: URL?
    ) {
        self.transport = transport
        self.environment = environment
        self.deviceID = deviceID
        self.world = world
        self.assetFolder = assetFolder
        self.operationFolder = OperationFolder(root: operationFolder, world: world)
        keyring = CloudKeyring(store: keyStore)
        account = Mutex(Account(isPresent: hasAccount))
    }

    public var hasAccount: Bool { account.withLock { $0.isPresent } }

    /// Tells that the transport's account came or went, or became another's; posts
    /// `CKAccountChanged`, with the connection as its object.
    public func accountChanged(hasAccount: Bool) {
        account.withLock {
            $0 = Account(isPresent: hasAccount, changeCount: $0.changeCount + 1)
        }
        keyring.forget()
        NotificationCenter.default.post(name: .CKAccountChanged, object: self)
    }

    /// Whether the account's session is about to end; another account has one of its own.
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

    /// How often the account changed: another number is perhaps another user.
    package var accountChangeCount: Int { account.withLock { $0.changeCount } }

    func userRecordName(container: String) -> String? {
        account.withLock { $0.userRecordNames[container] }
    }

    /// Remembers who the user is; not when the answer came after the account changed.
    func rememberUser(_ recordName: String, container: String, changeCount: Int) {
        account.withLock { account in
            if account.changeCount == changeCount {
                account.userRecordNames[container] = recordName
            }
        }
    }

    /// What all containers of an identifier have in common, as long as there are any.
    func containerCore(_ identifier: String) -> ContainerCore {
        cores.withLock { cores in
            if let core = cores[identifier]?.core { return core }
            let core = ContainerCore(identifier: identifier, connection: self)
            cores[identifier] = CoreHolder(core: core)
            return core
        }
    }

    var pushTokens: [String: String] { account.withLock { $0.pushTokens } }

    /// Remembers what a listener was registered under; not when the account changed meanwhile.
    func rememberListener(_ pushToken: String, container: String, changeCount: Int) {
        account.withLock { account in
            if account.changeCount == changeCount { account.pushTokens[container] = pushToken }
        }
    }

    // MARK: The process's own

    private static let shared = Mutex<CloudConnection?>(nil)

    /// The connection of containers that name none; made of the environment's variables at first
    /// use.
    public static var current: CloudConnection {
        shared.withLock { shared in
            if let shared { return shared }
            let made = CloudConnection(environmentVariables: ProcessInfo.processInfo.environment)
            shared = made
            return made
        }
    }

    /// Makes a connection the process's own. Containers that exist already keep theirs.
    public static func use(_ connection: CloudConnection) {
        shared.withLock { $0 = connection }
    }
}

extension Notification.Name {
    /// The account came, went or became another's; ask `accountStatus()`.
    public static let CKAccountChanged = Notification.Name("CKAccountChangedNotification")
}
