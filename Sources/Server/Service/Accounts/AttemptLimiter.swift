import StratusRecords
import Synchronization

/// Counts attempts per key in a table of fixed size, so that its memory is bounded for any number of keys.
///
/// Each place of the table is a token bucket. Keys whose hashes collide share one; an attacker cannot arrange that,
/// since the hash has a different seed in every process.
final class AttemptLimiter: Sendable {
    /// Token buckets in the table: two keys rarely share one.
    private static let places = 16_384

    private let rate: TokenBucket.Rate
    /// Empty until the first attempt: most clouds in a test's process never see one.
    private let buckets = Mutex<[TokenBucket]>([])

    /// - Parameters:
    ///   - burst: How many attempts are free at first.
    ///   - secondsPerAttempt: Seconds after which one more attempt is free.
    init(burst: Double, secondsPerAttempt: Double) {
        rate = TokenBucket.Rate(perSecond: 1 / secondsPerAttempt, burst: burst)
    }

    /// Counts an attempt.
    ///
    /// - Returns: Nil when the attempt may be made, else the seconds until the next one may.
    func take(_ key: String, nowMilliseconds: Int64) -> Double? {
        buckets.withLock { buckets in
            if buckets.isEmpty {
                buckets = Array(
                    repeating: TokenBucket(atMilliseconds: 0), count: Self.places)
            }
            let place = Self.place(of: key)
            buckets[place].fill(rate, atMilliseconds: nowMilliseconds)
            let seconds = buckets[place].secondsUntil(1, rate)
            guard seconds <= 0 else { return seconds }
            buckets[place].take(1, debtLimit: 0)
            return nil
        }
    }

    /// Takes an attempt back, because it succeeded.
    func giveBack(_ key: String) {
        buckets.withLock { buckets in
            buckets[Self.place(of: key)].giveBack(1, rate)
        }
    }

    private static func place(of key: String) -> Int {
        Int(UInt(bitPattern: key.hashValue) % UInt(places))
    }
}
