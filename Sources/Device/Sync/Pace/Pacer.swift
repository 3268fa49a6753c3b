import StratusRecords

/// The pauses between operations: none for a burst, then a rate limit; longer after each failure,
/// then slowly shorter again.
///
/// A token bucket limits the rate while there are no failures: a burst at once, then one operation
/// per token. After a failure there is also a pause, which doubles at each further failure and is
/// reduced by a third at each success: if it were reduced faster, a client would hit the rate limit
/// again (a lesson of CloudSyncSession). The service's retry-after is always obeyed, even over a
/// restart.
public struct Pacer: Hashable, Sendable {
    /// The pause that follows the next operation, in seconds.
    public private(set) var delaySeconds: Double

    /// When the pause ends, in seconds of the session's clock.
    private var pauseEndSeconds: Double = 0

    /// When the service's last retry-after ends, in seconds of the session's clock; a restart does
    /// not shorten it.
    private var serviceUptimeSeconds = -Double.infinity

    private let minimumSeconds: Double
    private let maximumSeconds: Double
    private let firstRetrySeconds: Double
    /// Nil for no limit.
    private let rate: TokenBucket.Rate?
    private var bucket = TokenBucket(atMilliseconds: 0)

    /// The maximum random addition to a pause after a failure, as a fraction of it.
    public static let longestJitter = 0.25

    /// Starts without a pause and with a full burst; the limits are those of the settings.
    public init(_ settings: SyncSettings) {
        minimumSeconds = max(0, settings.minimumDelaySeconds)
        maximumSeconds = max(settings.maximumDelaySeconds, minimumSeconds)
        firstRetrySeconds = max(0, settings.firstRetryDelaySeconds)
        delaySeconds = minimumSeconds
        guard settings.operationsPerSecond.isFinite else {
            rate = nil
            return
        }
        let rate = TokenBucket.Rate(
            perSecond: max(0.001, settings.operationsPerSecond),
            burst: Double(max(1, settings.operationsInBurst)))
        self.rate = rate
        bucket.fill(rate, atMilliseconds: 0)
    }

    /// The earliest time for the next operation, in seconds of the session's clock.
    public var readyUptimeSeconds: Double {
        guard let rate, bucket.tokens < 1 else { return pauseEndSeconds }
        let filledSeconds = Double(bucket.filledMilliseconds) / 1_000
        // Tolerates a rounding error in the number of tokens.
        return max(pauseEndSeconds, filledSeconds + bucket.secondsUntil(1 - 1e-9, rate))
    }

    /// Notes that an operation begins at this time.
    public mutating func began(at uptimeSeconds: Double) {
        guard let rate else { return }
        bucket.fill(rate, atMilliseconds: Int64((uptimeSeconds * 1_000).rounded()))
        bucket.take(1, debtLimit: 0)
    }

    /// Notes that an operation succeeded at this time.
    public mutating func succeeded(at uptimeSeconds: Double) {
        delaySeconds = max(minimumSeconds, delaySeconds * 2 / 3)
        // A penalty of less than a hundredth of a second is dropped.
        if delaySeconds < 0.01 { delaySeconds = minimumSeconds }
        pauseEndSeconds = uptimeSeconds + delaySeconds
    }

    /// Notes that an operation failed at this time, and how long the service asked to wait.
    ///
    /// - Parameters:
    ///   - uptimeSeconds: now, by the session's clock.
    ///   - retryAfterSeconds: how long the service asked to wait.
    ///   - ceilingSeconds: a shorter ceiling than the settings' own, for failures that cost the
    ///     service nothing.
    ///   - random: a number from 0 up to 1 that lengthens this pause by up to ``longestJitter``, so
    ///     that devices do not retry at the same moment.
    public mutating func failed(
        at uptimeSeconds: Double, retryAfterSeconds: Double? = nil, ceilingSeconds: Double? = nil,
        random: Double = 0
    ) {
        let ceiling = max(minimumSeconds, min(maximumSeconds, ceilingSeconds ?? maximumSeconds))
        delaySeconds = min(max(delaySeconds * 2, firstRetrySeconds), ceiling)
        let jitter = delaySeconds * Self.longestJitter * random
        if let retryAfterSeconds {
            serviceUptimeSeconds = uptimeSeconds + retryAfterSeconds + jitter
        }
        pauseEndSeconds = max(uptimeSeconds + delaySeconds + jitter, serviceUptimeSeconds)
    }

    /// Lets the next operation start at once, as at a manual restart, unless the service asked to
    /// wait longer.
    ///
    /// - Parameter isObedient: false ignores the service's retry-after, for a single manual
    ///   request.
    /// - Parameter uptimeSeconds: now, by the session's clock.
    public mutating func reset(at uptimeSeconds: Double, isObedient: Bool = true) {
        if !isObedient { serviceUptimeSeconds = -.infinity }
        delaySeconds = minimumSeconds
        pauseEndSeconds = max(min(pauseEndSeconds, uptimeSeconds), serviceUptimeSeconds)
    }
}
