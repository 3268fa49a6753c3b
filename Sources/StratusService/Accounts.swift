import StratusRecords
import StratusStorage
import StratusWire
import Synchronization

/// API tokens, sessions and users: who may ask.
public final class Accounts: Sendable {
    private let directory: any Directory
    private let settings: ServiceSettings
    private let remembered = Mutex(Remembered())

    /// What was read from the directory lately. A session that another process revoked is refused
    /// after ``Remembered/lifetimeMilliseconds`` at the latest.
    private struct Remembered {
        static let lifetimeMilliseconds: Int64 = 60_000
        static let capacity = 10_000

        var containers: Set<ContainerAddress> = []
        var apiTokens: [String: ContainerAddress] = [:]
        var sessions: [String: (row: SessionRow, readMilliseconds: Int64)] = [:]

        mutating func keep(_ row: SessionRow, at milliseconds: Int64) {
            if sessions.count >= Self.capacity { sessions.removeAll() }
            sessions[row.identifier] = (row, milliseconds)
        }
    }

    /// Bytes of a device's identifier: it is stored with every record that the device touches.
    static let clientIDBytes = 255

    /// A caller who showed good credentials.
    struct Admitted {
        var caller: Caller
        var rotatedWebAuthToken: String?
    }

    /// A sign-in, fresh from the counter.
    public struct SignIn: Hashable, Sendable {
        public var webAuthToken: String
        public var userRecordName: String
        public var session: String
    }

    init(directory: any Directory, settings: ServiceSettings) {
        self.directory = directory
        self.settings = settings
    }

    // MARK: Showing credentials

    /// - Throws: ``ServiceError``: AUTHENTICATION_FAILED for the API token, AUTHENTICATION_REQUIRED for
    ///   the web-auth token.
    func authenticate(
        _ credentials: Credentials, at address: ContainerAddress, seal: Seal
    ) async throws -> Admitted {
        try await checkAPIToken(credentials.apiToken, at: address)
        guard (credentials.clientID?.utf8.count ?? 0) <= Self.clientIDBytes else {
            throw ServiceError.longClientID
        }
        guard let text = credentials.webAuthToken else {
            let device = credentials.clientID ?? "web"
            return Admitted(
                caller: Caller(
                    userRecordName: nil, device: device,
                    wantsExtensions: credentials.wantsExtensions))
        }
        guard let token = WebAuthToken(text: text, seal: seal),
            let session = try await session(token.session),
            isValid(token, in: session)
        else { throw ServiceError.signInNeeded }
        let caller = Caller(
            userRecordName: session.userRecordName,
            device: credentials.clientID ?? session.identifier,
            wantsExtensions: credentials.wantsExtensions)
        let next = WebAuthToken(
            session: session.identifier, issuedMilliseconds: settings.nowMilliseconds())
        return Admitted(caller: caller, rotatedWebAuthToken: next.text(sealedBy: seal))
    }

    private func isValid(_ token: WebAuthToken, in session: SessionRow) -> Bool {
        let seconds =
            session.staysSignedIn
            ? settings.limits.staySignedInSeconds : settings.limits.webAuthTokenSeconds
        let end = token.issuedMilliseconds + Int64(seconds * 1000)
        return settings.nowMilliseconds() < end
    }

    private func checkAPIToken(_ token: String?, at address: ContainerAddress) async throws {
        guard let token else { throw ServiceError.unknownAPIToken }
        if settings.isForDevelopment, token == ServiceSettings.developmentToken {
            return try await createContainerIfNeeded(address)
        }
        if let known = remembered.withLock({ $0.apiTokens[token] }) {
            guard known == address else { throw ServiceError.unknownAPIToken }
            return
        }
        guard let row = try await directory.apiToken(token), row.address == address else {
            throw ServiceError.unknownAPIToken
        }
        remembered.withLock { $0.apiTokens[token] = row.address }
    }

    func createContainerIfNeeded(_ address: ContainerAddress) async throws {
        guard !remembered.withLock({ $0.containers.contains(address) }) else { return }
        guard Self.isContainerIdentifier(address.container) else {
            throw ServiceError.invalid(
                "A container's name has at most 127 letters, digits, dots, hyphens and underscores."
            )
        }
        if try await !directory.container(address) {
            try await directory.createContainer(address)
        }
        remembered.withLock { _ = $0.containers.insert(address) }
    }

    /// At most 127 bytes: a folder's name has 255, and an uppercase letter takes two of them. A folder
    /// that cannot be made would pass for a disk that cannot be written, and stop the service.
    private static func isContainerIdentifier(_ name: String) -> Bool {
        (1...127).contains(name.utf8.count) && !name.hasPrefix(".")
            && name.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
                    || (0x61...0x7A).contains($0) || [0x2D, 0x2E, 0x5F].contains($0)
            }
    }

    private func session(_ identifier: String) async throws -> SessionRow? {
        let now = settings.nowMilliseconds()
        if let known = remembered.withLock({ $0.sessions[identifier] }),
            now - known.readMilliseconds < Remembered.lifetimeMilliseconds
        {
            return known.row
        }
        guard let row = try await directory.session(identifier) else { return nil }
        remembered.withLock { $0.keep(row, at: now) }
        return row
    }

    // MARK: At the counter

    /// Makes an API token for a container, and the container if it is new.
    ///
    /// - Returns: 64 hexadecimal digits.
    public func createAPIToken(
        for address: ContainerAddress, name: String
    ) async throws -> String {
        try await createContainerIfNeeded(address)
        let token = settings.newIdentifier() + settings.newIdentifier()
        try await directory.put(APITokenRow(token: token, address: address, name: name))
        return token
    }

    /// The user who signs in under a name, made if there is none yet.
    public func user(named name: String) async throws -> UserRow {
        if let user = try await directory.user(named: name) { return user }
        return try await directory.insert(
            UserRow(recordName: "_" + settings.newIdentifier(), name: name))
    }

    /// Starts a session for a user and returns its first web-auth token.
    func createSession(
        for userRecordName: String, staysSignedIn: Bool, seal: Seal
    ) async throws -> SignIn {
        let now = settings.nowMilliseconds()
        let session = SessionRow(
            identifier: settings.newIdentifier(), userRecordName: userRecordName,
            staysSignedIn: staysSignedIn, createdMilliseconds: now)
        try await directory.put(session)
        let token = WebAuthToken(session: session.identifier, issuedMilliseconds: now)
        return SignIn(
            webAuthToken: token.text(sealedBy: seal), userRecordName: userRecordName,
            session: session.identifier)
    }

    /// Ends a session: none of its web-auth tokens is good any more.
    public func endSession(_ identifier: String) async throws {
        try await directory.deleteSession(identifier)
        remembered.withLock { _ = $0.sessions.removeValue(forKey: identifier) }
    }
}

extension CloudService {
    /// Starts a session for a user, as the command line and a sign-in page do.
    public func createSession(
        for userRecordName: String, staysSignedIn: Bool
    ) async throws(RequestFailure) -> Accounts.SignIn {
        do {
            guard try await storehouse.directory.user(recordName: userRecordName) != nil else {
                throw ServiceError(.notFound, "There is no user of this record name.")
            }
            return try await accounts.createSession(
                for: userRecordName, staysSignedIn: staysSignedIn, seal: seal())
        } catch {
            throw failure(from: error)
        }
    }

    /// Signs in whoever says so, making the user on first use: only in a service for development.
    ///
    /// - Throws: ``RequestFailure`` with NOT_FOUND in any other service.
    public func signInForDevelopment(
        user name: String
    ) async throws(RequestFailure) -> Accounts.SignIn {
        guard settings.isForDevelopment else {
            throw RequestFailure(ServiceError(.notFound, "There is nothing at this address."))
        }
        guard (1...255).contains(name.utf8.count) else {
            throw RequestFailure(.invalid("Name a user with 1 to 255 bytes."))
        }
        do {
            let user = try await accounts.user(named: name)
            return try await accounts.createSession(
                for: user.recordName, staysSignedIn: true, seal: seal())
        } catch {
            throw failure(from: error)
        }
    }
}
