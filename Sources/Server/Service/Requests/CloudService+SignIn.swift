import StratusRecords
import StratusWire

/// How people get accounts and web-auth tokens.
extension CloudService {
    /// Reads the contents of a redirectURL.
    ///
    /// - Parameters:
    ///   - text: The contents of the redirectURL.
    ///   - callback: Where an app wants the browser to go with the token; empty for the API token's own address.
    ///   - state: What the app wants back with the token; empty for nothing.
    /// - Throws: ``SignInRefusal``: `expired` when it is too old, was not made by this service, or its API token is
    ///   gone, `foreignCallback` for an address that the API token does not allow.
    package func signInPlace(
        _ text: String, callback: String = "", state: String = ""
    ) async throws -> SignInPlace {
        try await pipeline.signIns.signInPlace(text, callback: callback, state: state)
    }

    /// Signs in by e-mail address and password, for programs without a browser.
    package func signIn(
        _ form: SignInForm, credentials: Credentials, at address: ContainerAddress
    ) async throws(RequestFailure) -> Accounts.SignIn {
        try await components.errors.translating {
            try await pipeline.signIns.signIn(form, credentials: credentials, at: address)
        }
    }

    /// Signs in on the page, or makes an account and signs in.
    ///
    /// - Throws: ``SignInRefusal``, or what the store throws.
    package func signIn(
        _ form: SignInForm, isNew: Bool, at place: SignInPlace
    ) async throws -> Accounts.SignIn {
        try await pipeline.signIns.signIn(form, isNew: isNew, at: place)
    }

    /// Exchanges an identity token of a configured provider for a sign-in.
    package func signIn(
        identityToken: String, nonce: String, staysSignedIn: Bool, credentials: Credentials,
        at address: ContainerAddress, networkAddress: String
    ) async throws(RequestFailure) -> Accounts.SignIn {
        try await components.errors.translating {
            try await pipeline.signIns.signIn(
                identityToken: identityToken, nonce: nonce, staysSignedIn: staysSignedIn,
                credentials: credentials, at: address, networkAddress: networkAddress)
        }
    }

    /// A token for a form, and the secret that its browser keeps in a cookie.
    package func formToken(secret: String?) async throws -> (token: String, secret: String) {
        try await pipeline.signIns.formToken(secret: secret)
    }

    /// Whether a form came from a page of this service, in the browser that got the page.
    package func isOurs(formToken text: String, secret: String?) async throws -> Bool {
        try await pipeline.signIns.isOurs(formToken: text, secret: secret)
    }

    /// Ends the session of a web-auth token. An invalid token has no session, so nothing happens.
    package func signOut(webAuthToken: String) async throws {
        try await pipeline.signIns.signOut(webAuthToken: webAuthToken)
    }

    /// Starts a session for a user, as the command line does.
    ///
    /// - Parameters:
    ///   - userRecordName: The user of the session.
    ///   - staysSignedIn: Whether the session lasts longer than a visit.
    ///   - address: The container that its tokens are valid for; nil for all.
    public func createSession(
        for userRecordName: String, staysSignedIn: Bool, at address: ContainerAddress?
    ) async throws(RequestFailure) -> Accounts.SignIn {
        try await components.errors.translating {
            try await pipeline.signIns.createSession(
                for: userRecordName, staysSignedIn: staysSignedIn, at: address)
        }
    }

    /// Signs in a user by name without any proof, creating the user at first: only in a service for development, and
    /// for all of its containers.
    ///
    /// ```swift
    /// let alice = try await service.signInForDevelopment(user: "alice")
    /// let credentials = Credentials(
    ///     apiToken: ServiceSettings.developmentToken, webAuthToken: alice.webAuthToken)
    /// ```
    ///
    /// - Throws: `RequestFailure` with NOT_FOUND in any other service.
    public func signInForDevelopment(
        user name: String
    ) async throws(RequestFailure) -> Accounts.SignIn {
        try await components.errors.translating {
            try await pipeline.signIns.signInForDevelopment(user: name)
        }
    }
}
