import Hummingbird
import StratusRecords
import StratusService
import StratusWire

extension Routes {
    static let identityExchangePath = "/auth/oidc"
    private static let identityExchangeBytes = 65_536

    /// `POST /auth/oidc` exchanges an identity token for a web-auth token, where a provider is
    /// configured.
    func addIdentityExchange(to router: Router<ServerContext>) {
        router.post(RouterPath(Self.identityExchangePath)) { request, context in
            await respond(to: request) {
                let networkAddress = networkAddress(of: request, context)
                let credentials = Credentials(
                    apiToken: request.uri.queryParameters["ckAPIToken"].map(String.init),
                    origin: request.headers[.origin], networkAddress: networkAddress)
                try await service.checkApp(credentials)
                var limits = service.settings.limits
                limits.requestBodyBytes = min(
                    limits.requestBodyBytes, Self.identityExchangeBytes)
                let body = try await request.collectBody(limits)
                let exchange = try decode(IdentityExchange.Request.self, from: body)
                let signedIn = try await service.signIn(
                    identityToken: exchange.identityToken, nonce: exchange.nonce,
                    staysSignedIn: exchange.staysSignedIn,
                    credentials: credentials,
                    at: ContainerAddress(
                        container: exchange.container, environment: exchange.environment),
                    networkAddress: networkAddress)
                return Response(
                    wireBytes: wireBytes(
                        of: IdentityExchange.Answer(
                            webAuthToken: signedIn.webAuthToken,
                            userRecordName: signedIn.userRecordName)))
            }
        }
    }
}
