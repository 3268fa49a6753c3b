import Hummingbird
import StratusRecords
import StratusService
import StratusWire

extension Routes {
    private static let passwordExchangeBytes = 16_384

    /// `POST /auth/password` exchanges an e-mail address and a password for a web-auth token: the way in
    /// for a program without a browser. Guesses are counted as those of the page.
    ///
    /// Pages of other origins have the sign-in page: they are told nothing here.
    func addPasswordExchange(to router: Router<ServerContext>) {
        router.post("auth/password") { request, context in
            await respond(to: request) {
                let networkAddress = networkAddress(of: request, context)
                let credentials = Credentials(
                    apiToken: request.uri.queryParameters["ckAPIToken"].map(String.init),
                    origin: request.headers[.origin], networkAddress: networkAddress)
                try await service.checkApp(credentials)
                var limits = service.settings.limits
                limits.requestBodyBytes = min(
                    limits.requestBodyBytes, Self.passwordExchangeBytes)
                let body = try await request.collectBody(limits)
                let exchange = try decode(PasswordExchange.Request.self, from: body)
                let signedIn = try await service.signIn(
                    SignInForm(
                        emailAddress: exchange.emailAddress, password: exchange.password,
                        staysSignedIn: exchange.staysSignedIn, networkAddress: networkAddress),
                    credentials: credentials,
                    at: ContainerAddress(
                        container: exchange.container, environment: exchange.environment))
                return Response(
                    wireBytes: wireBytes(
                        of: PasswordExchange.Answer(
                            webAuthToken: signedIn.webAuthToken,
                            userRecordName: signedIn.userRecordName)))
            }
        }
    }
}
