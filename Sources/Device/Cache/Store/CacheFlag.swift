/// Flags of a database or of the file as a whole.
enum CacheFlag: String {
    case databaseToken
    case isSubscriptionSaved
    /// The file's user.
    case userRecordName
    /// A second copy of the user's name, with its digest; see `OwnerCheck`.
    case userCheck
    /// The database's change token has expired.
    case isDatabaseTokenExpired
    /// By how many milliseconds the service's clock is ahead of this device's.
    case clockOffset
    /// By how many milliseconds the times of edits before the first answer were corrected.
    case firstClockOffset
    /// Syncing is turned off.
    case isDisabled
    /// Records were made while no user was signed in, before the file had a user.
    case isMadeByNobody
    /// All zones of the database are being deleted, including those that this device does not know.
    case isErasing
    /// The app requested a fetch of everything: a full answer is fetched after the database's next one.
    case isRefetching
    /// The account's state by the service's last answer: a `CacheAccount`.
    case account
    /// When changes were last fetched, and when one was last confirmed.
    case lastFetch
    case lastSend

    var isOfFile: Bool {
        switch self {
        case .userRecordName, .userCheck, .isDisabled, .isMadeByNobody, .account: true
        default: false
        }
    }
}
