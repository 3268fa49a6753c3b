import Hummingbird
import StratusRecords
import StratusService
import StratusWire

/// A proof of a person's identity that a program without a browser exchanges for a web-auth token.
protocol TokenExchange: WireReadable {
    var container: String { get }
    var environment: ContainerEnvironment { get }

    func signIn(
        to service: CloudService, as app: Credentials, from networkAddress: String
    ) async throws -> Accounts.SignIn
}

extension TokenExchange {
    /// The container and environment to sign in to.
    var address: ContainerAddress {
        ContainerAddress(container: container, environment: environment)
    }
}

extension Routes {
    /// Adds an exchange for apps with an API token.
    ///
    /// - Parameter maximumBytes: The most bytes of a body, much less than for other requests.
    func addExchange<Exchange: TokenExchange>(
        of _: Exchange.Type, at path: String, maximumBytes: Int,
        to router: Router<ServerContext>
    ) {
        router.post(RouterPath(path)) { request, context in
            await respond(to: request) {
                let networkAddress = networkAddress(of: request, context)
                let credentials = Credentials(
                    apiToken: request.uri.queryParameters["ckAPIToken"].map(String.init),
                    origin: request.headers[.origin],
                    networkAddress: networkAddress)
                try await service.checkApp(credentials)
                var limits = service.settings.limits
                limits.requestBodyBytes = min(limits.requestBodyBytes, maximumBytes)
                let exchange = try decode(
                    Exchange.self, from: try await request.collectBody(limits))
                let signedIn = try await exchange.signIn(
                    to: service, as: credentials, from: networkAddress)
                return Response(
                    wireBytes: wireBytes(
                        of: DevSignIn.Answer(
                            webAuthToken: signedIn.webAuthToken,
                            userRecordName: signedIn.userRecordName)))
            }
        }
    }
}
