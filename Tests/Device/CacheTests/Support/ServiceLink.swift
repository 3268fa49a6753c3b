import StratusClient
import StratusRecords
import StratusService
import StratusSync
import StratusTesting
import StratusWire
import Synchronization

@testable import StratusCache

/// One device's connection to the real service, with scripted faults.
///
/// The signed-in user stays signed in: a new session is created when it is needed, as if the person signed in again.
final class ServiceLink: AccountTransport {
    enum Fault {
        /// The request never arrives, or is refused as a whole.
        case requestLost(SyncFailure)
        /// The request is carried out, but its answer never arrives.
        case answerLost
    }

    /// A closure that runs once.
    typealias Interlude = @Sendable () async throws -> Void

    private struct State {
        var user: String?
        /// The user of the next sign-in that the connection reports.
        var nextUser: String?
        var inner: InProcessTransport?
        var generation = -1
        var signedInMilliseconds: Int64 = 0
        var calls: [String] = []
        var script: [Int: Fault] = [:]
        /// Faults by the number of the request of its kind.
        var scriptOfKinds: [String: [Int: Fault]] = [:]
        /// The names of records whose fields cannot be read in answers.
        var unreadable: Set<String> = []
        var beforeSend: Interlude?
        var duringSend: Interlude?
        var duringPage: Interlude?
        var duringLookup: Interlude?
        var duringDatabasePage: Interlude?
        var duringZones: Interlude?
    }

    let service: RealService
    let device: String
    private let state: Mutex<State>

    /// - Parameter user: The signed-in user.
    init(_ service: RealService, user: String = "alice") {
        self.service = service
        device = service.newDevice()
        state = Mutex(State(user: user))
    }

    func connection(_ world: CloudConnection.World = .live) -> CloudConnection {
        CloudConnection(
            transport: self, environment: service.environment, hasAccount: true, deviceID: device,
            world: world, keyStore: service.keyStore)
    }

    // MARK: Scripted faults

    /// The kinds of the cache's requests: only those about zones, records and their changes.
    var callNames: [String] { state.withLock { $0.calls } }

    private static let names = [
        ZonesModify.path: "zones", SubscriptionsModify.path: "subscription",
        RecordsModify.path: "send", RecordsLookup.path: "records",
        ChangesDatabase.path: "database", ChangesZone.path: "page",
    ]

    /// Fails the request with this number, counted from now.
    func fail(call number: Int, _ fault: Fault) {
        state.withLock { $0.script[$0.calls.count + number] = fault }
    }

    /// Fails the request with this number among those of its kind, counted from now.
    func fail(_ name: String, _ number: Int, _ fault: Fault) {
        state.withLock { state in
            let made = state.calls.count { $0 == name }
            state.scriptOfKinds[name, default: [:]][made + number] = fault
        }
    }

    /// Makes the fields of records unreadable in answers.
    func setUnreadable(_ names: Set<String>) { state.withLock { $0.unreadable = names } }

    /// Runs once before the next batch arrives.
    func beforeNextSend(_ body: @escaping Interlude) { state.withLock { $0.beforeSend = body } }

    /// Runs once after the next batch was carried out, before its answer arrives.
    func duringNextSend(_ body: @escaping Interlude) { state.withLock { $0.duringSend = body } }

    /// Runs once while the next page of a zone is in flight.
    func duringNextPage(_ body: @escaping Interlude) { state.withLock { $0.duringPage = body } }

    /// Runs once after records were read by their names, before the answer arrives.
    func duringNextLookup(_ body: @escaping Interlude) { state.withLock { $0.duringLookup = body } }

    /// Runs once while the next page of the database's changes is in flight.
    func duringNextDatabasePage(_ body: @escaping Interlude) {
        state.withLock { $0.duringDatabasePage = body }
    }

    /// Runs once after the next zones were created and deleted, before the answer arrives.
    func duringNextZones(_ body: @escaping Interlude) { state.withLock { $0.duringZones = body } }

    // MARK: Requests

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        guard let name = Self.names[E.path] else {
            return try await forward(endpoint, request, to: target, timeoutSeconds)
        }
        if name == "send" { try await take(\.beforeSend)?() }
        let fault = state.withLock { state in
            state.calls.append(name)
            return state.script[state.calls.count - 1]
                ?? state.scriptOfKinds[name]?[state.calls.count { $0 == name } - 1]
        }
        if case .requestLost(let failure) = fault { throw Self.error(failure) }
        if name == "send" { service.pass() }
        let served = try await serve(endpoint, request, to: target, timeoutSeconds)
        let answer = served.damaged(state.withLock { $0.unreadable }) as? E.Answer ?? served
        if case .answerLost = fault {
            throw TransportError(.answerLost, "The test lost the answer.")
        }
        switch name {
        case "send": try await take(\.duringSend)?()
        case "page": try await take(\.duringPage)?()
        case "records": try await take(\.duringLookup)?()
        case "database": try await take(\.duringDatabasePage)?()
        case "zones": try await take(\.duringZones)?()
        default: break
        }
        return answer
    }

    private func take(_ interlude: WritableKeyPath<State, Interlude?> & Sendable) -> Interlude? {
        state.withLock { $0[keyPath: interlude].take() }
    }

    /// The error that the framework's transport would turn into this failure.
    private static func error(_ failure: SyncFailure) -> any Error {
        switch failure.code {
        case .networkUnavailable: TransportError(.noRoute, failure.message)
        case .networkFailure: TransportError(.refused, failure.message)
        default: ServiceFailure(refusal(failure))
        }
    }

    private static func refusal(_ failure: SyncFailure) -> ServiceError {
        ServiceError(
            .badRequest, failure.message, retryAfterSeconds: failure.retryAfterSeconds,
            frameworkCode: failure.code)
    }

    private func serve<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, _ timeout: Double
    ) async throws -> E.Answer {
        let refusals = service.refusals.withLock { $0 }
        let answer: Any
        switch request {
        case let modify as RecordsModify.Request:
            let sent = try await send(modify, refusing: refusals.records) { others in
                try await self.forward(RecordsModify.self, others, to: target, timeout)
            }
            service.noteSaves(zip(modify.operations, sent.records).count { $0.isSaved(by: $1) })
            answer = sent
        case let modify as ZonesModify.Request where !refusals.zones.isEmpty:
            answer = try await send(modify, refusing: refusals.zones) { others in
                try await self.forward(ZonesModify.self, others, to: target, timeout)
            }
        case let lookup as RecordsLookup.Request where !refusals.lookups.isEmpty:
            var served = try await forward(RecordsLookup.self, lookup, to: target, timeout)
            served.records = served.records.map { Self.refusing($0, refusals.lookups) }
            answer = served
        default: return try await forward(endpoint, request, to: target, timeout)
        }
        guard let answer = answer as? E.Answer else {
            throw TransportError(.answerUnreadable, "The test answered something else.")
        }
        return answer
    }

    private static func refusing(
        _ result: RecordResult, _ refusals: [String: SyncFailure]
    ) -> RecordResult {
        guard case .record(let record) = result,
            let failure = refusals[record.recordName ?? ""]
        else { return result }
        return .failure(
            RecordFailure(
                recordName: record.recordName, zoneID: record.zoneID, error: refusal(failure)))
    }

    /// Serves a batch without the refused records.
    private func send(
        _ request: RecordsModify.Request, refusing refusals: [String: SyncFailure],
        _ forward: (RecordsModify.Request) async throws -> RecordsModify.Answer
    ) async throws -> RecordsModify.Answer {
        var others = request
        others.operations.removeAll { refusals[$0.record.recordName ?? ""] != nil }
        var answered = others.operations.isEmpty ? [] : try await forward(others).records[...]
        return RecordsModify.Answer(
            records: request.operations.compactMap { operation in
                guard let failure = refusals[operation.record.recordName ?? ""] else {
                    return answered.popFirst()
                }
                return .failure(
                    RecordFailure(
                        recordName: operation.record.recordName, zoneID: operation.record.zoneID,
                        error: Self.refusal(failure)))
            })
    }

    /// The same for zones.
    private func send(
        _ request: ZonesModify.Request, refusing refusals: [ZoneID: SyncFailure],
        _ forward: (ZonesModify.Request) async throws -> ZonesModify.Answer
    ) async throws -> ZonesModify.Answer {
        let refusals = Dictionary(uniqueKeysWithValues: refusals.map { ($0.key.name, $0.value) })
        var others = request
        others.operations.removeAll { refusals[$0.zoneID.zoneName] != nil }
        var answered = others.operations.isEmpty ? [] : try await forward(others).items[...]
        return ZonesModify.Answer(
            request.operations.compactMap { operation in
                guard let failure = refusals[operation.zoneID.zoneName] else {
                    return answered.popFirst()
                }
                return .failure(
                    ZoneFailure(zoneID: operation.zoneID, error: Self.refusal(failure)))
            })
    }

    private func forward<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, _ timeout: Double
    ) async throws -> E.Answer {
        try await inner().send(endpoint, request, to: target, timeoutSeconds: timeout)
    }

    // MARK: Accounts

    /// A transport to the current service, with a session that is at most a day old.
    private func inner() async throws -> InProcessTransport {
        let (current, generation) = service.current
        let now = service.nowMilliseconds
        let (user, known) = state.withLock { state in
            let isFresh =
                state.generation == generation
                && now - state.signedInMilliseconds < Self.sessionMilliseconds
            return (state.user, isFresh ? state.inner : nil)
        }
        if let known { return known }
        let token: String? =
            if let user { try await current.signInForDevelopment(user: user).webAuthToken } else {
                nil
            }
        let inner = InProcessTransport(service: current, webAuthToken: token, device: device)
        state.withLock { state in
            state.generation = generation
            state.signedInMilliseconds = now
            // Unless another user has signed in meanwhile.
            if state.user == user { state.inner = inner }
        }
        return inner
    }

    /// One day.
    private static let sessionMilliseconds: Int64 = 86_400_000

    /// Another user signs in on the device.
    func signIn(_ user: String, on connection: CloudConnection) async throws {
        let session = try await service.current.service.signInForDevelopment(user: user)
        state.withLock { $0.nextUser = user }
        try connection.signIn(webAuthToken: session.webAuthToken)
    }

    func changeAccount(webAuthToken: String?) {
        state.withLock { state in
            state.user = webAuthToken == nil ? nil : state.nextUser
            state.inner = nil
        }
    }

    func webAuthToken(
        forAPIToken apiToken: String, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> String {
        try await inner().webAuthToken(
            forAPIToken: apiToken, to: target, timeoutSeconds: timeoutSeconds)
    }

    // MARK: Other requests

    func upload(
        _ asset: AssetUpload, to url: String, timeoutSeconds: Double
    ) async throws -> AssetReceipt {
        try await inner().upload(asset, to: url, timeoutSeconds: timeoutSeconds)
    }

    func download(
        from url: String, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await inner().download(from: url, timeoutSeconds: timeoutSeconds, receive: receive)
    }

    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        try await inner().nextNotification(at: webcourierURL, timeoutSeconds: timeoutSeconds)
    }
}

extension CloudConnection {
    /// A database of the test's container, as a cache uses it.
    func remote(_ scope: CKDatabase.Scope = .private) -> CloudKitDatabase {
        CloudKitDatabase(
            database: CKContainer(identifier: RealService.container, connection: self)
                .database(with: scope))
    }
}

extension RealService {
    /// A database with its own link.
    func remote(_ scope: CKDatabase.Scope = .private) -> CloudKitDatabase {
        ServiceLink(self).connection().remote(scope)
    }
}

extension RecordsModify.Operation {
    fileprivate func isSaved(by result: RecordResult) -> Bool {
        if case .record = result { !kind.isDeletion } else { false }
    }
}

extension ZoneID {
    static let list = ZoneID(name: "List")
    static let other = ZoneID(name: "Other")
}

extension WireReadable {
    /// An answer in which the fields of some records cannot be read; nil if it is not changed.
    fileprivate func damaged(_ names: Set<String>) -> Any? {
        if names.isEmpty { return nil }
        switch self {
        case var answer as RecordsLookup.Answer:
            answer.records = answer.records.map { $0.withoutReadableFields(names) }
            return answer
        case var answer as ChangesZone.Answer:
            answer.items = answer.items.map { item in
                item.map { page in
                    var page = page
                    page.records = page.records.map { $0.withoutReadableFields(names) }
                    return page
                }
            }
            return answer
        default: return nil
        }
    }
}

extension RecordResult {
    fileprivate func withoutReadableFields(_ names: Set<String>) -> RecordResult {
        switch self {
        // As they are read from an answer whose records are damaged.
        case .record(let record) where names.contains(record.recordName ?? ""):
            return .failure(
                RecordFailure(
                    recordName: record.recordName, zoneID: record.zoneID,
                    error: ServiceError(
                        .internalError, "The record cannot be read.",
                        frameworkCode: .internalError)))
        case .failure(var failure) where names.contains(failure.recordName ?? ""):
            failure.serverRecord = nil
            return .failure(failure)
        default: return self
        }
    }
}
