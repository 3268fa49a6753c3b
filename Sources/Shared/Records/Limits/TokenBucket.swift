/// A token bucket: allows a burst, and a steady rate after it.
///
/// Time is an argument, in milliseconds of any clock; one that goes back adds nothing.
///
/// ```swift
/// var bucket = TokenBucket(atMilliseconds: 0)
/// let rate = TokenBucket.Rate(perSecond: 2, burst: 10)
/// bucket.fill(rate, atMilliseconds: 0)
/// if bucket.tokens >= 1 { bucket.take(1, debtLimit: 0) }
/// ```
package struct TokenBucket: Hashable, Sendable {
    /// How fast a bucket fills, and how much it holds.
    package struct Rate: Hashable, Sendable {
        package var perSecond: Double
        package var burst: Double

        package init(perSecond: Double, burst: Double) {
            self.perSecond = perSecond
            self.burst = burst
        }
    }

    /// The tokens in the bucket; a negative number is a debt.
    package private(set) var tokens: Double
    package private(set) var filledMilliseconds: Int64

    /// A full bucket.
    package init(atMilliseconds now: Int64) {
        tokens = .greatestFiniteMagnitude
        filledMilliseconds = now
    }

    /// Seconds since the bucket was last filled; 0 if the clock went back.
    package func secondsSinceFilled(atMilliseconds now: Int64) -> Double {
        max(0, Double(now - filledMilliseconds) / 1_000)
    }

    /// Adds the tokens of the time since the last call, up to the burst.
    package mutating func fill(_ rate: Rate, atMilliseconds now: Int64) {
        let seconds = secondsSinceFilled(atMilliseconds: now)
        tokens = min(tokens + seconds * rate.perSecond, rate.burst)
        filledMilliseconds = max(now, filledMilliseconds)
    }

    /// Takes tokens, on credit down to a limit if necessary.
    package mutating func take(_ count: Double, debtLimit: Double) {
        tokens = max(tokens - count, min(tokens, -debtLimit))
    }

    /// Gives tokens back, up to the burst.
    package mutating func giveBack(_ count: Double, _ rate: Rate) {
        tokens = min(tokens + count, rate.burst)
    }

    /// Seconds until there are this many tokens; 0 if there are already.
    package func secondsUntil(_ count: Double, _ rate: Rate) -> Double {
        max(0, (count - tokens) / rate.perSecond)
    }
}
