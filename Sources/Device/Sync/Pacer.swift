/// How long to wait between operations: longer after each failure, slowly shorter again.
///
/// The pause doubles at each failure and loses a third at each success: shortened faster, a client
/// runs into the rate limit again (the lessons of CloudSyncSession). The service's own retry-after
/// always counts, also over a restart.
public struct Pacer: Hashable, Sendable {
    /// The pause that follows the next operation, in seconds.
    public private(set) var delaySeconds: Double

    /// The earliest time for the next operation, in seconds of the session's clock.
    public private(set) var readyUptimeSeconds: Double = 0

    /// What the service asked for last, in seconds of the session's clock; no restart shortens it.
    private var serviceUptimeSeconds = -Double.infinity

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
    /// - Parameter retryAfterSeconds: how long the service asked to wait.
    /// - Parameter uptimeSeconds: now, by the session's clock.
    public mutating func failed(
        at uptimeSeconds: Double, retryAfterSeconds: Double? = nil, ceilingSeconds: Double? = nil
    ) {
        let ceiling = max(minimumSeconds, min(maximumSeconds, ceilingSeconds ?? maximumSeconds))
        delaySeconds = min(max(delaySeconds * 2, firstRetrySeconds), ceiling)
        if let retryAfterSeconds { serviceUptimeSeconds = uptimeSeconds + retryAfterSeconds }
        readyUptimeSeconds = max(uptimeSeconds + delaySeconds, serviceUptimeSeconds)
    }

    /// Lets the next operation start at once, as at a restart by hand, unless the service asked to
    /// wait longer.
    ///
    /// - Parameter isObedient: false for a single request by hand, whatever the service said.
    /// - Parameter uptimeSeconds: now, by the session's clock.
    public mutating func reset(at uptimeSeconds: Double, isObedient: Bool = true) {
        if !isObedient { serviceUptimeSeconds = -.infinity }
        delaySeconds = minimumSeconds
        readyUptimeSeconds = max(min(readyUptimeSeconds, uptimeSeconds), serviceUptimeSeconds)
    }
}
