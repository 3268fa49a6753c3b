import Foundation
import StratusRecords
import StratusRuntime

/// Signing in within an app. Not in CloudKit, where the user signs in in the system's settings.
extension CKContainer {
    /// Seconds that finding and checking the sign-in page may take.
    private static let pageSeconds: Double = 30
    /// The default time limit for the person to sign in on the page, in seconds.
    public static let signInSeconds: Double = 900

    /// Lets the person sign in on the service's page, and stores the sign-in on this device.
    ///
    /// For apps that run on the machine of the browser, in a terminal or on a desktop: the page sends the browser to a
    /// port of this machine that the app listens on until then (RFC 8252). The API token must allow it: `stratus token
    /// create --loopback`. A user who was signed in before is signed out when the new sign-in succeeds. Posts
    /// `CKAccountChanged`.
    ///
    /// ```swift
    /// if try await container.accountStatus() != .available { try await container.signIn() }
    /// ```
    ///
    /// - Parameters:
    ///   - timeoutSeconds: the time limit for the person to sign in.
    ///   - openPage: shows the page. By default it is opened in the browser (`open`, or `xdg-open`
    ///     where there is a display), and its address is written to standard error for machines
    ///     without one.
    /// - Returns: the user's record.
    /// - Throws: `CKError`: `operationCancelled` after the time limit, `notAuthenticated` if the
    ///   API token does not allow it, `invalidArguments` without an HTTP transport, or a network
    ///   error or the error of `openPage`. The former user stays signed in, unless the new token
    ///   was not valid.
    @discardableResult
    public func signIn(
        timeoutSeconds: Double = signInSeconds,
        openPage: (@Sendable (URL) async throws -> Void)? = nil
    ) async throws -> CKRecord.ID {
        let world = connection.world
        let callback = SignInCallback(world: world)
        let (transport, page) = try await signInPage()
        // The page that follows the sign-in has the same query.
        let next = page.replacingOccurrences(of: "/auth/sign-in?", with: "/auth/signed-in?")
        let listener: LoopbackListener
        do {
            listener = try await LoopbackListener.begin(for: callback, next: next)
        } catch {
            throw CKError(
                .internalError,
                "The app cannot listen on any port of 127.0.0.1, where the browser would return to it;"
                    + " allow it, or use signInPage(returningTo:).",
                cause: error)
        }
        do {
            let url = try await checkedAddress(
                page, returningTo: "http://127.0.0.1:\(listener.port)/", callback, transport)
            if let openPage { try await openPage(url) } else { PageOpening.open(url) }
            let tokens = listener.tokens
            let token = try await world.withTimeout(
                seconds: timeoutSeconds,
                throwing: CKError(
                    .operationCancelled,
                    "The sign-in was not completed within \(timeoutSeconds) s; sign in again.")
            ) {
                for await token in tokens { return token }
                throw CancellationError()
            }
            await listener.close()
            return try await adopt(token)
        } catch {
            await listener.close()
            throw CKError(signInFailedWith: error)
        }
    }

    /// Returns the address of the service's sign-in page, for an app that the browser can open by a
    /// URL scheme such as `org.example.trails`: show the page, and pass the URL with which the app
    /// is opened to ``finishSignIn(_:)``.
    ///
    /// ```swift
    /// let page = try await container.signInPage(returningTo: URL(string: "org.example.trails:/signed-in")!)
    /// ```
    ///
    /// - Parameter address: the callback URL of the API token (`stratus token create
    ///   --callback-url`).
    /// - Throws: `CKError`, as ``signIn(timeoutSeconds:openPage:)``.
    public func signInPage(returningTo address: URL) async throws -> URL {
        let callback = SignInCallback(world: connection.world)
        do {
            let (transport, page) = try await signInPage()
            let url = try await checkedAddress(
                page, returningTo: address.absoluteString, callback, transport)
            connection.signIns.began(callback)
            return url
        } catch {
            throw CKError(signInFailedWith: error)
        }
    }

    /// Completes a sign-in with the URL with which the browser opened the app, after ``signInPage(returningTo:)``;
    /// stores the sign-in on this device and posts `CKAccountChanged`.
    ///
    /// A URL is accepted once, and only if it belongs to the last page requested in this process.
    ///
    /// - Returns: the user's record.
    /// - Throws: `CKError`: `invalidArguments` for a URL that does not belong to it, which changes nothing.
    @discardableResult
    public func finishSignIn(_ url: URL) async throws -> CKRecord.ID {
        guard let query = url.query(percentEncoded: true),
            let token = connection.signIns.takeToken(inQuery: query)
        else {
            throw CKError(
                .invalidArguments,
                "This address does not belong to the sign-in that the app started: sign in again.")
        }
        do {
            return try await adopt(token)
        } catch {
            throw CKError(signInFailedWith: error)
        }
    }

    /// Signs in by e-mail address and password, for programs without a browser such as scripts;
    /// stores the sign-in on this device and posts `CKAccountChanged`.
    ///
    /// Interactive apps use ``signIn(timeoutSeconds:openPage:)``, so that the password is typed
    /// only on the service's own page.
    ///
    /// - Returns: the user's record.
    /// - Throws: `CKError`: `notAuthenticated` for a wrong address or password, `requestRateLimited` after too many
    ///   attempts, `managedAccountRestricted` for a disabled account.
    @discardableResult
    public func signIn(emailAddress: String, password: String) async throws -> CKRecord.ID {
        do {
            let transport = try signInTransport
            return try await adopt(
                try await transport.webAuthToken(
                    emailAddress: emailAddress, password: password, at: core.address,
                    timeoutSeconds: Self.pageSeconds))
        } catch {
            throw CKError(signInFailedWith: error)
        }
    }

    /// Signs out: ends the session at the service, removes the stored sign-in from this device and
    /// posts `CKAccountChanged`. Apps must remove their own copies of the account's data.
    ///
    /// - Throws: `CKError` when the session could not be ended at the service; the device is still signed out, and the
    ///   session ends when it expires or when another device revokes it (``CloudConnection/revoke(_:container:)``).
    public func signOut() async throws {
        guard connection.hasAccount else { return try connection.signOut() }
        try await connection.endSession(container: core.identifier)
    }

    // MARK: Steps

    private var signInTransport: HTTPTransport {
        get throws {
            try connection.checkConfigured()
            guard let transport = connection.transport as? HTTPTransport, transport.knowsExtensions
            else { throw CKError.withoutPage }
            return transport
        }
    }

    private func signInPage() async throws -> (HTTPTransport, String) {
        let transport = try signInTransport
        let page = try await transport.signInPage(
            to: RequestTarget(container: core.address, scope: .public),
            timeoutSeconds: Self.pageSeconds)
        return (transport, page)
    }

    private func checkedAddress(
        _ page: String, returningTo address: String, _ callback: SignInCallback,
        _ transport: HTTPTransport
    ) async throws -> URL {
        let text =
            page + "&callback=" + PercentEncoding.text(address) + "&state=" + callback.state
        guard let url = URL(string: text), url.scheme == "http" || url.scheme == "https" else {
            throw CKError(
                .internalError,
                "The address of the service's sign-in page is not http or https; update the service."
            )
        }
        try await transport.checkPage(text, timeoutSeconds: Self.pageSeconds)
        return url
    }

    private func adopt(_ token: String) async throws -> CKRecord.ID {
        CKRecordID(known: try await connection.adopt(token, container: core))
    }
}

extension CKError {
    /// An error of `openPage` is the app's own, and becomes the cause.
    fileprivate init(signInFailedWith error: any Error) {
        switch error {
        case is CKError, is ServiceFailure, is TransportError, is CancellationError:
            self.init(requestFailedWith: error)
        default:
            self.init(
                .internalError, "The sign-in page was not shown; see the cause.", cause: error)
        }
    }
}
