import Hummingbird
import StratusRecords
import StratusService
import StratusWire

extension Routes {
    static let identityExchangePath = "/auth/oidc"

    /// `POST /auth/oidc` exchanges an identity token for a web-auth token, if a provider is
    /// configured.
    func addIdentityExchange(to router: Router<ServerContext>) {
        addExchange(
            of: IdentityExchange.Request.self, at: Self.identityExchangePath,
            maximumBytes: 65_536, to: router)
    }
}

extension IdentityExchange.Request: TokenExchange {
    func signIn(
        to service: CloudService, as app: Credentials, from networkAddress: String
    ) async throws -> Accounts.SignIn {
        try await service.signIn(
            identityToken: identityToken, nonce: nonce, staysSignedIn: staysSignedIn,
            credentials: app, at: address, networkAddress: networkAddress)
    }
}
