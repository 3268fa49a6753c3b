import StratusRecords
import StratusWire

/// A request that was let in by its head: its sender is known and may ask. The body can be read now.
public struct Admission: Sendable {
    let context: RequestContext
    let credentials: Credentials
    let rotatedWebAuthToken: String?
    /// Whose rate and whose turn the request takes.
    let sender: Throttle.Sender
}

extension CloudService {
    /// Takes one of the requests that a network address may send, before anything else is done for it.
    ///
    /// ``admit(_:to:at:scope:)`` does so itself; a request whose signature covers its body knocks
    /// before the body is read.
    ///
    /// - Throws: ``RequestFailure`` with THROTTLED.
    public func knock(from credentials: Credentials) throws(RequestFailure) {
        guard settings.isThrottled else { return }
        do {
            try throttle.admit(credentials.network)
        } catch {
            throw RequestFailure(error)
        }
    }

    /// Counts a request for its network address and checks its API token, where the container is in the
    /// body and not known yet: no body could make the token good.
    ///
    /// - Throws: ``RequestFailure`` with THROTTLED or AUTHENTICATION_FAILED.
    public func checkApp(_ credentials: Credentials) async throws(RequestFailure) {
        try knock(from: credentials)
        do {
            try await refreshRemembered()
            _ = try await accounts.app(of: credentials)
        } catch {
            settle(credentials.network, error)
            throw failure(from: error)
        }
    }

    /// Lets a caller in, or refuses: what can be said before the body is read, the cheapest first.
    ///
    /// Of all credentials a signature alone needs the body, which is part of what it signs.
    ///
    /// - Throws: ``RequestFailure``; when a user is needed, with the address of a sign-in page: a path
    ///   and a query, before which a server puts its origin.
    public func admit<E: ServedEndpoint>(
        _ credentials: Credentials, to endpoint: E.Type, at address: ContainerAddress,
        scope: DatabaseScope?
    ) async throws(RequestFailure) -> Admission {
        if credentials.signature == nil { try knock(from: credentials) }
        var sender = credentials.network
        do {
            try await refreshRemembered()
            let admitted = try await accounts.authenticate(credentials, at: address, seal: seal())
            if let user = admitted.caller.userRecordName {
                sender = .user(user, in: address)
                if settings.isThrottled { try throttle.admit(sender) }
            }
            try checkTransfers(of: address)
            var caller = admitted.caller
            caller.wantsSyncToken = credentials.wantsSyncToken
            let context = RequestContext(
                service: self, caller: caller, address: address, scope: scope,
                origin: credentials.serviceOrigin)
            try context.checkAccess(E.access)
            return Admission(
                context: context, credentials: credentials,
                rotatedWebAuthToken: admitted.rotatedWebAuthToken, sender: sender)
        } catch {
            settle(sender, error)
            throw await failure(from: error, credentials, at: address)
        }
    }

    /// Answers a request that was let in, when its sender's turn has come.
    ///
    /// - Parameter request: Makes the request from its body: that is work too, and done in turn.
    /// - Throws: ``RequestFailure`` with the protocol's code; errors of single items are in the answer.
    public func respond<E: ServedEndpoint>(
        to endpoint: E.Type, _ admission: Admission, request: () throws -> E.Request
    ) async throws(RequestFailure) -> ServedAnswer<E.Answer> {
        do {
            let answer = try await queue.run(as: admission.sender) {
                let request = try request()
                if settings.isThrottled { throttle.charge(admission.sender, E.cost(of: request)) }
                return try await linkedAnswer(to: E.self, request, in: admission.context)
            }
            settle(admission.sender, nil)
            return ServedAnswer(
                answer, rotatedWebAuthToken: E.endsSession ? nil : admission.rotatedWebAuthToken)
        } catch {
            settle(admission.sender, error)
            throw await failure(
                from: error, admission.credentials, at: admission.context.address)
        }
    }

    /// Tells how a request ended that was refused outside, such as one with too large a body.
    public func settle(_ admission: Admission, _ failure: RequestFailure) {
        settle(admission.sender, failure)
    }

    /// Counts what a request and its answer took to carry.
    public func count(transferredBytes bytes: Int, for admission: Admission) {
        countTransfer(bytes, of: admission.context.address)
    }

    func countTransfer(_ bytes: Int, of address: ContainerAddress) {
        guard settings.isThrottled, settings.limits.transferBytesPerDay > 0 else { return }
        transfers.add(bytes, to: address, at: settings.nowMilliseconds())
    }

    /// Refuses what would move more bytes of a container that has moved its day's.
    func checkTransfers(of address: ContainerAddress) throws(ServiceError) {
        guard settings.isThrottled else { return }
        try transfers.check(
            address, limitBytes: settings.limits.transferBytesPerDay,
            at: settings.nowMilliseconds())
    }

    /// Remembers how a request ended, and lets bad credentials cost their address more.
    private func settle(_ sender: Throttle.Sender, _ error: (any Error)?) {
        guard settings.isThrottled else { return }
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
            throttle.settle(sender, wasBad: true)
        case .badRequest, .accessDenied: throttle.settle(sender, wasBad: true)
        default:
            // A conflict, a missing zone, a fault of ours: no fault of the sender's, and no merit.
            if error == nil { throttle.settle(sender, wasBad: false) }
        }
    }
}

extension Credentials {
    /// Where they came from, for counting; in a process the device stands for the network.
    fileprivate var network: Throttle.Sender {
        .address(networkAddress ?? "device " + (clientID ?? ""))
    }
}
