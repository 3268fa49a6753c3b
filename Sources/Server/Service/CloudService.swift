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
    let devices: Devices
    let notifications: Notifications
    let tombstones: TombstonePurge
    let uploads: UploadsUnderWay

    private let directoryWatch = Mutex(DirectoryWatch())
    let throttle: Throttle
    let queue: RequestQueue
    let transfers = TransferMeter()

    /// What tests make go wrong.
    public let faults: FaultScript

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
        uploads = UploadsUnderWay(limit: settings.limits.uploadsPerUser)
        faults = FaultScript()
        throttle = Throttle(limits: settings.limits, nowMilliseconds: settings.nowMilliseconds)
        queue = RequestQueue(limits: settings.limits)
        let courier = Courier(settings: settings)
        self.courier = courier
        devices = Devices(
            directory: storehouse.directory, settings: settings, courier: courier,
            pushes: settings.pushDelivery.map {
                PushQueue(directory: storehouse.directory, settings: settings, delivery: $0)
            })
        notifications = Notifications(
            storehouse: storehouse, settings: settings, subscriptions: subscriptions,
            schemas: schemas, devices: devices, faults: faults)
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
        let admission = try await admit(credentials, to: E.self, at: address, scope: scope)
        return try await respond(to: E.self, admission) { request }
    }

    /// Refuses a signed request whose body need not be read, because no body could make it good.
    ///
    /// - Parameter credentials: With a signature over no body.
    /// - Throws: ``RequestFailure`` with AUTHENTICATION_FAILED.
    public func checkSigner(
        _ credentials: Credentials, at address: ContainerAddress
    ) async throws(RequestFailure) {
        do {
            try await refreshRemembered()
            if let signature = credentials.signature {
                _ = try await accounts.keyOfSigner(signature, credentials, at: address)
            }
        } catch {
            throw failure(from: error)
        }
    }

    /// The endpoint's answer, with addresses for the assets of its records; likewise in its failure.
    func linkedAnswer<E: ServedEndpoint>(
        to endpoint: E.Type, _ request: E.Request, in context: RequestContext
    ) async throws -> E.Answer {
        var links = AssetLinks(seal: try await seal(), context: context)
        do {
            var answer = try await self.answer(E.self, request, in: context)
            E.link(&answer, &links)
            return answer
        } catch var failure as RequestFailure {
            if var records = failure.records {
                links.link(&records)
                failure.records = records
            }
            throw failure
        }
    }

    /// The protocol's error; where a user is needed, with the address of a sign-in page.
    func failure(
        from error: any Error, _ credentials: Credentials, at address: ContainerAddress
    ) async -> RequestFailure {
        var failure = failure(from: error)
        if failure.error.code == .authenticationRequired {
            do {
                failure.error.redirectURL = try await signInAddress(for: credentials, at: address)
            } catch {
                // The directory is in trouble, which weighs more than the missing user.
                return self.failure(from: error)
            }
        }
        return failure
    }

    /// Waits for the next notification of a device: the long poll.
    ///
    /// A cancelled wait takes nothing from the queue. A few polls may wait under one token; the newest
    /// is answered first.
    ///
    /// - Returns: nil when the time is over without news.
    /// - Throws: ``RequestFailure`` with NOT_FOUND when the push token is unknown or has expired, and
    ///   with THROTTLED when too many polls wait under it.
    public func nextNotification(
        pushToken: String, timeoutSeconds: Double
    ) async throws(RequestFailure) -> NotificationPayload? {
        do {
            try await devices.renew(pushToken: pushToken)
            return try await courier.next(pushToken: pushToken, timeoutSeconds: timeoutSeconds)
        } catch {
            throw failure(from: error)
        }
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

    /// Tells what a crash left untold, in all databases; for the start of a service.
    ///
    /// Opens one database after the other, so it takes as long as that: about a millisecond for each.
    /// News of a database that is used before is told at its first use.
    ///
    /// - Throws: ``StratusStorage/StorageError`` when a database cannot be opened or read.
    public func tellWhatWasLeft() async throws {
        try await notifications.tellWhatWasLeft()
    }

    /// Tells what waits and clears the outboxes, so that the next start has nothing to tell again; for
    /// a clean stop.
    public func finishNotifications() async {
        await notifications.settle()
        await notifications.clearOutboxes()
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
        accounts.forget()
    }

    /// Tells whether pages of an origin may read answers to requests with an API token.
    ///
    /// An unknown token's refusal may be read by anybody: whoever writes a page should see it.
    public func mayRead(origin: String, apiToken: String?) async -> Bool {
        guard let apiToken else { return true }
        do {
            try await refreshRemembered()
            return try await accounts.apiToken(apiToken)?.allows(origin: origin) ?? true
        } catch {
            // The store is in trouble, and the request's own answer will say so.
            return false
        }
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
            // A store that has too much to do is no news to a person.
            settings.logger.log(
                level: error.code == .busy ? .debug : .error,
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

    /// Whether the caller's web-auth token is no good afterwards.
    static var endsSession: Bool { get }

    /// What a request costs its sender, in requests, beyond the one that it is.
    static func cost(of request: Request) -> Double

    /// The zones that a request names; the fault script can be about one.
    static func zoneNames(in request: Request) -> Set<String>

    /// The answer when the change tokens in the request have expired.
    static func answerToExpired(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer

    static func answer(_ request: Request, in context: RequestContext) async throws -> Answer

    /// Puts addresses into the records of an answer, for their assets. An endpoint whose answer carries
    /// records does it in AssetLinks.swift.
    static func link(_ answer: inout Answer, _ links: inout AssetLinks)
}

extension ServedEndpoint {
    public static func link(_ answer: inout Answer, _ links: inout AssetLinks) {}
}

extension ServedEndpoint {
    public static var endsSession: Bool { false }
    public static func cost(of request: Request) -> Double { 0 }
}

/// What a caller needs for an endpoint. Everything in the private and shared databases needs a user.
public enum EndpointAccess: Hashable, Sendable {
    /// An API token is enough to read the public database.
    case read
    /// A user, whichever the database.
    case user
}
