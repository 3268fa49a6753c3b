import StratusRecords
import StratusWire

/// A request that was let in by its head: its sender is known and may ask. The body can be read now.
public struct Admission: Sendable {
    let context: RequestContext
    let sender: Throttle.Sender
    let networkAddress: Throttle.Sender
    let rotatedWebAuthToken: String?
}

extension CloudService {
    /// Lets a request in before its body is read: checks its sender's rate, its credentials and its
    /// access to the database, in this order of cost.
    ///
    /// - Throws: ``RequestFailure`` with the protocol's code.
    public func admit<E: ServedEndpoint>(
        _ endpoint: E.Type, from credentials: Credentials, at address: ContainerAddress,
        scope: DatabaseScope?
    ) async throws(RequestFailure) -> Admission {
        let network = Throttle.Sender.address(
            credentials.networkAddress ?? "device " + (credentials.clientID ?? ""))
        do {
            try throttleIfOn { (throttle) throws(ServiceError) in try throttle.admit(network) }
            let admitted: Accounts.Admitted
            do {
                admitted = try await accounts.authenticate(credentials, at: address, seal: seal())
            } catch {
                settleBadCredentials(of: network, error)
                throw error
            }
            let sender: Throttle.Sender =
                if let user = admitted.caller.userRecordName {
                    .user(user, in: address)
                } else {
                    network
                }
            if sender != network {
                try throttleIfOn { (throttle) throws(ServiceError) in try throttle.admit(sender) }
            }
            let context = RequestContext(
                service: self, caller: admitted.caller, address: address, scope: scope)
            do {
                try context.checkAccess(E.access)
            } catch {
                settle(sender, error)
                throw error
            }
            return Admission(
                context: context, sender: sender, networkAddress: network,
                rotatedWebAuthToken: admitted.rotatedWebAuthToken)
        } catch {
            throw failure(from: error)
        }
    }

    /// Answers a request that was let in, when its sender's turn has come.
    ///
    /// - Parameter request: Makes the request from its body: work as well, and done in turn.
    /// - Throws: ``RequestFailure`` with the protocol's code; errors of single items are in the answer.
    public func respond<E: ServedEndpoint>(
        to endpoint: E.Type, admission: Admission, request: () throws -> E.Request
    ) async throws(RequestFailure) -> ServedAnswer<E.Answer> {
        do {
            let answer = try await queue.run(as: admission.sender) {
                let request = try request()
                if settings.isThrottled { throttle.charge(admission.sender, E.cost(of: request)) }
                return try await self.answer(E.self, request, in: admission.context)
            }
            settle(admission.sender, nil)
            return ServedAnswer(answer, rotatedWebAuthToken: admission.rotatedWebAuthToken)
        } catch {
            settle(admission.sender, error)
            throw failure(from: error)
        }
    }

    /// Tells how a request ended that was refused outside, such as one with too large a body.
    public func settle(_ admission: Admission, _ failure: RequestFailure) {
        settle(admission.sender, failure)
    }

    // MARK: Rates

    private func throttleIfOn(
        _ body: (Throttle) throws(ServiceError) -> Void
    ) throws(ServiceError) {
        if settings.isThrottled { try body(throttle) }
    }

    private func settleBadCredentials(of network: Throttle.Sender, _ error: any Error) {
        guard settings.isThrottled, let error = error as? ServiceError,
            error.code == .authenticationFailed || error.code == .authenticationRequired
        else { return }
        throttle.charge(network, Throttle.badCredentialsCost - 1)
        throttle.settle(network, wasBad: true)
    }

    private func settle(_ sender: Throttle.Sender, _ error: (any Error)?) {
        guard settings.isThrottled else { return }
        guard let error else { return throttle.settle(sender, wasBad: false) }
        switch failure(code: error) {
        case .badRequest, .accessDenied, .authenticationFailed, .authenticationRequired:
            throttle.settle(sender, wasBad: true)
        default:
            // A conflict, a missing zone, a fault of ours: no fault of the sender's.
            return
        }
    }

    private func failure(code error: any Error) -> ServiceError.Code? {
        switch error {
        case let failure as RequestFailure: failure.error.code
        case let error as ServiceError: error.code
        case is WireError: .badRequest
        default: nil
        }
    }
}
