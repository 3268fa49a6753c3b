import StratusRuntime

/// The result of an app's work on a notification: the answer of `didReceiveRemoteNotification`.
///
/// Answer truthfully: `newData` when something new was fetched, `noData` when there was nothing,
/// `failed` when fetching failed. The names and raw values are `UIBackgroundFetchResult`'s.
public enum RemoteNotificationResult: UInt, Sendable {
    /// Something new was fetched. Not truthful if nothing was fetched through the connection.
    case newData = 0
    /// There was nothing new. Not truthful if a change feed brought changes through the connection.
    case noData = 1
    /// Fetching failed. An answer in time is not penalized.
    case failed = 2
}

/// How an app dealt with one notification.
public struct RemoteNotificationReport: Sendable {
    /// The notification that was passed to the app.
    public let notification: RemoteNotification
    /// What the app answered; `failed` when it did not answer in time.
    public let result: RemoteNotificationResult
    /// Seconds from the notification to the answer.
    public let seconds: Double
    /// Whether the answer came within the limit.
    public let isInTime: Bool
    /// Whether the answer agrees with what the app fetched meanwhile through this connection.
    public let isTruthful: Bool
}

/// How many notifications an app gets: fewer when it answers late or not truthfully.
///
/// Each such answer doubles the pause before the next notification, from one second to a minute;
/// notifications that arrive during a pause are merged into one for each subscription. A good
/// answer ends the pauses. This models how Apple's system limits an app's background notifications;
/// Apple's numbers are not public.
struct NotificationBudget: Hashable, Sendable {
    /// Seconds before the next notification may be delivered.
    private(set) var pauseSeconds: Double = 0
    private var backoff = Backoff(firstSeconds: 1, longestSeconds: 60)

    mutating func answered(isGood: Bool) {
        if isGood { backoff.reset() }
        pauseSeconds = isGood ? 0 : backoff.nextSeconds()
    }
}
