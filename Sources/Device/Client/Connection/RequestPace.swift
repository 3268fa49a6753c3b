import StratusRuntime

/// The time limits and retries of one operation's requests, from its configuration.
struct RequestPace: Sendable {
    /// The account change (``CloudConnection/accountChangeCount``) after which the operation began:
    /// all its requests are made for that account. Nil until its first sender is made.
    var accountChangeCount: Int?
    /// Seconds that one request may take.
    var requestSeconds: Double = 60
    /// When the operation must end, on the monotonic clock; nil means no limit.
    var deadlineUptimeSeconds: Double?
    /// Whether transient errors are retried here instead of being thrown.
    var retriesTransientErrors = false

    /// The pauses before retries.
    static let backoff = Backoff(firstSeconds: 1, longestSeconds: 60)
}
