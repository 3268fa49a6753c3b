import Foundation
import StratusRecords
import StratusWire

/// Who is signed in on this device, from one start of the app to the next.
extension CloudConnection {
    /// The user of the sign-in that this device keeps: their record name; nil when none is kept.
    ///
    /// It is known without the service: an app opens this user's files before it is online.
    public var signedInUserRecordName: String? { signIns.kept?.userRecordName }

    /// Goes on with the sign-in that this device keeps (``CKContainer/signIn(timeoutSeconds:openPage:)``), if
    /// there is one. A connection made of the environment's variables has done so where these name no user.
    ///
    /// - Returns: whether somebody is signed in now.
    /// - Throws: `CKError.internalError` when what is kept cannot be read; it says what to do.
    @discardableResult
    public func resumeSignIn() throws -> Bool {
        guard let transport = transport as? HTTPTransport, let place = signInPlace,
            let kept = try attemptKeeping({ try keyring.store.signIn(at: place) })
        else { return false }
        countAccountChange()
        take(kept, with: transport, keptAt: nil)
        return true
    }

    /// Where a sign-in is kept; nil for a transport that has no page to sign in on.
    private var signInPlace: CloudSignInPlace? {
        guard let transport = transport as? HTTPTransport else { return nil }
        return CloudSignInPlace(
            service: transport.origin, apiToken: transport.apiToken, environment: environment)
    }

    /// Sends the kept token from now on, and keeps those that follow.
    private func take(_ kept: KeptSignIn, with transport: HTTPTransport, keptAt: Double?) {
        signIns.keeps(kept, keptAt: keptAt)
        transport.session.change(to: kept.webAuthToken) { [weak self] in self?.renew($0) }
        accountChanged(hasAccount: true)
    }

    private func renew(_ token: String) {
        guard let place = signInPlace,
            let kept = signIns.renewed(token, uptimeSeconds: world.uptimeSeconds())
        else { return }
        // The kept token stays good meanwhile, and a later answer brings another one to keep.
        try? keyring.store.renewSignIn(kept, at: place)
    }

    /// Signs in with a token that a page or a password gave, in place of who was, and keeps it.
    ///
    /// - Parameter container: a container that the token is good for.
    /// - Returns: the user's record name.
    func adopt(_ token: String, container: ContainerCore) async throws -> String {
        guard let transport = transport as? HTTPTransport, let place = signInPlace else {
            throw CKError.withoutPage
        }
        // Whoever goes leaves no session behind; one that cannot be ended now ends by its age.
        if signIns.kept != nil { try? await endSessionAtService(container: container.identifier) }
        countAccountChange()
        transport.changeAccount(webAuthToken: token)
        do {
            let name = try await container.askedUserRecordName(pace: RequestPace())
            let kept = KeptSignIn(
                id: world.makeUUID().uuidString, userRecordName: name, webAuthToken: token)
            try attemptKeeping { try keyring.store.keepSignIn(kept, at: place) }
            take(kept, with: transport, keptAt: world.uptimeSeconds())
            return name
        } catch {
            // A token that nobody vouched for is not used: nobody is signed in.
            try signOut()
            throw error
        }
    }

    /// Takes the kept sign-in away.
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
        "This transport has no page to sign in on; connect over HTTP to a service of Stratus.")
}
