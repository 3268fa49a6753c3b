import Foundation
import StratusRecords
import StratusWire

extension CloudConnection {
    /// Signs a user in, replacing the former user; posts `CKAccountChanged`.
    ///
    /// A web-auth token comes from the service's sign-in page or from `stratus token create`. The
    /// service checks it with the next request: call `accountStatus()` to find out.
    ///
    /// - Throws: `CKError.invalidArguments` when the transport's account is fixed.
    public func signIn(webAuthToken: String) throws {
        try changeAccount(webAuthToken: webAuthToken)
    }

    /// Signs out on this device; posts `CKAccountChanged`.
    ///
    /// The session itself lasts until its token expires; see ``endSession(container:)``.
    ///
    /// The sign-in that this device keeps is removed.
    ///
    /// - Throws: `CKError.invalidArguments` when the transport's account is fixed, `internalError` when a kept
    ///   sign-in cannot be removed.
    public func signOut() throws {
        try changeAccount(webAuthToken: nil)
    }

    private func changeAccount(webAuthToken: String?) throws {
        let transport = try accountTransport
        // Counted before and after, so that no request begun before now is sent with the next
        // token.
        countAccountChange()
        transport.changeAccount(webAuthToken: webAuthToken)
        // Signed out before the file is removed: if removing it fails, the error is thrown and the user is still signed
        // out.
        defer { accountChanged(hasAccount: webAuthToken != nil) }
        if webAuthToken == nil { try forgetSignIn() } else { signIns.keeps(nil, keptAt: nil) }
    }

    /// Tells the service that the session ended, so that its tokens can no longer be used, and signs out.
    ///
    /// - Parameter container: a container that was used with the account.
    /// - Throws: `CKError`; the device is still signed out, unless its account is fixed, or another user signed in
    ///   meanwhile.
    public func endSession(container: String) async throws {
        // Checked before the session is ended, because a fixed account cannot be signed out.
        _ = try accountTransport
        // Otherwise a listener would register again when its registration ends.
        noteSessionEnding()
        let changeCount = accountChangeCount
        // These requests are bound to this account, so that they never end the session of a user who signs in
        // meanwhile.
        let pace = RequestPace(accountChangeCount: changeCount)
        await unregisterListeners(pace: pace)
        let ended: Result<Void, any Error>
        do {
            ended = .success(try await endSessionAtService(container: container, pace: pace))
        } catch {
            // Thrown below, when the device is signed out.
            ended = .failure(error)
        }
        // Another user may have signed in while the service was asked.
        if accountChangeCount == changeCount { try signOut() }
        _ = try ended.get()
    }

    func endSessionAtService(
        container: String, pace: RequestPace = RequestPace()
    ) async throws {
        let target = RequestTarget(
            container: ContainerAddress(container: container, environment: environment),
            scope: .public)
        let sender = RequestSender(connection: self, target: target, pace: pace)
        _ = try await sender.send(UsersSignOut.self, EmptyBody())
    }

    var accountTransport: any AccountTransport {
        get throws {
            guard let transport = transport as? any AccountTransport else {
                throw CKError(
                    .invalidArguments,
                    "The transport has a fixed account; connect with an"
                        + " AccountTransport to change it.")
            }
            return transport
        }
    }
}
