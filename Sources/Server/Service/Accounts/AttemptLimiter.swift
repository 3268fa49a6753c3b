import StratusRuntime
import Synchronization

/// Counts attempts per key in a table of fixed size: memory is bounded whoever knocks.
///
/// Each place of the table is a token bucket; keys share one when their hashes meet, which an attacker
/// cannot arrange, since the hash is seeded anew in every process.
final class AttemptLimiter: Sendable {
    private static let places = 16_384

    private let rate: TokenBucket.Rate
    private let buckets = Mutex(
        [TokenBucket](repeating: TokenBucket(atMilliseconds: 0), count: places))

    /// - Parameters:
    ///   - burst: How many attempts are free at first.
    ///   - secondsPerAttempt: How long one takes to come back.
    init(burst: Double, secondsPerAttempt: Double) {
        rate = TokenBucket.Rate(perSecond: 1 / secondsPerAttempt, burst: burst)
    }

    /// Counts an attempt.
    ///
    /// - Returns: nil when it may be made, else in how many seconds the next one may.
    func take(_ key: String, nowMilliseconds: Int64) -> Double? {
        buckets.withLock { buckets in
            let place = Self.place(of: key)
            buckets[place].fill(rate, atMilliseconds: nowMilliseconds)
            let seconds = buckets[place].secondsUntil(1, rate)
            guard seconds <= 0 else { return seconds }
            buckets[place].take(1, debtLimit: 0)
            return nil
        }
    }

    /// Takes an attempt back: it succeeded.
    func giveBack(_ key: String) {
        buckets.withLock { buckets in
            buckets[Self.place(of: key)].giveBack(1, rate)
        }
    }

    private static func place(of key: String) -> Int {
        Int(UInt(bitPattern: key.hashValue) % UInt(places))
    }
}
