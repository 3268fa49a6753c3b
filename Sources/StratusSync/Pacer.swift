/// How long to wait between operations: longer after each failure, slowly shorter again.
///
/// The pause doubles at each failure and loses a third at each success: shortened faster, a client
/// runs into the rate limit again (the lessons of CloudSyncSession). The service's own retry-after
/// always counts.
public struct Pacer: Hashable, Sendable {
    /// The pause that follows the next operation, in seconds.
    public private(set) var delaySeconds: Double

    /// The earliest time for the next operation, in seconds of the session's clock.
    public private(set) var readyUptimeSeconds: Double = 0

    private let minimumSeconds: Double
    private let maximumSeconds: Double
    private let firstRetrySeconds: Double

    public init(_ settings: SyncSettings) {
        minimumSeconds = max(0, settings.minimumDelaySeconds)
        maximumSeconds = max(settings.maximumDelaySeconds, minimumSeconds)
        firstRetrySeconds = max(0, settings.firstRetryDelaySeconds)
        delaySeconds = minimumSeconds
    }

    /// Takes note that an operation succeeded at this time.
    public mutating func succeeded(at uptimeSeconds: Double) {
        delaySeconds = max(minimumSeconds, delaySeconds * 2 / 3)
        // Once nothing but a hundredth of a second is left of a penalty, it is over.
        if delaySeconds < 0.01 { delaySeconds = minimumSeconds }
        readyUptimeSeconds = uptimeSeconds + delaySeconds
    }

    /// Takes note that an operation failed at this time, and how long the service asked to wait.
    ///
    /// - Parameter ceilingSeconds: a shorter ceiling than the settings' own, for failures that cost
    ///   the service nothing.
    public mutating func failed(
        at uptimeSeconds: Double, retryAfterSeconds: Double? = nil, ceilingSeconds: Double? = nil
    ) {
        let ceiling = max(minimumSeconds, min(maximumSeconds, ceilingSeconds ?? maximumSeconds))
        delaySeconds = min(max(delaySeconds * 2, firstRetrySeconds), ceiling)
        readyUptimeSeconds = uptimeSeconds + max(delaySeconds, retryAfterSeconds ?? 0)
    }

    /// Lets the next operation start after the shortest pause, as at a restart by hand.
    public mutating func reset(at uptimeSeconds: Double) {
        delaySeconds = minimumSeconds
        readyUptimeSeconds = min(readyUptimeSeconds, uptimeSeconds)
    }
}
