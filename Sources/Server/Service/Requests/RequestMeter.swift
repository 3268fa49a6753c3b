import StratusRecords
import StratusRuntime
import StratusWire

/// What requests are counted by: their senders' rates, how they ended, and the bytes of containers.
/// Counts nothing in a service that is not throttled.
final class RequestMeter: Sendable {
    private let isThrottled: Bool
    private let transferBytesPerDay: Int
    private let world: World
    private let throttle: Throttle
    private let transfers = TransferMeter()

    init(settings: ServiceSettings) {
        isThrottled = settings.isThrottled
        transferBytesPerDay = settings.limits.transferBytesPerDay
        world = settings.world
        throttle = Throttle(limits: settings.limits, world: settings.world)
    }

    /// Takes one of the requests that a sender may send.
    ///
    /// - Throws: ``ServiceError`` THROTTLED.
    func checkRate(of sender: Throttle.Sender) throws(ServiceError) {
        guard isThrottled else { return }
        try throttle.admit(sender)
    }

    /// Takes what a request costs beyond the one that it is.
    func charge(_ sender: Throttle.Sender, _ cost: Double) {
        guard isThrottled else { return }
        throttle.charge(sender, cost)
    }

    /// Remembers how a request ended, and lets bad credentials cost their sender more.
    ///
    /// - Parameter error: Nil for a success.
    func recordOutcome(of sender: Throttle.Sender, _ error: (any Error)?) {
        guard isThrottled else { return }
        let code: ServiceError.Code? =
            switch error {
            case let failure as RequestFailure: failure.error.code
            case let error as ServiceError: error.code
            case is WireError: .badRequest
            default: nil
            }
        switch code {
        case .authenticationFailed, .authenticationRequired:
            throttle.charge(sender, Throttle.badCredentialsCost - 1)
            throttle.recordOutcome(of: sender, wasBad: true)
        case .badRequest, .accessDenied: throttle.recordOutcome(of: sender, wasBad: true)
        default:
            // A conflict, a missing zone, a fault of ours: no fault of the sender's, and no merit.
            if error == nil { throttle.recordOutcome(of: sender, wasBad: false) }
        }
    }

    /// Does a part of a sender's request, and remembers how the request ended if that fails.
    func recordingFailure<Outcome>(
        of sender: Throttle.Sender, _ work: () async throws -> Outcome
    ) async throws -> Outcome {
        do {
            return try await work()
        } catch {
            recordOutcome(of: sender, error)
            throw error
        }
    }

    /// Counts what a request and its answer took to carry.
    func count(transferredBytes bytes: Int, of container: ContainerAddress) {
        guard isThrottled, transferBytesPerDay > 0 else { return }
        transfers.add(bytes, to: container, at: world.nowMilliseconds())
    }

    /// Refuses what would move more bytes of a container that has moved its day's.
    func checkTransfers(of container: ContainerAddress) throws(ServiceError) {
        guard isThrottled else { return }
        try transfers.check(
            container, limitBytes: transferBytesPerDay, at: world.nowMilliseconds())
    }
}

extension Credentials {
    /// Where they came from, for counting; in a process the device stands for the network.
    var network: Throttle.Sender {
        .address(networkAddress ?? "device " + (clientID ?? ""))
    }
}
