import Hummingbird
import StratusRecords
import StratusService
import StratusWire

extension Routes {
    /// `POST /auth/password` exchanges an e-mail address and a password for a web-auth token: the sign-in of a program
    /// without a browser. Guesses are counted together with those of the page.
    ///
    /// Pages of other origins use the sign-in page: they cannot read this answer.
    func addPasswordExchange(to router: Router<ServerContext>) {
        addExchange(
            of: PasswordExchange.Request.self, at: "/auth/password", maximumBytes: 16_384,
            to: router)
    }
}

extension PasswordExchange.Request: TokenExchange {
    func signIn(
        to service: CloudService, as app: Credentials, from networkAddress: String
    ) async throws -> Accounts.SignIn {
        try await service.signIn(
            SignInForm(
                emailAddress: emailAddress, password: password, staysSignedIn: staysSignedIn,
                networkAddress: networkAddress),
            credentials: app, at: address)
    }
}
