import Logging
import StratusRecords
import StratusRuntime
import StratusWire
import Synchronization

/// Counts requests: the rates of their senders, how they ended, and the bytes that they transfer. Counts nothing in a
/// service without rate limits.
///
/// A sender whose credentials were valid recently is counted apart from the strangers of the same network address, and
/// failures count against the credentials that failed first. So a guesser, or a device whose session has ended, does
/// not slow down others behind its address.
final class RequestMeter: Sendable {
    /// How long credentials count as valid after their last success, in seconds.
    private static let goodCredentialsSeconds = 3_600.0

    private let isThrottled: Bool
    private let transferBytesPerDay: Int
    private let world: World
    private let throttle: Throttle
    private let transferRates: Throttle
    private let transfers: TransferMeter
    /// When credentials were last valid, on the monotonic clock.
    private let goodCredentials = Mutex(LRUCache<Int, Double>(capacity: 65_536))

    init(isThrottled: Bool, limits: Limits, world: World, logger: Logger) {
        self.isThrottled = isThrottled
        transferBytesPerDay = limits.transferBytesPerDay
        self.world = world
        throttle = Throttle(limits: limits, world: world)
        transferRates = Throttle(
            limits: limits, world: world, rates: Throttle.Rates(transfers: limits))
        transfers = TransferMeter(logger: logger)
    }

    // MARK: Requests

    /// Takes one request from the rate of the network that the credentials came from, or of the strangers there.
    ///
    /// - Throws: ``ServiceError`` THROTTLED.
    func checkRate(of credentials: Credentials) throws(ServiceError) {
        guard isThrottled else { return }
        if let key = credentials.key {
            try throttle.check(.credentials(key))
            if areGood(key) { return try throttle.admit(credentials.network) }
        }
        try throttle.admit(credentials.strangers)
    }

    /// Takes one request from a user's rate.
    ///
    /// - Throws: ``ServiceError`` THROTTLED.
    func checkRate(of sender: Throttle.Sender) throws(ServiceError) {
        guard isThrottled else { return }
        try throttle.admit(sender)
    }

    /// Takes the cost of a request beyond the one request that was taken at its start.
    func charge(_ sender: Throttle.Sender, _ cost: Double) {
        guard isThrottled else { return }
        throttle.charge(sender, cost)
    }

    /// Remembers how a request ended.
    ///
    /// - Parameters:
    ///   - sender: The user, or the network address while there is none.
    ///   - error: Nil for a success.
    func recordOutcome(
        of sender: Throttle.Sender, _ credentials: Credentials, _ error: (any Error)?
    ) {
        guard isThrottled else { return }
        let code: ServiceError.Code? =
            switch error {
            case let failure as RequestFailure: failure.error.code
            case let error as ServiceError: error.code
            case is WireError: .badRequest
            default: nil
            }
        switch code {
        case .authenticationFailed: recordFailure(of: credentials)
        case .authenticationRequired:
            // A request without a session gets the address of the sign-in page, and is not a failed attempt.
            if credentials.webAuthToken != nil { recordFailure(of: credentials) }
        case .badRequest, .accessDenied:
            throttle.recordOutcome(of: payer(for: sender, credentials), wasBad: true)
        default:
            // A conflict, a missing zone or an error of the service is neither a failure nor a success of the sender.
            if error == nil { recordSuccess(of: sender, credentials) }
        }
    }

    /// Who is charged for a request: the user, else the strangers of the address.
    func payer(
        for sender: Throttle.Sender, _ credentials: Credentials
    ) -> Throttle.Sender {
        if case .address = sender { return credentials.strangers }
        return sender
    }

    private func recordSuccess(of sender: Throttle.Sender, _ credentials: Credentials) {
        let payer = payer(for: sender, credentials)
        throttle.recordOutcome(of: payer, wasBad: false)
        guard case .user = sender else { return }
        // A success at the address also forgives some failures of its strangers.
        throttle.forgive(credentials.strangers)
        guard let key = credentials.key else { return }
        let now = world.uptimeSeconds()
        goodCredentials.withLock { $0[key] = now }
    }

    /// Bad credentials are charged to themselves; new bad ones are charged to the strangers of their address, at a high
    /// cost.
    private func recordFailure(of credentials: Credentials) {
        let key = credentials.key
        if let key { goodCredentials.withLock { $0[key] = nil } }
        // The identifier of a server's key is not secret; each of its bad signatures is a guess.
        let own = credentials.signature == nil ? key.map { Throttle.Sender.credentials($0) } : nil
        if own.map({ !throttle.remembers($0) }) ?? true {
            throttle.charge(credentials.strangers, Throttle.badCredentialsCost - 1)
            throttle.recordOutcome(of: credentials.strangers, wasBad: true)
        }
        if let own { throttle.charge(own, 1) }
    }

    private func areGood(_ key: Int) -> Bool {
        guard let time = goodCredentials.withLock({ $0[key] }) else { return false }
        return world.uptimeSeconds() - time < Self.goodCredentialsSeconds
    }

    /// Runs a part of a sender's request, and records its outcome if it fails.
    func recordingFailure<Outcome>(
        of sender: Throttle.Sender, _ credentials: Credentials, _ work: () async throws -> Outcome
    ) async throws -> Outcome {
        do {
            return try await work()
        } catch {
            recordOutcome(of: sender, credentials, error)
            throw error
        }
    }

    // MARK: Bytes

    /// Counts the bytes of a request and its answer.
    func count(
        transferredBytes bytes: Int, of container: ContainerAddress, by movers: [Throttle.Sender]
    ) {
        guard isThrottled else { return }
        for mover in movers { transferRates.charge(mover, Double(bytes)) }
        transfers.add(
            bytes, to: container, limitBytes: transferBytesPerDay, at: world.nowMilliseconds())
    }

    /// Refuses senders that have transferred too many bytes, and every sender when the operator has limited the
    /// container's day and the limit is reached.
    func checkTransfers(
        of container: ContainerAddress, by movers: [Throttle.Sender]
    ) throws(ServiceError) {
        guard isThrottled else { return }
        for mover in movers { try transferRates.check(mover) }
        try transfers.check(
            container, limitBytes: transferBytesPerDay, at: world.nowMilliseconds())
    }
}

extension Credentials {
    /// The network that they came from, for counting; within a process, the device.
    var network: Throttle.Sender { .address(networkName) }

    /// Senders from that network without known credentials.
    var strangers: Throttle.Sender { .strangers(networkName) }

    private var networkName: String { networkAddress ?? "device " + (clientID ?? "") }

    /// Identifies credentials from one network address; nil for none. The hash has a different seed in every process,
    /// so that no client can cause a collision.
    var key: Int? {
        guard webAuthToken != nil || apiToken != nil || signature != nil else { return nil }
        var hasher = Hasher()
        hasher.combine(networkName)
        hasher.combine(apiToken)
        hasher.combine(webAuthToken)
        hasher.combine(signature?.keyID)
        return hasher.finalize()
    }

    /// Who is charged for the bytes of a request: the user, else network address and API token.
    func movers(of sender: Throttle.Sender) -> [Throttle.Sender] {
        if case .user = sender { return [sender] }
        return apiToken.map { [network, .apiToken($0)] } ?? [network]
    }
}
