import Logging
import StratusRecords
import StratusStorage
import StratusWire
import Synchronization

/// The rules of the service, free of HTTP: a caller and a typed request go in, a typed answer comes
/// out.
///
/// The same object runs behind the HTTP routes of StratusServer and in process under StratusTesting.
///
/// ```swift
/// let service = CloudService(storehouse: storehouse, settings: ServiceSettings(isForDevelopment: true))
/// let answer = try await service.respond(
///     to: ZonesList.self, .init(), from: credentials, at: address, scope: .private)
/// ```
public final class CloudService: Sendable {
    public let storehouse: any Storehouse
    public let settings: ServiceSettings

    /// Who may ask: API tokens, sessions, users.
    public let accounts: Accounts

    let schemas: SchemaBook
    let subscriptions: SubscriptionBook
    let indexes: IndexBook
    let courier: Courier
    let notifications: Notifications
    let tombstones: TombstonePurge

    private let directoryWatch = Mutex(DirectoryWatch())
    private let sealOnceKnown = Mutex<Seal?>(nil)
    private let fatalErrorHandler = Mutex<(@Sendable (StorageError) -> Void)?>(nil)

    public init(storehouse: any Storehouse, settings: ServiceSettings) {
        self.storehouse = storehouse
        self.settings = settings
        accounts = Accounts(directory: storehouse.directory, settings: settings)
        schemas = SchemaBook(directory: storehouse.directory, limits: settings.limits)
        subscriptions = SubscriptionBook()
        indexes = IndexBook(limits: settings.limits, logger: settings.logger)
        tombstones = TombstonePurge(settings: settings)
        courier = Courier(
            capacityPerDevice: settings.limits.notificationsPerDevice, sleep: settings.sleep)
        notifications = Notifications(
            storehouse: storehouse, settings: settings, subscriptions: subscriptions,
            schemas: schemas, courier: courier)
    }

    /// Says whom to tell when the store needs a person: the disk is full, or the folder cannot be
    /// written. The service should then stop with the error's sentence.
    public func onFatalStorageError(_ handler: @escaping @Sendable (StorageError) -> Void) {
        fatalErrorHandler.withLock { $0 = handler }
    }

    /// Answers a request: authenticates, checks access, applies the endpoint's rules.
    ///
    /// - Parameters:
    ///   - credentials: What the caller showed.
    ///   - address: The container and environment of the request's path.
    ///   - scope: The database of the path; nil for endpoints without one.
    /// - Throws: ``RequestFailure`` with the protocol's code; errors of single items are in the answer.
    public func respond<E: ServedEndpoint>(
        to endpoint: E.Type, _ request: E.Request, from credentials: Credentials,
        at address: ContainerAddress, scope: DatabaseScope?
    ) async throws(RequestFailure) -> ServedAnswer<E.Answer> {
        do {
            try await refreshRemembered()
            let admitted = try await accounts.authenticate(credentials, at: address, seal: seal())
            var caller = admitted.caller
            caller.wantsSyncToken = credentials.wantsSyncToken
            let context = RequestContext(
                service: self, caller: caller, address: address, scope: scope)
            try context.checkAccess(E.access)
            let answer = try await E.answer(request, in: context)
            return ServedAnswer(answer, rotatedWebAuthToken: admitted.rotatedWebAuthToken)
        } catch {
            throw failure(from: error)
        }
    }

    /// Waits for the next notification of a device: the long poll.
    ///
    /// A cancelled wait takes nothing from the queue. One poll waits at a time per token: a newer one
    /// ends the older, which then returns nil.
    ///
    /// - Returns: nil when the time is over without news.
    /// - Throws: ``RequestFailure`` with NOT_FOUND when the push token is unknown or has expired.
    public func nextNotification(
        pushToken: String, timeoutSeconds: Double
    ) async throws(RequestFailure) -> NotificationPayload? {
        do {
            try await renew(pushToken: pushToken)
        } catch {
            throw failure(from: error)
        }
        return await courier.next(pushToken: pushToken, timeoutSeconds: timeoutSeconds)
    }

    /// Puts a notification back at the head of its queue, for a transport that could not hand it over.
    public func giveBack(_ notification: NotificationPayload, pushToken: String) async {
        await courier.giveBack(notification, to: pushToken)
    }

    /// Waits until everything that was saved has been told to the listening devices' queues, and what was
    /// added to schemas is in the indexes.
    public func settle() async {
        await notifications.settle()
        await indexes.settle()
        await tombstones.settle()
    }

    /// The store of a database; at its first use, news that a crash left behind are told.
    func store(for address: DatabaseAddress) async throws -> any RecordStore {
        let store = try await storehouse.store(for: address)
        notifications.tellWhatWasLeft(of: store)
        return store
    }

    /// Forgets what was remembered of the directory once another process has changed it. Asks once a
    /// second at the most, so that a request costs nothing by it.
    func refreshRemembered() async throws {
        let now = settings.nowMilliseconds()
        guard directoryWatch.withLock({ $0.isDue(atMilliseconds: now) }) else { return }
        let changes = try await storehouse.directory.changesByOthers()
        guard directoryWatch.withLock({ $0.hasChanged(to: changes) }) else { return }
        schemas.forget()
    }

    func seal() async throws -> Seal {
        if let seal = sealOnceKnown.withLock({ $0 }) { return seal }
        let seal = Seal(key: try await storehouse.directory.signingKey())
        sealOnceKnown.withLock { $0 = seal }
        return seal
    }

    /// The one place where an error from below becomes the protocol's.
    func failure(from error: any Error) -> RequestFailure {
        switch error {
        case let failure as RequestFailure:
            return failure
        case let error as ServiceError:
            return RequestFailure(error)
        case let error as WireError:
            return RequestFailure(.invalid(error.reason))
        case is CancellationError:
            return RequestFailure(.cancelled)
        case let error as StorageError:
            settings.logger.error(
                "The store could not do what it was asked.",
                metadata: ["code": "\(error.code.rawValue)", "message": "\(error.message)"])
            if error.stopsService {
                fatalErrorHandler.withLock { $0 }?(error)
            }
            return RequestFailure(.storeUnavailable)
        default:
            settings.logger.error(
                "An error was not foreseen.", metadata: ["type": "\(type(of: error))"])
            return RequestFailure(ServiceError(.internalError, "The service met an error."))
        }
    }
}

/// What a service last saw of the directory's changes by other processes.
private struct DirectoryWatch {
    private static let intervalMilliseconds: Int64 = 1_000

    private var askedMilliseconds: Int64?
    private var changes: Int64?

    /// Whether it is time to ask; the one who is told so has to.
    mutating func isDue(atMilliseconds now: Int64) -> Bool {
        // A clock that was set back must not keep the service from asking.
        if let asked = askedMilliseconds, abs(now - asked) < Self.intervalMilliseconds {
            return false
        }
        askedMilliseconds = now
        return true
    }

    mutating func hasChanged(to changes: Int64) -> Bool {
        defer { self.changes = changes }
        return self.changes != changes
    }
}

/// An endpoint's answer, and the caller's next web-auth token.
public struct ServedAnswer<Answer: WireValue>: Hashable, Sendable {
    public var answer: Answer
    /// Replaces the token that came with the request; nil when none came.
    public var rotatedWebAuthToken: String?

    public init(_ answer: Answer, rotatedWebAuthToken: String?) {
        self.answer = answer
        self.rotatedWebAuthToken = rotatedWebAuthToken
    }
}

/// An endpoint that the service answers. The conformances are in the files of the same names.
public protocol ServedEndpoint: Endpoint {
    /// What the caller must be to ask at all.
    static var access: EndpointAccess { get }

    static func answer(_ request: Request, in context: RequestContext) async throws -> Answer
}

/// What a caller needs for an endpoint. Everything in the private and shared databases needs a user.
public enum EndpointAccess: Hashable, Sendable {
    /// An API token is enough to read the public database.
    case read
    /// A user, whichever the database.
    case user
}
