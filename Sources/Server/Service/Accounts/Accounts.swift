import StratusRecords
import StratusRuntime
import StratusStorage
import StratusWire
import Synchronization

/// API tokens, sessions, server keys and users: checks who sends a request.
///
/// ```swift
/// let token = try await service.accounts.createAPIToken(for: address, name: "Trails for iOS")
/// let user = try await service.accounts.createUser(
///     emailAddress: "bo@example.org", password: password, givenName: "Bo", familyName: "Berg",
///     isEmailVerified: true)
/// ```
public final class Accounts: Sendable {
    let directory: any Directory
    let settings: ServiceSettings
    let passwords: PasswordQueue
    let guesses: PasswordGuesses
    let identityTokens: IdentityTokens
    private let serverKeys: ServerKeys
    private let remembered = Mutex(Remembered())

    /// What was read from the directory recently, valid until this process or another one changes it.
    private struct Remembered {
        /// Increases when something is forgotten: what was read before that must not be kept afterwards.
        var generation = 0
        var containers = LRUCache<ContainerAddress, Bool>(capacity: 10_000)
        var apiTokens = LRUCache<String, APITokenRow>(capacity: 10_000)
        var sessions = LRUCache<String, Session>(capacity: 10_000)
        var serverKeys = LRUCache<String, ServerKeys.Known>(capacity: 10_000)

        mutating func forget() {
            generation += 1
            containers.removeAll()
            apiTokens.removeAll()
            sessions.removeAll()
            serverKeys.removeAll()
        }
    }

    /// A session and its user.
    private struct Session: Sendable {
        var row: SessionRow
        var isDisabled: Bool
    }

    /// Bytes of a device's identifier: it is stored with every record that the device touches.
    static let clientIDBytes = 255

    /// Sessions of one user. Each sign-in begins one, and an identity token can be exchanged again and again; lists of
    /// sessions are read into memory. A further sign-in ends one that was hardly used, such as a script's.
    static let sessionsPerUser = 1_000

    /// A caller with valid credentials.
    struct Admitted {
        var caller: Caller
        var rotatedWebAuthToken: String?
    }

    /// A new sign-in.
    public struct SignIn: Hashable, Sendable {
        /// The session's first web-auth token.
        public var webAuthToken: String
        /// The record name of the user who signed in.
        public var userRecordName: String
        /// The identifier of the new session, for ``Accounts/endSession(_:)``.
        public var session: String
    }

    init(directory: any Directory, settings: ServiceSettings, memory: MemoryBudget) {
        self.directory = directory
        self.settings = settings
        guesses = PasswordGuesses(limits: settings.limits, world: settings.world)
        passwords = PasswordQueue(limits: settings.limits, memory: memory)
        serverKeys = ServerKeys(directory: directory)
        identityTokens = IdentityTokens(
            providers: settings.accounts.identityProviders, world: settings.world,
            logger: settings.logger)
    }

    // MARK: Showing credentials

    /// - Throws: ``ServiceError``: AUTHENTICATION_FAILED for the API token or the signature,
    ///   AUTHENTICATION_REQUIRED for the web-auth token, ACCESS_DENIED for a disabled account.
    ///
    /// - Parameter mayRepeat: Whether the same signed request may be sent more than once.
    func authenticate(
        _ credentials: Credentials, at address: ContainerAddress, signer: TokenSigner,
        mayRepeat: Bool
    ) async throws -> Admitted {
        guard (credentials.clientID?.utf8.count ?? 0) <= Self.clientIDBytes else {
            throw ServiceError.longClientID
        }
        if let signature = credentials.signature {
            let key = try await keyOfSigner(signature, credentials, at: address)
            let request = try await serverKeys.accept(
                signature, of: key, at: address, mayRepeat: mayRepeat,
                nowMilliseconds: settings.world.nowMilliseconds())
            return Admitted(
                caller: Caller(
                    userRecordName: key.row.userRecordName,
                    device: credentials.clientID ?? "server",
                    wantsExtensions: credentials.wantsExtensions, signedRequest: request))
        }
        try await checkAPIToken(credentials, at: address)
        guard let text = credentials.webAuthToken else {
            let device = credentials.clientID ?? "web"
            return Admitted(
                caller: Caller(
                    userRecordName: nil, device: device,
                    wantsExtensions: credentials.wantsExtensions))
        }
        guard let token = WebAuthToken(text: text, signer: signer),
            let session = try await session(token.session),
            session.row.address == nil || session.row.address == address,
            isValid(token, in: session.row)
        else { throw ServiceError.signInNeeded }
        guard !session.isDisabled else { throw ServiceError.accountDisabled }
        try await noteUse(of: session.row, by: credentials.clientID)
        let caller = Caller(
            userRecordName: session.row.userRecordName,
            device: credentials.clientID ?? session.row.identifier,
            wantsExtensions: credentials.wantsExtensions, session: session.row.identifier)
        let next = WebAuthToken(
            session: session.row.identifier, issuedMilliseconds: settings.world.nowMilliseconds())
        return Admitted(caller: caller, rotatedWebAuthToken: next.text(signedBy: signer))
    }

    private func lifetimeMilliseconds(_ session: SessionRow) -> Int64 {
        let limits = settings.limits
        return Int64(
            (session.staysSignedIn ? limits.staySignedInSeconds : limits.webAuthTokenSeconds) * 1000
        )
    }

    private func isValid(_ token: WebAuthToken, in session: SessionRow) -> Bool {
        settings.world.nowMilliseconds() < token.issuedMilliseconds + lifetimeMilliseconds(session)
    }

    /// Reads a row, from memory if it was read before.
    private func recall<Key: Hashable & Sendable, Value: Sendable>(
        _ rows: WritableKeyPath<Remembered, LRUCache<Key, Value>> & Sendable, _ key: Key,
        read: () async throws -> Value?
    ) async throws -> Value? {
        let (value, generation) = remembered.withLock { ($0[keyPath: rows][key], $0.generation) }
        if let value { return value }
        guard let value = try await read() else { return nil }
        remembered.withLock { remembered in
            if remembered.generation == generation { remembered[keyPath: rows][key] = value }
        }
        return value
    }

    /// Forgets what was read, because it was changed.
    func forget() {
        remembered.withLock { $0.forget() }
    }

    /// Forgets sessions that ended: other callers are not read again.
    private func forget(sessions: [String]) {
        remembered.withLock { remembered in
            remembered.generation += 1
            for session in sessions { remembered.sessions[session] = nil }
        }
    }

    // MARK: Servers

    /// Checks what can be checked of a signature without the body.
    ///
    /// - Throws: ``ServiceError`` with AUTHENTICATION_FAILED.
    func keyOfSigner(
        _ signature: RequestSignature, _ credentials: Credentials, at address: ContainerAddress
    ) async throws -> ServerKeys.Known {
        guard credentials.apiToken == nil, credentials.webAuthToken == nil,
            signature.isTimely(nowMilliseconds: settings.world.nowMilliseconds())
        else { throw ServiceError.authenticationFailed }
        let identifier = signature.keyID.lowercased()
        let known = try await recall(\.serverKeys, identifier) {
            guard let row = try await directory.serverKey(identifier) else { return nil }
            let user = try await directory.user(recordName: row.userRecordName)
            return ServerKeys.Known(
                row: row, publicKey: try ServerKeys.publicKey(row.publicKey),
                isDisabled: user?.isDisabled ?? true)
        }
        guard let known, known.row.address == address, !known.isDisabled else {
            throw ServiceError.authenticationFailed
        }
        return known
    }

    // MARK: Apps

    /// An API token and what it allows; nil when there is none of this name.
    func apiToken(_ token: String) async throws -> APITokenRow? {
        try await recall(\.apiTokens, token) { try await directory.apiToken(token) }
    }

    private func checkAPIToken(
        _ credentials: Credentials, at address: ContainerAddress
    ) async throws {
        guard let row = try await app(of: credentials) else {
            return try await createContainerIfNeeded(address)
        }
        guard row.address == address else { throw ServiceError.authenticationFailed }
    }

    /// The API token of the credentials, for any container, if it is valid for the page that sent it; nil for the
    /// token that is valid for every container.
    ///
    /// - Throws: ``ServiceError`` with AUTHENTICATION_FAILED.
    func app(of credentials: Credentials) async throws -> APITokenRow? {
        guard let token = credentials.apiToken else { throw ServiceError.authenticationFailed }
        if settings.isForDevelopment, token == ServiceSettings.developmentToken { return nil }
        guard let row = try await apiToken(token), row.allows(origin: credentials.origin) else {
            throw ServiceError.authenticationFailed
        }
        return row
    }

    /// Makes a container when it is new.
    func createContainerIfNeeded(_ address: ContainerAddress) async throws {
        _ = try await recall(\.containers, address) {
            guard Self.isContainerIdentifier(address.container) else {
                throw ServiceError.invalid(
                    """
                    The container's name is not valid: it has 1 to 127 letters, digits, dots, hyphens \
                    and underscores, and does not begin with a dot.
                    """)
            }
            if try await !directory.container(address) {
                try await directory.createContainer(address)
            }
            return true
        }
    }

    /// At most 127 bytes: a folder's name has at most 255, and an uppercase letter takes two of them. A folder that
    /// cannot be created would look like a disk that cannot be written, and stop the service.
    private static func isContainerIdentifier(_ name: String) -> Bool {
        (1...127).contains(name.utf8.count) && !name.hasPrefix(".")
            && name.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
                    || (0x61...0x7A).contains($0) || [0x2D, 0x2E, 0x5F].contains($0)
            }
    }

    // MARK: Sessions

    private func session(_ identifier: String) async throws -> Session? {
        try await recall(\.sessions, identifier) {
            guard let row = try await directory.session(identifier),
                let user = try await directory.user(recordName: row.userRecordName)
            else { return nil }
            return Session(row: row, isDisabled: user.isDisabled)
        }
    }

    /// Notes that a session is in use: after its first minute, then each time it has been used for about twice as long,
    /// later at most ten times in the lifetime of a token. Also notes the name of its device when the device first
    /// sends it.
    private func noteUse(of session: SessionRow, by device: String?) async throws {
        let now = settings.world.nowMilliseconds()
        let isNamed = session.device == nil && device != nil
        let used = session.lastUsedMilliseconds
        let interval = min(
            lifetimeMilliseconds(session) / 10, max(60_000, used - session.createdMilliseconds))
        guard isNamed || now - used > interval else { return }
        try await directory.touchSession(
            session.identifier, usedMilliseconds: now, device: device)
        remembered.withLock { remembered in
            remembered.sessions[session.identifier]?.row.lastUsedMilliseconds = now
            if let device { remembered.sessions[session.identifier]?.row.device = device }
        }
    }

    /// The sessions of a user that are valid for a container, the oldest first.
    func sessions(
        of userRecordName: String, at address: ContainerAddress
    ) async throws -> [SessionRow] {
        let now = settings.world.nowMilliseconds()
        return try await directory.sessions(of: userRecordName).filter { session in
            (session.address == nil || session.address == address)
                && now < session.lastUsedMilliseconds + lifetimeMilliseconds(session) * 11 / 10
        }
    }

    /// Ends a session and unregisters its device from notifications.
    func revoke(_ session: SessionRow, at address: ContainerAddress) async throws {
        try await endSession(session.identifier)
        for device in try await directory.devices(of: session.userRecordName, in: address)
        where device.clientID == (session.device ?? session.identifier) {
            try await directory.deleteDevice(pushToken: device.pushToken, in: nil)
        }
    }

    /// Starts a session for a user and returns its first web-auth token.
    ///
    /// - Parameters:
    ///   - address: The container that its tokens are valid for; nil for all.
    ///   - passwordHash: The hash of the password that the user gave; nil for other ways to sign in.
    /// - Throws: ``SignInRefusal/wrong`` when the user has another password by now: its change ended all sessions.
    func createSession(
        for userRecordName: String, staysSignedIn: Bool, at address: ContainerAddress?,
        passwordHash: String? = nil, signer: TokenSigner
    ) async throws -> SignIn {
        let now = settings.world.nowMilliseconds()
        let session = SessionRow(
            identifier: settings.world.newIdentifier(), userRecordName: userRecordName,
            staysSignedIn: staysSignedIn, createdMilliseconds: now, address: address)
        try await deleteOldSessions(now)
        let ended = try await directory.begin(
            session, sessionsPerUser: Self.sessionsPerUser, passwordHash: passwordHash)
        guard let ended else { throw SignInRefusal.wrong }
        if !ended.isEmpty { forget(sessions: ended) }
        let token = WebAuthToken(session: session.identifier, issuedMilliseconds: now)
        return SignIn(
            webAuthToken: token.text(signedBy: signer), userRecordName: userRecordName,
            session: session.identifier)
    }

    /// Removes the sessions of which all tokens have expired. The last use is known to a tenth of a token's life.
    private func deleteOldSessions(_ now: Int64) async throws {
        for (staysSignedIn, seconds) in [
            (false, settings.limits.webAuthTokenSeconds),
            (true, settings.limits.staySignedInSeconds),
        ] {
            try await directory.deleteSessions(
                staysSignedIn: staysSignedIn, unusedSince: now - Int64(seconds * 1_200))
        }
    }

    /// Ends a session: none of its web-auth tokens is valid any more.
    public func endSession(_ identifier: String) async throws {
        try await directory.deleteSession(identifier)
        forget()
    }

    // MARK: Users

    /// The user with a sign-in name, created if there is none yet.
    public func user(named name: String) async throws -> UserRow {
        if let user = try await directory.user(named: name) { return user }
        return try await directory.insert(newUser(named: name))
    }

    /// The user with a name, in a service for development. A name that is an e-mail address becomes the user's verified
    /// address, so that others can invite the user by it.
    func userForDevelopment(named name: String) async throws -> UserRow {
        var user = try await user(named: name)
        guard user.emailAddress == nil, let address = Self.normalised(emailAddress: name) else {
            return user
        }
        user.emailAddress = address
        user.isEmailVerified = true
        if try await !directory.update(user) {
            // Another user has verified the address and keeps it.
            user.isEmailVerified = false
        }
        return user
    }

    func newUser(named name: String) -> UserRow {
        UserRow(
            recordName: "_" + settings.world.newIdentifier(), name: name,
            createdMilliseconds: settings.world.nowMilliseconds())
    }
}

extension APITokenRow {
    /// Whether a page of this origin may use the token. A client that is not a browser sends no origin.
    func allows(origin: String?) -> Bool {
        guard let origin, !allowedOrigins.isEmpty else { return true }
        return allowedOrigins.contains(origin)
    }
}
