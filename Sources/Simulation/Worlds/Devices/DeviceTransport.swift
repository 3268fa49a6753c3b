import StratusClient
import StratusRecords
import StratusRuntime
import StratusService
import StratusTesting
import StratusWire
import Synchronization

/// The connection of one process on a device to the simulated service, with everything that goes wrong on it.
final class DeviceTransport: AccountTransport {
    private struct State {
        var generation = -1
        var inner: InProcessTransport?
        var userRecordName = ""
        var isDead = false
        var repeated: NotificationPayload?
        /// The databases that were not fetched since the last push.
        var notified: Set<DatabaseScope> = []
        /// Whether the process ends before the answer to the next batch of records.
        var isLastBatch = false
        /// Ends the rest of the process.
        var endProcess: (@Sendable () -> Void)?
    }

    let cloud: SimulatedCloud
    private let device: String
    private let user: String
    let dice: FaultDice
    private let world: World
    /// Whether a request may arrive twice, or after the device has given it up. A `CKSyncEngine` deletes records
    /// whatever their change tags are, and does not cancel requests.
    private let mayDouble: Bool
    let mutation: Mutation?
    private let state = Mutex(State())

    init(
        _ cloud: SimulatedCloud, user: String, device: String, dice: FaultDice, world: World,
        mayDouble: Bool = true, mutation: Mutation?
    ) {
        self.mayDouble = mayDouble
        self.cloud = cloud
        self.user = user
        self.device = device
        self.dice = dice
        self.world = world
        self.mutation = mutation
    }

    /// Notes that the process ended: nothing that it began arrives any more.
    func die() { state.withLock { $0.isDead = true } }

    /// Sets what ends with this connection when the process ends before an answer.
    func setProcess(_ end: @escaping @Sendable () -> Void) {
        state.withLock { $0.endProcess = end }
    }

    /// Sets whether the process ends between the commit of the next batch of records and its answer.
    func dieUnanswered(_ isLastBatch: Bool) {
        state.withLock { $0.isLastBatch = isLastBatch }
    }

    /// Ends the process if this is the request whose answer it does not live to get.
    private func endProcessIfDue(before path: String) {
        guard !isDead else { return }
        var isDue = dice.endsProcess(before: path)
        if path == RecordsModify.path {
            state.withLock { state in
                if state.isLastBatch { isDue = true }
                state.isLastBatch = false
            }
        }
        guard isDue, let end = state.withLock({ $0.endProcess.take() }) else { return }
        cloud.note(device, path, EndBeforeAnswer.fault)
        dice.count(EndBeforeAnswer.fault, path)
        die()
        end()
    }

    /// The record name of the user who is signed in; empty before the first request.
    var userRecordName: String { state.withLock { $0.userRecordName } }

    private var isDead: Bool { state.withLock { $0.isDead } }

    func checkAlive() throws {
        if isDead { throw TransportError(.noRoute, "The process of this device has ended.") }
    }

    /// Throws if the service's process ended meanwhile: its answer does not arrive.
    private func checkService(_ endCount: Int) throws {
        guard cloud.endCount == endCount else {
            throw TransportError(.answerLost, "The service's process ended.")
        }
    }

    /// The transport to the current service: after a restore it is another one, without the sessions from before.
    func inner() async throws -> InProcessTransport {
        guard cloud.isRunning else {
            throw TransportError(.noRoute, "The service's process has ended.")
        }
        let (service, generation) = cloud.current
        let known = state.withLock { $0.generation == generation ? $0.inner : nil }
        if let known { return known }
        let session = try await service.signInForDevelopment(user: user)
        let inner = InProcessTransport(
            service: service, webAuthToken: session.webAuthToken, device: device)
        state.withLock { state in
            state.generation = generation
            state.inner = inner
            state.userRecordName = session.userRecordName
        }
        return inner
    }

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        // A user who joins a share is in it once the answer is here, and not again after leaving it.
        let mayDouble = self.mayDouble && E.path != RecordsAccept.path
        return try await noted(
            E.path, Self.name(of: E.path, in: target.scope), mayDouble: mayDouble
        ) { fault in
            try await self.serve(endpoint, request, fault, to: target, timeoutSeconds)
        }
    }

    func noted<Answer: Sendable>(
        _ path: String, _ name: String, mayDouble: Bool = true,
        _ serve: @escaping @Sendable (RequestFault?) async throws -> Answer
    ) async throws -> Answer {
        do {
            let answer = try await deliver(path, mayDouble: mayDouble, serve)
            cloud.note(device, name, "answered")
            return answer
        } catch {
            cloud.note(device, name, Self.word(for: error))
            throw error
        }
    }

    private func deliver<Answer: Sendable>(
        _ path: String, mayDouble: Bool,
        _ serve: @escaping @Sendable (RequestFault?) async throws -> Answer
    ) async throws -> Answer {
        try checkAlive()
        let fault = dice.draw(for: path, mayDouble: mayDouble)
        if let fault { cloud.note(device, path, fault.name) }
        switch fault {
        case .noRoute: throw TransportError(.noRoute, "The simulation has no network here.")
        case .requestLost: throw TransportError(.refused, "The simulation lost the request.")
        case .refused(let code): throw ServiceFailure(Self.error(code))
        case .late: try await world.sleep(dice.milliseconds(below: 20_000) / 1_000)
        case .abandoned:
            try await abandon(serve)
            throw TransportError(.timedOut, "The simulation answers too late.")
        case .tokensExpired:
            _ = try await inner()
            cloud.expireTokens(of: path, userRecordName: userRecordName)
        case .answerLost, .doubled, .itemRefused, nil:
            // Time on the network: later requests may overtake this one.
            try await world.sleep(dice.milliseconds(below: 30) / 1_000)
        }
        try checkAlive()
        // If the answer is lost, its time is too.
        let received = Mutex<AnswerTime?>(nil)
        let endCount = cloud.endCount
        let answered: Result<Answer, any Error>
        do {
            answered = .success(
                try await AnswerTime.$listener.withValue(
                    AnswerTime.Listener { time in received.withLock { $0 = time } }
                ) {
                    try await serve(fault)
                })
        } catch {
            answered = .failure(error)
        }
        try checkService(endCount)
        endProcessIfDue(before: path)
        if fault == .doubled {
            // Half of them immediately.
            let seconds = dice.milliseconds(below: 7_200_000) / 1_000 - 3_600
            if seconds > 0 {
                arrive(inSeconds: seconds, serve)
            } else {
                // Nothing receives the answer to the second one.
                _ = try? await serve(nil)
            }
            try checkService(endCount)
        }
        try checkAlive()
        try await world.sleep(dice.milliseconds(below: 30) / 1_000)
        try checkAlive()
        if fault == .answerLost {
            throw TransportError(.answerLost, "The simulation lost the answer.")
        }
        if let time = received.withLock({ $0 }) { AnswerTime.listener?(time) }
        return try answered.get()
    }

    /// The longest time that a device waits for an answer.
    static let longestWaitSeconds: Double = 60

    /// Waits as long as a device does; the request arrives afterwards.
    private func abandon<Answer: Sendable>(
        _ serve: @escaping @Sendable (RequestFault?) async throws -> Answer
    ) async throws {
        let waitSeconds = dice.milliseconds(below: UInt64(Self.longestWaitSeconds) * 1_000) / 1_000
        arrive(inSeconds: waitSeconds + dice.milliseconds(below: 7_200_000) / 1_000, serve)
        try await world.sleep(waitSeconds)
        try checkAlive()
    }

    /// Delivers a request after a time, unless the service's process ended or an older copy was restored meanwhile.
    private func arrive<Answer: Sendable>(
        inSeconds seconds: Double,
        _ serve: @escaping @Sendable (RequestFault?) async throws -> Answer
    ) {
        let (generation, endCount) = (cloud.current.generation, cloud.endCount)
        let latest = world.uptimeSeconds() + seconds + Self.longestWaitSeconds
        _ = world.startTask("a request that comes late") {
            // The world may end first, or sleep for weeks: no network keeps a request for that long.
            guard (try? await self.world.sleep(seconds)) != nil,
                self.world.uptimeSeconds() <= latest,
                self.cloud.current.generation == generation,
                self.cloud.endCount == endCount
            else { return }
            // Nothing receives its answer.
            _ = try? await serve(nil)
        }
    }

    private func serve<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, _ fault: RequestFault?,
        to target: RequestTarget, _ timeout: Double
    ) async throws -> E.Answer {
        if case .itemRefused(let code) = fault,
            let answer = try await answerWithoutOneItem(request, code, to: target, timeout)
                as? E.Answer
        {
            return answer
        }
        return try await forward(endpoint, request, to: target, timeout)
    }

    func forward<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, _ timeout: Double
    ) async throws -> E.Answer {
        if let answer = mutation?.answer(insteadOf: request, in: target.scope) as? E.Answer {
            return answer
        }
        if mutation == .trustsPushes,
            let answer = answerUnnotified(request, in: target.scope) as? E.Answer
        {
            return answer
        }
        let changed = mutation?.changed(request) ?? request
        if let batch = changed as? RecordsModify.Request, FullService.refuses(batch) {
            try cloud.checkRoom(for: E.path)
        }
        do {
            let answer = try await inner().send(
                endpoint, changed, to: target, timeoutSeconds: timeout)
            if let batch = changed as? RecordsModify.Request,
                let results = answer as? RecordsModify.Answer
            {
                cloud.explain(device, Self.text(of: batch, results))
            }
            return mutation?.changed(answer, to: request) ?? answer
        } catch let failure as ServiceFailure {
            if [.authenticationFailed, .authenticationRequired].contains(failure.error.code) {
                // The session has expired: the user signs in again.
                state.withLock { $0.inner = nil }
            }
            if let answer = mutation?.answer(insteadOf: failure, to: request) as? E.Answer {
                return answer
            }
            throw mutation?.changed(failure) ?? failure
        }
    }

    /// The answer to a device that trusts pushes and got none: nothing changed.
    private func answerUnnotified<Request>(
        _ request: Request, in scope: DatabaseScope?
    ) -> (any Sendable)? {
        guard let scope, let changes = request as? ChangesDatabase.Request,
            let token = changes.syncToken,
            state.withLock({ $0.notified.remove(scope) }) == nil
        else { return nil }
        return ChangesDatabase.Answer(zones: [], syncToken: token, moreComing: false)
    }

    static func error(_ code: FrameworkErrorCode) -> ServiceError {
        let wait: Double? =
            switch code {
            case .serviceUnavailable, .requestRateLimited, .zoneBusy: 3
            default: nil
            }
        return ServiceError(
            .badRequest, "The simulation refuses this request.", retryAfterSeconds: wait,
            frameworkCode: code)
    }

    /// The results of a batch as text, record by record.
    private static func text(
        of batch: RecordsModify.Request, _ answer: RecordsModify.Answer
    ) -> String {
        zip(batch.operations, answer.records).map { operation, result in
            let record = operation.record
            let outcome =
                switch result {
                case .record(let saved): "is \(saved.recordChangeTag ?? "")"
                case .deleted: "is gone"
                case .failure(let failure): failure.error.code.rawValue
                }
            return "\(operation.kind) \(record.recordName ?? "")"
                + " of \(record.recordChangeTag ?? "none") \(outcome)"
        }.joined(separator: ", ")
    }

    private static func name(of path: String, in scope: DatabaseScope?) -> String {
        scope == .shared ? path + " (shared)" : path
    }

    private static func word(for error: any Error) -> String {
        switch error {
        case let failure as ServiceFailure:
            failure.error.frameworkCode.map { "\($0)" } ?? failure.error.code.rawValue
        case let error as TransportError: error.code.rawValue
        case is CancellationError: "cancelled"
        default: "failed"
        }
    }

    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        if let repeated = state.withLock({ $0.repeated.take() }) { return repeated }
        while true {
            try checkAlive()
            if dice.isCutOff {
                throw TransportError(.noRoute, "The simulation has no network here.")
            }
            let endCount = cloud.endCount
            let payload = try await inner().nextNotification(
                at: webcourierURL, timeoutSeconds: timeoutSeconds)
            try checkAlive()
            try checkService(endCount)
            guard let payload else { return nil }
            switch cloud.pushFault(for: device, dice) {
            case .dropped: continue
            case .doubled: state.withLock { $0.repeated = payload }
            case nil: break
            }
            state.withLock { $0.notified = [.private, .shared] }
            return payload
        }
    }

    func changeAccount(webAuthToken: String?) {
        state.withLock { $0.inner }?.changeAccount(webAuthToken: webAuthToken)
    }

    func webAuthToken(
        forAPIToken apiToken: String, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> String {
        try await inner().webAuthToken(
            forAPIToken: apiToken, to: target, timeoutSeconds: timeoutSeconds)
    }
}
