import AsyncHTTPClient
import Foundation
import NIOCore
import StratusRecords
import StratusWire

extension HTTPTransport {
    /// The address of the service's sign-in page, from the refusal of a request without a user.
    ///
    /// - Throws: as ``Transport/send(_:_:to:timeoutSeconds:)``.
    func signInPage(to target: RequestTarget, timeoutSeconds: Double) async throws -> String {
        do {
            _ = try await exchange(
                UsersCaller.self, EmptyBody(), nil, target, nil, timeoutSeconds)
        } catch let failure as ServiceFailure where failure.error.code == .authenticationRequired {
            if let page = failure.error.redirectURL { return page }
        }
        throw TransportError(
            .answerUnreadable,
            "The service did not name a sign-in page; check that the address is a Stratus service's.",
            address: origin)
    }

    /// Loads a sign-in page before it is shown to the person, and throws what it would refuse.
    ///
    /// - Throws: ``ServiceFailure`` with the sentence of the page.
    func checkPage(_ page: String, timeoutSeconds: Double) async throws {
        let response = try await execute(
            HTTPClientRequest(url: page), timeoutSeconds: timeoutSeconds)
        guard response.status != 403 else {
            throw ServiceFailure(
                ServiceError(
                    .authenticationFailed,
                    "The service does not allow this app's API token to deliver a sign-in to this"
                        + " address: create one with `stratus token create --loopback`, or"
                        + " --callback-url.",
                    stratusCode: .signInRefused),
                address: origin)
        }
        guard response.status == 200 else {
            throw TransportError(
                .answerUnreadable, "The service's sign-in page could not be loaded; try again.",
                httpStatus: response.status, address: origin)
        }
    }

    /// A web-auth token for an e-mail address and a password.
    ///
    /// - Throws: as ``Transport/send(_:_:to:timeoutSeconds:)``.
    func webAuthToken(
        emailAddress: String, password: String, at container: ContainerAddress,
        timeoutSeconds: Double
    ) async throws -> String {
        var request = HTTPClientRequest(
            url: origin + "/auth/password?ckAPIToken=" + PercentEncoding.text(apiToken))
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(
            ByteBuffer(
                bytes: wireBytes(
                    of: PasswordExchange.Request(
                        container: container.container, environment: container.environment,
                        emailAddress: emailAddress, password: password, staysSignedIn: true))))
        let response = try await execute(request, timeoutSeconds: timeoutSeconds)
        try check(response)
        return try read(response) {
            try readWire(PasswordExchange.Answer.self, from: $0)
        }.webAuthToken
    }
}
