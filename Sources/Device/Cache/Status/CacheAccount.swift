import StratusSync

/// What is known of the account, without asking the service: as its last answer told, also over a restart.
public enum CacheAccount: String, Hashable, Sendable, Codable {
    /// Nobody has asked the service yet.
    case unknown
    /// Signed in, and the service answers for this account.
    case available
    /// Nobody is signed in.
    case noAccount
    /// The service does not take the account now: its sign-in is over, or it is not ready.
    case temporarilyUnavailable
    /// The account's administrator does not allow it.
    case restricted
    /// Another user is signed in than the one whose file this is.
    case otherUser

    /// What a failure says of the account; nil when it says nothing.
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
        case .unknown: "not asked yet"
        case .available: "signed in"
        case .noAccount: "nobody is signed in"
        case .temporarilyUnavailable: "sign in again"
        case .restricted: "not allowed by the account's administrator"
        case .otherUser: "another user is signed in"
        }
    }
}
