import StratusRecords
import StratusWire

/// How people get accounts and web-auth tokens.
extension CloudService {
    /// Reads what a redirectURL carries.
    ///
    /// - Parameters:
    ///   - text: What a redirectURL carries.
    ///   - callback: Where an app asks the browser to go with the token; empty for what the API token says.
    ///   - state: What the app wants back with the token; empty for nothing.
    /// - Throws: ``SignInRefusal``: `expired` when it is too old or none of ours, or its API token is gone,
    ///   `foreignCallback` for an address that the API token does not allow.
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

    /// Tells whether a form came from a page of ours, in the browser that got the page.
    package func isOurs(formToken text: String, secret: String?) async throws -> Bool {
        try await pipeline.signIns.isOurs(formToken: text, secret: secret)
    }

    /// Ends the session of a web-auth token. A token that is not good has none to end.
    package func signOut(webAuthToken: String) async throws {
        try await pipeline.signIns.signOut(webAuthToken: webAuthToken)
    }

    /// Starts a session for a user, as the command line does.
    ///
    /// - Parameters:
    ///   - userRecordName: Whose session it is.
    ///   - staysSignedIn: Whether the session lasts longer than a visit.
    ///   - address: The container that its tokens are good for; nil for all.
    public func createSession(
        for userRecordName: String, staysSignedIn: Bool, at address: ContainerAddress?
    ) async throws(RequestFailure) -> Accounts.SignIn {
        try await components.errors.translating {
            try await pipeline.signIns.createSession(
                for: userRecordName, staysSignedIn: staysSignedIn, at: address)
        }
    }

    /// Signs in whoever says so, making the user on first use: only in a service for development, and
    /// for every container of it.
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
