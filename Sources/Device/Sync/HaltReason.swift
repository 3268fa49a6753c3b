/// Why a session stopped by itself; nothing is lost, the queue is kept.
public enum HaltReason: Hashable, Sendable {
    /// No account, or the account is not ready. Ends with ``SyncSession/accountChanged(at:)``.
    case account(SyncFailure)
    /// The file belongs to another user than the one who is signed in. Nothing of it was sent, and
    /// nothing was fetched into it. Ends with ``SyncSession/accountChanged(at:)``, when its user is
    /// back; open another file for the user of now.
    case otherAccount
    /// The file has records that were made while nobody was signed in, and the app has not said that the user of now
    /// gets them. Nothing of it was sent. Ends with a restart after it has.
    case unclaimedRecords
    /// The service refuses this app or this database. Ends with a restart, if the cause is gone.
    case refused(SyncFailure)
    /// The same failure so many times in a row. Ends with a restart.
    case retriesExhausted(SyncFailure)
    /// A resolver or policy of the app asked for it, for example because a record is newer than the
    /// app.
    case requested(String)
    /// This device could not read or write its own file.
    case localStorage(String)

    /// One sentence for a person.
    public var summary: String {
        switch self {
        case .account: "Sign in to sync; your changes are kept on this device."
        case .otherAccount:
            "Another account is signed in; the changes of the former one are kept on this device."
        case .unclaimedRecords:
            "Records were made on this device before anybody signed in; say whether they are yours."
        case .refused(let failure): "The service refuses this app: \(failure.code)."
        case .retriesExhausted(let failure): "The service keeps failing: \(failure.code)."
        case .requested(let reason): reason
        case .localStorage(let reason): "The cache on this device failed: \(reason)"
        }
    }
}
