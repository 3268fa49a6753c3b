import StratusRecords
import StratusStorage
import StratusWire

/// What the sign-in page knows: for whom it is, and where it leads.
public struct SignInPlace: Hashable, Sendable {
    /// The container.
    public var app: String
    /// Where the browser goes with the token; nil for a page that tells its opener.
    public var callbackURL: String?
    /// The origins of the opener that may be told; empty for any.
    public var openerOrigins: [String]
    public var isSignUpOpen: Bool
    fileprivate var request: SignInRequest
}

extension CloudService {
    /// The address of a sign-in page for somebody whose request needed a user: a path and a query.
    func signInAddress(
        for credentials: Credentials, at address: ContainerAddress
    ) async throws -> String? {
        guard let apiToken = credentials.apiToken else { return nil }
        let request = SignInRequest(
            address: address, apiToken: apiToken,
            origin: credentials.origin.map { String($0.prefix(255)) },
            issuedMilliseconds: settings.nowMilliseconds())
        return "/auth/sign-in?request=" + request.text(sealedBy: try await seal())
    }

    /// Reads what a redirectURL carries.
    ///
    /// - Throws: ``SignInRefusal/expired`` when it is too old or none of ours, or its API token is gone.
    public func signInPlace(_ text: String) async throws -> SignInPlace {
        guard let request = SignInRequest(text: text, seal: try await seal()),
            settings.nowMilliseconds() - request.issuedMilliseconds
                < Int64(settings.limits.signInRequestSeconds * 1_000)
        else { throw SignInRefusal.expired }
        try await refreshRemembered()
        var place = SignInPlace(
            app: request.address.container, callbackURL: nil,
            openerOrigins: request.origin.map { [$0] } ?? [],
            isSignUpOpen: settings.accounts.signUp == .open, request: request)
        if settings.isForDevelopment, request.apiToken == ServiceSettings.developmentToken {
            return place
        }
        guard let token = try await accounts.apiToken(request.apiToken),
            token.address == request.address
        else { throw SignInRefusal.expired }
        place.callbackURL = token.callbackURL
        if !token.allowedOrigins.isEmpty { place.openerOrigins = token.allowedOrigins }
        return place
    }

    /// Signs in on the page, or makes an account and signs in.
    ///
    /// - Throws: ``SignInRefusal``, or what the store throws.
    public func signIn(
        _ form: SignInForm, isNew: Bool, at place: SignInPlace
    ) async throws -> Accounts.SignIn {
        let address = place.request.address
        let user =
            isNew
            ? try await accounts.user(signingUp: form) : try await accounts.user(signingIn: form)
        if let isDiscoverable = form.isDiscoverable {
            try await storehouse.directory.setDiscoverable(
                isDiscoverable, user.recordName, in: address)
        }
        return try await accounts.createSession(
            for: user.recordName, staysSignedIn: form.staysSignedIn, at: address, seal: seal())
    }

    /// Exchanges an identity token of a configured provider for a sign-in.
    public func signIn(
        identityToken: String, nonce: String, staysSignedIn: Bool, credentials: Credentials,
        at address: ContainerAddress, networkAddress: String
    ) async throws(RequestFailure) -> Accounts.SignIn {
        do {
            try await refreshRemembered()
            _ = try await accounts.authenticate(credentials, at: address, seal: seal())
            try accounts.countAttempt(from: networkAddress)
            let identity = try await accounts.identityTokens.identity(identityToken, nonce: nonce)
            let user = try await accounts.user(of: identity)
            guard !user.isDisabled else { throw ServiceError.accountDisabled }
            return try await accounts.createSession(
                for: user.recordName, staysSignedIn: staysSignedIn, at: address, seal: seal())
        } catch let refusal as SignInRefusal {
            throw RequestFailure(
                ServiceError(
                    .throttled, refusal.sentence, retryAfterSeconds: refusal.retryAfterSeconds,
                    frameworkCode: ServiceError.Framework.requestRateLimited))
        } catch {
            throw failure(from: error)
        }
    }

    /// A token for a form, and the secret that its browser keeps in a cookie.
    public func formToken(secret: String?) async throws -> (token: String, secret: String) {
        let secret = secret.flatMap { $0.utf8.count == 32 ? $0 : nil } ?? settings.newIdentifier()
        let token = FormToken(secret: secret, issuedMilliseconds: settings.nowMilliseconds())
        return (token.text(sealedBy: try await seal()), secret)
    }

    /// Tells whether a form came from a page of ours, in the browser that got the page.
    public func isOurs(formToken text: String, secret: String?) async throws -> Bool {
        guard let token = FormToken(text: text, seal: try await seal()), let secret else {
            return false
        }
        let age = settings.nowMilliseconds() - token.issuedMilliseconds
        return token.secret == secret
            && age < Int64(settings.limits.signInRequestSeconds * 1_000)
    }

    /// Ends the session of a web-auth token. A token that is not good has none to end.
    public func signOut(webAuthToken: String) async throws {
        guard let token = WebAuthToken(text: webAuthToken, seal: try await seal()) else { return }
        try await accounts.endSession(token.session)
    }
}
