/// Why a session halted; nothing is lost, and the queue is kept.
public enum HaltReason: Hashable, Sendable {
    /// No account, or the account is not ready. Ends with ``SyncSession/accountChanged(at:)``.
    case account(SyncFailure)
    /// The file belongs to a user other than the one who is signed in. None of its changes were sent, and nothing was
    /// fetched into it. Ends with ``SyncSession/accountChanged(at:)`` when its user signs in again; open another file
    /// for the current user.
    case otherAccount
    /// The file has records that were made while no user was signed in, and the app has not adopted them for the
    /// current user. None of its changes were sent. Ends with a restart after the records were adopted.
    case unclaimedRecords
    /// The service refuses this app or this database. Ends with a restart, once the cause is
    /// resolved.
    case refused(SyncFailure)
    /// Too many consecutive failures; see `SyncSettings.maximumRetries`. Ends with a restart.
    case retriesExhausted(SyncFailure)
    /// A resolver or policy of the app requested it, for example because a record is newer than the
    /// app.
    case requested(String)
    /// This device could not read or write its own file. Ends with a restart; meanwhile other processes may sync it.
    case localStorage(String)

    /// What happened and what to do, for a person.
    public var summary: String {
        switch self {
        case .account:
            "No account is signed in; sign in to sync. Your changes are kept on this device."
        case .otherAccount:
            "Another account is signed in; the changes of the former one are kept on this device."
                + " Sign in with the former account to send them."
        case .unclaimedRecords:
            "Records were made on this device before a user signed in."
                + " Confirm whether they are yours."
        case .refused(let failure):
            "The service refuses this app (\(failure.code)). Your changes are kept on this device;"
                + " update the app, or ask its developer."
        case .retriesExhausted(let failure):
            "The service keeps failing (\(failure.code)). Your changes are kept on this device; sync"
                + " again later."
        case .requested(let reason): reason
        case .localStorage(let reason): "The cache on this device failed: \(reason)"
        }
    }
}
