import StratusSync

/// The state of the account by the service's last answer; kept over a restart.
public enum CacheAccount: String, Hashable, Sendable, Codable {
    /// The service has not been asked yet.
    case unknown
    /// A user is signed in, and the service accepts the account.
    case available
    /// No user is signed in.
    case noAccount
    /// The service does not accept the account now: the session has ended, or the account is not ready.
    case temporarilyUnavailable
    /// The account's administrator does not allow its use.
    case restricted
    /// The user who is signed in is not the file's user.
    case otherUser

    /// The account's state by a failure; nil if the failure is not about the account.
    init?(_ failure: SyncFailure) {
        switch failure.code {
        case .notAuthenticated: self = .noAccount
        case .accountTemporarilyUnavailable: self = .temporarilyUnavailable
        case .managedAccountRestricted: self = .restricted
        default: return nil
        }
    }

    /// A few words for a person.
    public var summary: String {
        switch self {
        case .unknown: "the service has not been asked yet"
        case .available: "signed in"
        case .noAccount: "no user is signed in"
        case .temporarilyUnavailable: "not accepted now; sign in again"
        case .restricted: "not allowed by the account's administrator"
        case .otherUser: "another user is signed in"
        }
    }
}
