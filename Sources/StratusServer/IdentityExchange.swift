import Hummingbird
import StratusRecords
import StratusService
import StratusWire

extension Routes {
    static let identityExchangePath = "/auth/oidc"

    /// `POST /auth/oidc` exchanges an identity token for a web-auth token, where a provider is
    /// configured.
    func addIdentityExchange(to router: Router<ServerContext>) {
        router.post(RouterPath(Self.identityExchangePath)) { request, context in
            await respond(to: request) {
                let body = try await request.collectBody(service.settings.limits)
                let exchange = try decode(IdentityExchange.Request.self, from: body)
                let query = request.uri.queryParameters
                let signedIn = try await service.signIn(
                    identityToken: exchange.identityToken, nonce: exchange.nonce,
                    staysSignedIn: exchange.staysSignedIn,
                    credentials: Credentials(
                        apiToken: query["ckAPIToken"].map(String.init),
                        origin: request.headers[.origin]),
                    at: ContainerAddress(
                        container: exchange.container, environment: exchange.environment),
                    networkAddress: networkAddress(of: request, context))
                return Response(
                    wireBytes: wireBytes(
                        of: IdentityExchange.Answer(
                            webAuthToken: signedIn.webAuthToken,
                            userRecordName: signedIn.userRecordName)))
            }
        }
    }
}
