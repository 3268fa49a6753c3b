import Synchronization

/// Counts attempts per key in a table of fixed size: memory is bounded whoever knocks.
///
/// Each place of the table is a leaky bucket; keys share one when their hashes meet, which an attacker
/// cannot arrange, since the hash is seeded anew in every process.
final class AttemptLimiter: Sendable {
    /// How many attempts are free at first, and how long one takes to come back, in seconds.
    struct Rate: Hashable, Sendable {
        var burst: Double
        var secondsPerAttempt: Double
    }

    private struct Bucket {
        var level: Double = 0
        var milliseconds: Int64 = 0
    }

    private static let places = 16_384

    let rate: Rate
    private let buckets = Mutex([Bucket](repeating: Bucket(), count: places))

    init(_ rate: Rate) {
        self.rate = rate
    }

    /// Counts an attempt.
    ///
    /// - Returns: nil when it may be made, else in how many seconds the next one may.
    func take(_ key: String, nowMilliseconds: Int64) -> Double? {
        buckets.withLock { buckets in
            let place = Self.place(of: key)
            var bucket = buckets[place]
            let elapsed = Double(max(0, nowMilliseconds - bucket.milliseconds)) / 1_000
            bucket.level = max(0, bucket.level - elapsed / rate.secondsPerAttempt)
            bucket.milliseconds = nowMilliseconds
            let isFree = bucket.level + 1 <= rate.burst
            if isFree { bucket.level += 1 }
            buckets[place] = bucket
            return isFree ? nil : (bucket.level + 1 - rate.burst) * rate.secondsPerAttempt
        }
    }

    /// Takes an attempt back: it succeeded.
    func giveBack(_ key: String) {
        buckets.withLock { buckets in
            let place = Self.place(of: key)
            buckets[place].level = max(0, buckets[place].level - 1)
        }
    }

    private static func place(of key: String) -> Int {
        Int(UInt(bitPattern: key.hashValue) % UInt(places))
    }
}
