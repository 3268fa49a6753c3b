import StratusRuntime

/// How long to wait between operations: not at all for a few, then so many a second; longer after each
/// failure, slowly shorter again.
///
/// A bucket of tokens sets the pace of a service that is well: a burst at once, then one operation
/// whenever a token comes. After a failure there is a pause as well, which doubles at each further one
/// and loses a third at each success: shortened faster, a client runs into the rate limit again (the
/// lessons of CloudSyncSession). The service's own retry-after always counts, also over a restart.
public struct Pacer: Hashable, Sendable {
    /// The pause that follows the next operation, in seconds.
    public private(set) var delaySeconds: Double

    /// When the pause is over, in seconds of the session's clock.
    private var pauseEndSeconds: Double = 0

    /// What the service asked for last, in seconds of the session's clock; no restart shortens it.
    private var serviceUptimeSeconds = -Double.infinity

    private let minimumSeconds: Double
    private let maximumSeconds: Double
    private let firstRetrySeconds: Double
    /// Nil where there is no bound.
    private let rate: TokenBucket.Rate?
    private var bucket = TokenBucket(atMilliseconds: 0)

    /// The longest that chance adds to a pause after a failure, as a share of it.
    public static let longestJitter = 0.25

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
        // A token that is there but for a rounding is there.
        return max(pauseEndSeconds, filledSeconds + bucket.secondsUntil(1 - 1e-9, rate))
    }

    /// Takes note that an operation begins at this time.
    public mutating func began(at uptimeSeconds: Double) {
        guard let rate else { return }
        bucket.fill(rate, atMilliseconds: Int64((uptimeSeconds * 1_000).rounded()))
        bucket.take(1, debtLimit: 0)
    }

    /// Takes note that an operation succeeded at this time.
    public mutating func succeeded(at uptimeSeconds: Double) {
        delaySeconds = max(minimumSeconds, delaySeconds * 2 / 3)
        // Once nothing but a hundredth of a second is left of a penalty, it is over.
        if delaySeconds < 0.01 { delaySeconds = minimumSeconds }
        pauseEndSeconds = uptimeSeconds + delaySeconds
    }

    /// Takes note that an operation failed at this time, and how long the service asked to wait.
    ///
    /// - Parameters:
    ///   - uptimeSeconds: now, by the session's clock.
    ///   - retryAfterSeconds: how long the service asked to wait.
    ///   - ceilingSeconds: a shorter ceiling than the settings' own, for failures that cost the
    ///     service nothing.
    ///   - random: a number from 0 up to 1 that lengthens this pause by up to ``longestJitter``, so
    ///     that many devices do not come back in step.
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

    /// Lets the next operation start at once, as at a restart by hand, unless the service asked to
    /// wait longer.
    ///
    /// - Parameter isObedient: false for a single request by hand, whatever the service said.
    /// - Parameter uptimeSeconds: now, by the session's clock.
    public mutating func reset(at uptimeSeconds: Double, isObedient: Bool = true) {
        if !isObedient { serviceUptimeSeconds = -.infinity }
        delaySeconds = minimumSeconds
        pauseEndSeconds = max(min(pauseEndSeconds, uptimeSeconds), serviceUptimeSeconds)
    }
}
