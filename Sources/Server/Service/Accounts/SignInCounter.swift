import StratusRecords
import StratusStorage
import StratusWire

/// What the sign-in page knows: the app that it is for, and where it leads.
package struct SignInPlace: Hashable, Sendable {
    /// The container.
    package var app: String
    /// Where the browser goes with the token; nil for a page that posts it to its opener.
    package var callback: CallbackAddress?
    /// The app's `state`, given back with the token; empty for none.
    package var state = ""
    /// Whether an app on a device asked: it stays signed in for longer than a browser's visit.
    package var isForDevice = false
    /// The origins of the opener that may receive the token; empty for any.
    package var openerOrigins: [String]
    package var isSignUpOpen: Bool
    fileprivate var request: SignInRequest
}

extension SignInPlace {
    /// Sets the address that the app asked for, if its API token allows that.
    ///
    /// - Throws: ``SignInRefusal/foreignCallback``.
    fileprivate mutating func lead(
        to asked: String, _ state: String, allowed: String?
    ) throws(SignInRefusal) {
        let allowed = allowed.flatMap(CallbackAddress.init)
        guard state.isEmpty || CallbackAddress.isState(state) else {
            throw SignInRefusal.foreignCallback
        }
        self.state = state
        guard !asked.isEmpty else {
            // An app that names no port does not listen on one: the page posts the token to its opener.
            if let allowed, !allowed.isLoopback { callback = allowed }
            return
        }
        guard let allowed, allowed.allows(asked), let asked = CallbackAddress(asked) else {
            throw SignInRefusal.foreignCallback
        }
        callback = asked
        isForDevice = true
    }
}

/// Issues web-auth tokens: on the sign-in page, for an identity provider's token, and for the command line.
struct SignInCounter: Sendable {
    let settings: ServiceSettings
    let accounts: Accounts
    let directory: any Directory
    let signerSource: TokenSignerSource
    let watch: DirectoryWatch

    /// The address of a sign-in page for a request that needed a user: a path and a query.
    func address(
        for credentials: Credentials, at address: ContainerAddress
    ) async throws -> String? {
        guard let apiToken = credentials.apiToken else { return nil }
        let request = SignInRequest(
            address: address, apiToken: apiToken,
            origin: credentials.origin.map { String($0.prefix(255)) },
            issuedMilliseconds: settings.world.nowMilliseconds())
        return "/auth/sign-in?request=" + request.text(signedBy: try await signerSource.signer())
    }

    /// Reads the contents of a redirectURL.
    ///
    /// - Parameters:
    ///   - text: The contents of the redirectURL.
    ///   - callback: Where an app wants the browser to go with the token; empty for the API token's own address.
    ///   - state: What the app wants back with the token; empty for nothing.
    /// - Throws: ``SignInRefusal/expired`` when it is too old, was not made by this service, or its API token is gone;
    ///   ``SignInRefusal/foreignCallback`` for an address that the API token does not allow.
    func signInPlace(
        _ text: String, callback: String = "", state: String = ""
    ) async throws -> SignInPlace {
        guard let request = SignInRequest(text: text, signer: try await signerSource.signer()),
            settings.world.nowMilliseconds() - request.issuedMilliseconds
                < Int64(settings.limits.signInRequestSeconds * 1_000)
        else { throw SignInRefusal.expired }
        try await watch.refresh()
        var place = SignInPlace(
            app: request.address.container,
            openerOrigins: request.origin.map { [$0] } ?? [],
            isSignUpOpen: settings.accounts.signUp == .open, request: request)
        if settings.isForDevelopment, request.apiToken == ServiceSettings.developmentToken {
            try place.lead(to: callback, state, allowed: CallbackAddress.loopback)
            return place
        }
        guard let token = try await accounts.apiToken(request.apiToken),
            token.address == request.address
        else { throw SignInRefusal.expired }
        try place.lead(to: callback, state, allowed: token.callbackURL)
        if !token.allowedOrigins.isEmpty { place.openerOrigins = token.allowedOrigins }
        return place
    }

    /// Signs in on the page, or makes an account and signs in.
    ///
    /// - Throws: ``SignInRefusal``, or what the store throws.
    func signIn(
        _ form: SignInForm, isNew: Bool, at place: SignInPlace
    ) async throws -> Accounts.SignIn {
        let address = place.request.address
        let user =
            isNew
            ? try await accounts.user(signingUp: form) : try await accounts.user(signingIn: form)
        if let isDiscoverable = form.isDiscoverable {
            try await directory.setDiscoverable(
                isDiscoverable, user.recordName, in: address)
        }
        return try await accounts.createSession(
            for: user.recordName, staysSignedIn: form.staysSignedIn, at: address,
            passwordHash: user.passwordHash, signer: signerSource.signer())
    }

    /// Exchanges an e-mail address and a password for a sign-in, as on the page.
    ///
    /// - Throws: ``RequestFailure``: AUTHENTICATION_FAILED for the API token and for a wrong address or
    ///   password, ACCESS_DENIED for a disabled account, THROTTLED after too many attempts,
    ///   TRY_AGAIN_LATER when too many sign in.
    func signIn(
        _ form: SignInForm, credentials: Credentials, at address: ContainerAddress
    ) async throws -> Accounts.SignIn {
        try await watch.refresh()
        _ = try await accounts.authenticate(
            credentials, at: address, signer: signerSource.signer(), mayRepeat: false)
        do {
            let user = try await accounts.user(signingIn: form)
            return try await accounts.createSession(
                for: user.recordName, staysSignedIn: form.staysSignedIn, at: address,
                passwordHash: user.passwordHash, signer: signerSource.signer())
        } catch let refusal as SignInRefusal {
            throw RequestFailure(refusal.serviceError)
        }
    }

    /// Exchanges an identity token of a configured provider for a sign-in.
    func signIn(
        identityToken: String, nonce: String, staysSignedIn: Bool, credentials: Credentials,
        at address: ContainerAddress, networkAddress: String
    ) async throws -> Accounts.SignIn {
        do {
            try await watch.refresh()
            _ = try await accounts.authenticate(
                credentials, at: address, signer: signerSource.signer(), mayRepeat: false)
            let attempt = try accounts.guesses.take(from: networkAddress)
            let identity = try await accounts.identityTokens.identity(identityToken, nonce: nonce)
            attempt.succeeded()
            let user = try await accounts.user(of: identity)
            guard !user.isDisabled else { throw ServiceError.accountDisabled }
            return try await accounts.createSession(
                for: user.recordName, staysSignedIn: staysSignedIn, at: address,
                signer: signerSource.signer())
        } catch let refusal as SignInRefusal {
            throw RequestFailure(
                ServiceError(
                    .throttled, refusal.sentence, retryAfterSeconds: refusal.retryAfterSeconds,
                    frameworkCode: .requestRateLimited))
        }
    }

    /// A token for a form, and the secret that its browser keeps in a cookie.
    func formToken(secret: String?) async throws -> (token: String, secret: String) {
        let secret =
            secret.flatMap { $0.utf8.count == 32 ? $0 : nil } ?? settings.world.newIdentifier()
        let token = FormToken(secret: secret, issuedMilliseconds: settings.world.nowMilliseconds())
        return (token.text(signedBy: try await signerSource.signer()), secret)
    }

    /// Whether a form came from a page of this service, in the browser that got the page.
    func isOurs(formToken text: String, secret: String?) async throws -> Bool {
        guard let token = FormToken(text: text, signer: try await signerSource.signer()), let secret
        else {
            return false
        }
        let age = settings.world.nowMilliseconds() - token.issuedMilliseconds
        return token.secret == secret
            && age < Int64(settings.limits.signInRequestSeconds * 1_000)
    }

    /// Ends the session of a web-auth token. An invalid token has no session, so nothing happens.
    func signOut(webAuthToken: String) async throws {
        guard let token = WebAuthToken(text: webAuthToken, signer: try await signerSource.signer())
        else {
            return
        }
        try await accounts.endSession(token.session)
    }
    /// Starts a session for a user, as the command line does.
    func createSession(
        for userRecordName: String, staysSignedIn: Bool, at address: ContainerAddress?
    ) async throws -> Accounts.SignIn {
        guard try await directory.user(recordName: userRecordName) != nil else {
            throw ServiceError.unknownUser(userRecordName)
        }
        return try await accounts.createSession(
            for: userRecordName, staysSignedIn: staysSignedIn, at: address,
            signer: signerSource.signer())
    }

    /// Signs in a user by name without any proof, creating the user at first.
    func signInForDevelopment(user name: String) async throws -> Accounts.SignIn {
        guard settings.isForDevelopment else {
            throw ServiceError(
                .notFound, "There is no dev/sign-in on this service, which runs without --dev.")
        }
        guard (1...255).contains(name.utf8.count) else {
            throw ServiceError.invalid(
                "The user's name is empty or longer than 255 bytes; give it 1 to 255.")
        }
        let user = try await accounts.userForDevelopment(named: name)
        return try await accounts.createSession(
            for: user.recordName, staysSignedIn: true, at: nil, signer: signerSource.signer())
    }
}
