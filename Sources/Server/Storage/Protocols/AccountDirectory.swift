import StratusRecords

/// Users, their sessions, and the keys of apps and servers.
public protocol AccountDirectory: Sendable {
    /// All containers, by name and environment.
    func containers() async throws -> [ContainerAddress]

    /// All API tokens, the oldest first.
    func apiTokens() async throws -> [APITokenRow]
    /// Deletes an API token; does nothing when there is none.
    func deleteAPIToken(_ token: String) async throws

    /// The users whose record names follow a name in byte order.
    func users(after recordName: String, limit: Int) async throws -> [UserRow]
    /// The user whose verified e-mail address this is.
    func user(verifiedEmailAddress: String) async throws -> UserRow?
    /// The users whose accounts are being deleted, by record name.
    func usersBeingRemoved() async throws -> [UserRow]
    /// Replaces everything that is stored about a user, except the record name and the sign-in name.
    ///
    /// - Returns: false when the user is gone, or the e-mail address is verified as another's.
    func update(_ user: UserRow) async throws -> Bool
    /// Changes a user like ``update(_:)``, but from the row as it is stored: changes by others are kept.
    ///
    /// - Parameter endingSessions: Whether all sessions of the user end, and their devices are removed, in the same
    ///   transaction.
    /// - Returns: false when the user is gone, or the e-mail address is verified as another's.
    func updateUser(
        _ recordName: String, endingSessions: Bool,
        _ change: @escaping @Sendable (inout UserRow) -> Void
    ) async throws -> Bool
    /// Removes a user with the sessions, identities, consents, devices and keys. Records stay.
    func deleteUser(_ recordName: String) async throws

    /// The sessions of a user, the oldest first.
    func sessions(of userRecordName: String) async throws -> [SessionRow]
    /// Notes that a session is in use, and by which device, if that is known. A session that has ended meanwhile stays
    /// ended.
    func touchSession(
        _ identifier: String, usedMilliseconds: Int64, device: String?) async throws
    /// Stores a new session, and ends others of its user so that there are at most `count`: the least recently used,
    /// where the time from its beginning to its last use counts in a session's favour. So many sign-ins, of which each
    /// is used once, do not end a session that is in use.
    ///
    /// - Parameter hash: The hash of the password that the user gave; nil for other ways to sign in.
    /// - Returns: The identifiers of the sessions that ended; nil if the user has another password by now. Then nothing is
    ///   stored.
    func begin(
        _ session: SessionRow, sessionsPerUser count: Int, passwordHash hash: String?
    ) async throws -> [String]?
    /// Removes the sessions of one kind that were last used before a moment.
    func deleteSessions(staysSignedIn: Bool, unusedSince milliseconds: Int64) async throws

    /// The user whom an identity provider knows by this subject.
    func user(identity: IdentityRow) async throws -> UserRow?
    /// Links an identity to a user; one that is linked already stays so.
    func put(_ identity: IdentityRow, of userRecordName: String) async throws

    /// Whether a user allows other users of a container to find their name by their e-mail address.
    func isDiscoverable(_ userRecordName: String, in address: ContainerAddress) async throws -> Bool
    /// Sets what ``AccountDirectory/isDiscoverable(_:in:)`` returns, which is false at first.
    func setDiscoverable(
        _ isDiscoverable: Bool, _ userRecordName: String, in address: ContainerAddress
    ) async throws

    /// The server-to-server key with an identifier; nil when there is none.
    func serverKey(_ identifier: String) async throws -> ServerKeyRow?
    /// All server-to-server keys, the oldest first.
    func serverKeys() async throws -> [ServerKeyRow]
    /// Stores a server-to-server key, replacing the one with the same identifier.
    func put(_ key: ServerKeyRow) async throws
    /// Notes that signatures dated up to a moment may have been accepted; an earlier moment changes nothing. A key that
    /// was deleted is not created again.
    func spend(serverKey identifier: String, through milliseconds: Int64) async throws
    /// Deletes a server-to-server key, but not its user; does nothing when there is none.
    func deleteServerKey(_ identifier: String) async throws
}
