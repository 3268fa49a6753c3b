import Foundation
import StratusRecords
import StratusWire

/// The sign-in that this device keeps between starts of the app.
extension CloudConnection {
    /// The record name of the user whose sign-in this device keeps; nil when none is kept.
    ///
    /// It is available offline, so that an app can open this user's files before it is online.
    public var signedInUserRecordName: String? { signIns.kept?.userRecordName }

    /// Resumes the sign-in that this device keeps
    /// (``CKContainer/signIn(timeoutSeconds:openPage:)``), if there is one. A connection made from
    /// environment variables has done so if they name no user.
    ///
    /// - Returns: whether a user is signed in now.
    /// - Throws: `CKError.internalError` when the stored sign-in cannot be read; its sentence says
    ///   what to do.
    @discardableResult
    public func resumeSignIn() throws -> Bool {
        guard try takeKeptSignIn() else { return false }
        postAccountChange()
        return true
    }

    /// Resumes the sign-in that this device keeps, without `CKAccountChanged`: while a connection is made, no one has
    /// it, and ``current`` makes the process's one within a lock that every container needs.
    ///
    /// - Returns: whether a user is signed in now.
    func takeKeptSignIn() throws -> Bool {
        guard let transport = transport as? HTTPTransport, let place = signInPlace,
            let kept = try attemptKeeping({ try keyring.store.signIn(at: place) })
        else { return false }
        countAccountChange()
        take(kept, with: transport, keptAt: nil)
        return true
    }

    /// The service and app of a stored sign-in; nil for a transport without a sign-in page.
    private var signInPlace: CloudSignInPlace? {
        guard let transport = transport as? HTTPTransport else { return nil }
        return CloudSignInPlace(
            service: transport.origin, apiToken: transport.apiToken, environment: environment)
    }

    /// Sends the stored token from now on, and stores those that follow.
    private func take(_ kept: KeptSignIn, with transport: HTTPTransport, keptAt: Double?) {
        signIns.keeps(kept, keptAt: keptAt)
        transport.session.change(to: kept.webAuthToken) { [weak self] in self?.renew($0) }
        replaceAccount(hasAccount: true)
    }

    private func renew(_ token: String) {
        guard let place = signInPlace,
            let kept = signIns.renewed(token, uptimeSeconds: world.uptimeSeconds())
        else { return }
        // The stored token stays valid, and a later answer brings another one to store.
        try? keyring.store.renewSignIn(kept, at: place)
    }

    /// Signs in with a token from a page or password, replacing the former user, and stores the
    /// sign-in.
    ///
    /// - Parameter container: a container for which the token is valid.
    /// - Returns: the user's record name.
    func adopt(_ token: String, container: ContainerCore) async throws -> String {
        guard let transport = transport as? HTTPTransport, let place = signInPlace else {
            throw CKError.withoutPage
        }
        // The former user's session is ended too; if that fails, it ends when it expires, or the
        // user revokes it from another device.
        if signIns.kept != nil { try? await endSessionAtService(container: container.identifier) }
        countAccountChange()
        let changeCount = accountChangeCount
        transport.changeAccount(webAuthToken: token)
        do {
            let name = try await container.askedUserRecordName(pace: RequestPace())
            let kept = KeptSignIn(
                id: world.makeUUID().uuidString, userRecordName: name, webAuthToken: token)
            try attemptKeeping { try keyring.store.keepSignIn(kept, at: place) }
            take(kept, with: transport, keptAt: world.uptimeSeconds())
            postAccountChange()
            return name
        } catch {
            // A token that the service did not confirm, or that could not be stored, is not used:
            // no user is signed in, unless another one has signed in meanwhile.
            if accountChangeCount == changeCount { try signOut() }
            throw error
        }
    }

    /// Removes the stored sign-in.
    func forgetSignIn() throws {
        signIns.keeps(nil, keptAt: nil)
        guard let place = signInPlace else { return }
        try attemptKeeping { try keyring.store.removeSignIn(at: place) }
    }

    private func attemptKeeping<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as CloudKeyStoreError {
            throw CKError(
                .internalError, "\(error.sentence) (\(error.path))", details: ["path": error.path],
                cause: error)
        }
    }
}

extension CKError {
    static let withoutPage = CKError(
        .invalidArguments,
        "This transport has no sign-in page; connect over HTTP to a Stratus service.")
}
