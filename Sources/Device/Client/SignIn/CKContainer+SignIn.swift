import Foundation
import StratusRecords
import StratusRuntime

/// Signing in from within an app. Ours alone: with CloudKit the system's settings do it.
extension CKContainer {
    /// Seconds that a page has to be told of and looked at.
    private static let pageSeconds: Double = 30
    /// Seconds that a person has at the page, unless the app says otherwise.
    public static let signInSeconds: Double = 900

    /// Lets the person sign in on the service's page, and keeps the sign-in on this device.
    ///
    /// For apps that run where the browser runs, in a terminal or on a desktop: the page sends the browser to a port
    /// of this machine that the app listens on until then (RFC 8252). The API token must allow it: `stratus token
    /// create --loopback`. Whoever was signed in is signed out when the new sign-in is there. Posts `CKAccountChanged`.
    ///
    /// ```swift
    /// if try await container.accountStatus() != .available { try await container.signIn() }
    /// ```
    ///
    /// - Parameters:
    ///   - timeoutSeconds: how long the person has.
    ///   - openPage: shows the page. By default the browser does (`open`, or `xdg-open` where there is a display), and
    ///     the address is written to standard error for whoever has none here.
    /// - Returns: the user's record.
    /// - Throws: `CKError`: `operationCancelled` when the time is over, `notAuthenticated` where the API token does not
    ///   allow it, `invalidArguments` without an HTTP transport, what the network says, or what `openPage` throws. Who
    ///   was signed in stays so, unless the new token was not good.
    @discardableResult
    public func signIn(
        timeoutSeconds: Double = signInSeconds,
        openPage: (@Sendable (URL) async throws -> Void)? = nil
    ) async throws -> CKRecord.ID {
        let world = connection.world
        let callback = SignInCallback(world: world)
        let (transport, page) = try await signInPage()
        // Behind the page's own sign is nothing but the request that it is for.
        let next = page.replacingOccurrences(of: "/auth/sign-in?", with: "/auth/signed-in?")
        let listener: LoopbackListener
        do {
            listener = try await LoopbackListener.begin(for: callback, next: next)
        } catch {
            throw CKError(
                .internalError, "The app cannot listen on any port of 127.0.0.1.",
                cause: error)
        }
        do {
            let url = try await checkedAddress(
                page, returningTo: "http://127.0.0.1:\(listener.port)/", callback, transport)
            if let openPage { try await openPage(url) } else { PageOpening.open(url) }
            let tokens = listener.tokens
            let token = try await world.withTimeout(
                seconds: timeoutSeconds,
                throwing: CKError(.operationCancelled, "Nobody signed in on the page in time.")
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

    /// The address of the service's sign-in page, for an app whose own address (a scheme such as
    /// `org.example.trails`) the browser can open: show it, and give what comes back to ``finishSignIn(_:)``.
    ///
    /// ```swift
    /// let page = try await container.signInPage(returningTo: URL(string: "org.example.trails:/signed-in")!)
    /// ```
    ///
    /// - Parameter address: as the API token has it (`stratus token create --callback-url`).
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

    /// Takes the address that the browser opened the app with, after ``signInPage(returningTo:)``; keeps the sign-in on
    /// this device and posts `CKAccountChanged`.
    ///
    /// An address is taken once, and only the one that answers the last page asked for in this process.
    ///
    /// - Returns: the user's record.
    /// - Throws: `CKError`: `invalidArguments` for an address that is no answer to it; nothing changes then.
    @discardableResult
    public func finishSignIn(_ url: URL) async throws -> CKRecord.ID {
        guard let query = url.query(percentEncoded: true),
            let token = connection.signIns.takeToken(inQuery: query)
        else {
            throw CKError(
                .invalidArguments,
                "This address does not answer the sign-in that the app began: sign in again.")
        }
        do {
            return try await adopt(token)
        } catch {
            throw CKError(signInFailedWith: error)
        }
    }

    /// Signs in by e-mail address and password, for programs without a browser such as scripts; keeps the sign-in on
    /// this device and posts `CKAccountChanged`.
    ///
    /// Apps with a person before them use ``signIn(timeoutSeconds:openPage:)``: a password is typed on the service's own
    /// page alone.
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

    /// Signs out: ends the session at the service, takes the kept sign-in from this device and posts
    /// `CKAccountChanged`. What apps keep of the account's data is theirs to remove.
    ///
    /// - Throws: `CKError` when the service could not be told; the device is signed out all the same, and the session
    ///   ends by its age or from another device (``CloudConnection/revoke(_:container:)``).
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
            page + "&callback=" + HTTPTransport.escaped(address) + "&state=" + callback.state
        guard let url = URL(string: text), url.scheme == "http" || url.scheme == "https" else {
            throw CKError(.internalError, "The service's sign-in page has no address to open.")
        }
        try await transport.checkPage(text, timeoutSeconds: Self.pageSeconds)
        return url
    }

    private func adopt(_ token: String) async throws -> CKRecord.ID {
        CKRecordID(known: try await connection.adopt(token, container: core))
    }
}

extension CKError {
    /// What openPage throws is the app's own, and stays the cause.
    fileprivate init(signInFailedWith error: any Error) {
        switch error {
        case is CKError, is ServiceFailure, is TransportError, is CancellationError:
            self.init(requestFailedWith: error)
        default: self.init(.internalError, "The page to sign in on was not shown.", cause: error)
        }
    }
}
