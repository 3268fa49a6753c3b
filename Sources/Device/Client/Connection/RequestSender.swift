import Foundation
import StratusRecords
import StratusRuntime
import StratusWire

/// Sends the requests of one operation, and throws nothing but `CKError`.
struct RequestSender: Sendable {
    let connection: CloudConnection
    var target: RequestTarget
    let pace: RequestPace

    init(connection: CloudConnection, target: RequestTarget, pace: RequestPace) {
        self.connection = connection
        self.target = target
        var pace = pace
        pace.accountChangeCount = pace.accountChangeCount ?? connection.accountChangeCount
        self.pace = pace
    }

    var scope: DatabaseScope { target.scope ?? .public }

    /// Sends a request; repeats it when the pace allows and the error is transient.
    ///
    /// - Parameter recover: turns a refusal that has results, such as that of an atomic batch, into
    ///   an answer.
    /// - Throws: `CKError`.
    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request,
        recover: (ServiceFailure) -> E.Answer? = { _ in nil }
    ) async throws -> E.Answer {
        try connection.checkConfigured()
        if target.scope.map({ $0 != .public }) ?? false, !connection.hasAccount {
            throw CKError.notSignedIn(
                "The private and the shared database belong to an account, and there"
                    + " is none; sign in.",
                at: connection.serviceAddress)
        }
        let check = AccountCheck { try checkAccount() }
        return try await retrying(recover: recover) {
            try await AccountCheck.$current.withValue(check) {
                try await timed {
                    try await bounded(by: min(pace.requestSeconds, remainingSeconds)) {
                        try await connection.transport.send(
                            endpoint, request, to: target, timeoutSeconds: pace.requestSeconds)
                    }
                }
            }
        }
    }

    /// Runs an attempt, and adds how long the request took to the reported time of its answer.
    private func timed<Value>(_ attempt: () async throws -> Value) async throws -> Value {
        guard let listener = AnswerTime.listener else { return try await attempt() }
        let world = connection.world
        let begun = world.uptimeMilliseconds
        let timed = AnswerTime.Listener { time in
            var time = time
            time.elapsedMilliseconds = max(0, world.uptimeMilliseconds - begun) + 1
            listener(time)
        }
        return try await AnswerTime.$listener.withValue(timed) { try await attempt() }
    }

    /// Transfers the bytes of an asset. Unlike ``send(_:_:recover:)``, it has no time limit of its own, only that of
    /// the operation.
    func transfer<Value: Sendable>(
        _ attempt: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await retrying {
            guard pace.deadlineUptimeSeconds != nil else { return try await attempt() }
            return try await bounded(by: remainingSeconds, attempt)
        }
    }

    /// Repeats an attempt until it succeeds, while the pace allows it and the error is transient.
    ///
    /// - Throws: `CKError`.
    private func retrying<Value>(
        recover: (ServiceFailure) -> Value? = { _ in nil },
        _ attempt: () async throws -> Value
    ) async throws -> Value {
        let world = connection.world
        var backoff = RequestPace.backoff
        while true {
            do {
                try Task.checkCancellation()
                try checkAccount()
                let value = try await attempt()
                // An answer for an account that was replaced meanwhile is discarded.
                try checkAccount()
                return value
            } catch {
                try checkAccount()
                if let failure = error as? ServiceFailure, let answer = recover(failure) {
                    return answer
                }
                let error = CKError(requestFailedWith: error)
                guard pace.retriesTransientErrors, error.isTransient else { throw error }
                // Between half of the delay and all of it, so that devices do not retry at the same
                // moment.
                let wait = max(
                    error.retryAfterSeconds ?? 0, backoff.nextSeconds(random: world.random()))
                if wait > remainingSeconds { throw error }
                do { try await world.sleep(wait) } catch { throw CKError.cancelled }
            }
        }
    }

    /// Seconds until the operation must end.
    private var remainingSeconds: Double {
        pace.deadlineUptimeSeconds.map { $0 - connection.world.uptimeSeconds() } ?? .infinity
    }

    /// Runs an attempt within its time limit, even if the transport does not keep to one.
    private func bounded<Value: Sendable>(
        by seconds: Double, _ attempt: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await connection.world.withTimeout(
            seconds: seconds, throwing: TransportError.unanswered(afterSeconds: seconds), attempt)
    }

    /// Throws when the account changed since the operation began, so that its requests are not sent
    /// for another account.
    private func checkAccount() throws {
        guard pace.accountChangeCount == connection.accountChangeCount else {
            throw CKError(
                .notAuthenticated, "The account changed after the request was made; make it again.")
        }
    }
}
