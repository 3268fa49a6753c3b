import StratusRecords
import StratusWire

/// What a request passes through, from its arrival to its answer (``ArrivingRequest``).
final class RequestPipeline: Sendable {
    let components: ServiceComponents
    let costs: SenderCosts
    let queue: RequestQueue
    let watch: DirectoryWatch
    /// The faults that tests inject; nil in a service that is not for development.
    let faults: FaultMiddleware?

    init(components: ServiceComponents, faults: FaultMiddleware?) {
        let settings = components.settings
        self.components = components
        self.faults = faults
        costs = SenderCosts(
            meter: RequestMeter(
                isThrottled: settings.isThrottled, limits: settings.limits, world: settings.world,
                logger: settings.logger),
            heavy: HeavyRequests(
                threadCount: settings.heavyThreads, limits: settings.limits, world: settings.world))
        queue = RequestQueue(limits: settings.limits)
        watch = DirectoryWatch(
            directory: components.directory, accounts: components.accounts,
            schemas: components.schemas, world: settings.world)
    }

    /// Nil when every request counts as light.
    var heavy: HeavyRequests? { costs.heavy }
    var meter: RequestMeter { costs.meter }

    var signIns: SignInCounter {
        SignInCounter(
            settings: components.settings, accounts: components.accounts,
            directory: components.directory, signerSource: components.signerSource, watch: watch)
    }

    /// Runs a request when it is its sender's turn, on a line if it is heavy.
    func run<Outcome>(
        as sender: Throttle.Sender, on line: HeavyThreads.Line?,
        _ body: () async throws -> Outcome
    ) async throws -> Outcome {
        guard let line, let heavy else { return try await queue.run(as: sender, body) }
        return try await heavy.queue.run(as: sender) {
            try await HeavyThreads.Line.run(on: line, body)
        }
    }

    /// Charges a cost to a sender's rate.
    ///
    /// - Parameter admitted: The part of it that was taken at the request's admission.
    func charge(_ sender: Throttle.Sender, _ cost: Double, admitted: Double) {
        if cost > 0 { costs.charge(sender, cost, admitted: admitted) }
    }

    /// Charges for receiving or sending this many bytes; a small number is part of a request's price.
    func charge(_ sender: Throttle.Sender, bytes: Int) {
        let cost = components.settings.limits.cost(ofBytes: bytes)
        if cost > 0 { charge(sender, cost, admitted: 0) }
    }

    /// The endpoint's answer, with addresses for the assets of its records, also in failures.
    func answer<E: ServedEndpoint>(
        _ endpoint: E.Type, _ request: E.Request, in context: RequestContext
    ) async throws -> E.Answer {
        var links = AssetLinks(
            signer: try await components.tokenSigner(), context: context,
            world: components.settings.world)
        do {
            let call = components.calls.call(endpoint, request, in: context)
            var answer =
                if let faults { try await faults.answer(call) } else { try await E.answer(call) }
            E.rules.link(&answer, &links)
            return answer
        } catch var failure as RequestFailure {
            if var records = failure.records {
                links.link(&records)
                failure.records = records
            }
            throw failure
        }
    }

    /// The protocol's error. When a user is needed, it has the address of a sign-in page: a path and a query, to which
    /// a server prepends its origin.
    func failure(
        from error: any Error, _ credentials: Credentials, at address: ContainerAddress,
        in place: String
    ) async -> RequestFailure {
        var failure = components.errors.failure(from: error, in: place)
        if failure.error.code == .authenticationRequired {
            do {
                failure.error.redirectURL = try await signIns.address(for: credentials, at: address)
            } catch {
                // The directory failed, which matters more than the missing user.
                return components.errors.failure(from: error, in: place)
            }
        }
        return failure
    }
}

extension Limits {
    /// The cost of receiving or sending this many bytes, in requests.
    func cost(ofBytes bytes: Int) -> Double { Double(bytes / max(1, bytesCountedAsRequest)) }
}
