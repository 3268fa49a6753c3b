import StratusRecords
import StratusRuntime
import Synchronization

/// How fast each sender may ask, or move bytes: a token bucket for each.
///
/// A request is admitted when its sender's bucket holds a token, and then takes as many tokens as it costs
/// (``EndpointRules/cost``), on credit if necessary, so that no body is read for nothing. A sender whose requests fail
/// in series is served at a half, a quarter … a thirty-second of the rate. Time is measured by the monotonic clock.
///
/// Memory is bounded: buckets that are full again carry no information and are removed first, then those that will be
/// full soonest; a flood of new senders does not remove senders in debt.
package final class Throttle: Sendable {
    /// The kinds of senders.
    package enum Sender: Hashable, Sendable {
        case user(String, in: ContainerAddress)
        /// A network address, or a device if there is no network.
        case address(String)
        /// Senders at a network address without credentials that were valid recently.
        case strangers(String)
        /// Credentials that failed, from one network address.
        case credentials(Int)
        /// Senders without a user who send an API token.
        case apiToken(String)
    }

    /// The rates of senders.
    struct Rates: Sendable {
        var user: TokenBucket.Rate
        var address: TokenBucket.Rate
        var apiToken: TokenBucket.Rate

        fileprivate static let credentials = TokenBucket.Rate(perSecond: 0.1, burst: 5)

        fileprivate subscript(sender: Sender) -> TokenBucket.Rate {
            switch sender {
            case .user: user
            case .address, .strangers: address
            case .credentials: Self.credentials
            case .apiToken: apiToken
            }
        }
    }

    /// A sender with its hash, which is needed more than once per request: its texts are hashed once.
    private struct Key: Hashable {
        let sender: Sender
        let hash: Int

        init(_ sender: Sender) {
            self.sender = sender
            hash = sender.hashValue
        }

        func hash(into hasher: inout Hasher) { hasher.combine(hash) }
    }

    private struct Bucket {
        var tokens: TokenBucket
        /// Failed requests, less those that successes and time made up for.
        var strikes: Double = 0
    }

    /// A part of the senders under a lock of its own.
    private final class Shard: Sendable {
        let buckets = Mutex<[Key: Bucket]>([:])
    }

    /// Parts of the senders: requests of different senders rarely wait for the same lock.
    private static let shardCount = 16
    /// After this time strikes count half.
    private static let strikeHalfLifeSeconds = 60.0
    /// A good request makes up for this many bad ones.
    private static let strikesPerGoodRequest = 2.0
    /// A sender keeps at least a thirty-second of its rates.
    private static let maximumHalvings = 5.0
    /// What a request with bad credentials costs its address.
    static let badCredentialsCost = 10.0

    private let rates: Rates
    private let badRequestsBeforePenalty: Double
    private let bucketsPerShard: Int
    private let world: World
    private let shards = (0..<Throttle.shardCount).map { _ in Shard() }

    /// - Parameters:
    ///   - rates: The rates of senders; nil for those of requests.
    ///   - capacity: The most buckets that are remembered.
    init(limits: Limits, world: World, rates: Rates? = nil, capacity: Int = 65_536) {
        self.rates = rates ?? Rates(requests: limits)
        badRequestsBeforePenalty = Double(limits.badRequestsBeforePenalty)
        self.world = world
        bucketsPerShard = max(1, capacity / Self.shardCount)
    }

    /// Takes one token.
    ///
    /// - Throws: ``ServiceError`` THROTTLED, with the time until there is one.
    func admit(_ sender: Sender) throws(ServiceError) {
        let wait: Double? = change(sender) { bucket, rate in
            let seconds = bucket.tokens.secondsUntil(1, rate)
            guard seconds <= 0 else { return seconds }
            bucket.tokens.take(1, debtLimit: 0)
            return nil
        }
        if let wait { throw .throttled(afterSeconds: wait) }
    }

    /// Refuses a sender that is remembered and has no token left; takes none.
    ///
    /// - Throws: ``ServiceError`` THROTTLED, with the time until there is one.
    func check(_ sender: Sender) throws(ServiceError) {
        let wait: Double? = changeIfKnown(sender) { bucket, rate in
            bucket.tokens.secondsUntil(1, rate)
        }
        if let wait, wait > 0 { throw .throttled(afterSeconds: wait) }
    }

    /// Whether a sender is remembered.
    func remembers(_ sender: Sender) -> Bool { changeIfKnown(sender) { _, _ in true } ?? false }

    /// Forgives some failed requests of a sender that is remembered.
    func forgive(_ sender: Sender) {
        _ = changeIfKnown(sender) { bucket, rate in
            bucket.strikes = max(0, bucket.strikes - Self.strikesPerGoodRequest)
            bucket.tokens.giveBack(1, rate)
        }
    }

    /// Takes the cost of a request beyond the token of its admission.
    func charge(_ sender: Sender, _ cost: Double) {
        guard cost > 0 else { return }
        change(sender) { bucket, rate in
            // No sender owes more than a whole burst.
            bucket.tokens.take(cost, debtLimit: rate.burst)
        }
    }

    /// Remembers how a request ended.
    func recordOutcome(of sender: Sender, wasBad: Bool) {
        change(sender) { bucket, _ in
            bucket.strikes =
                wasBad ? bucket.strikes + 1 : max(0, bucket.strikes - Self.strikesPerGoodRequest)
        }
    }

    /// Buckets that are remembered now.
    var count: Int {
        shards.reduce(0) { count, shard in count + shard.buckets.withLock { $0.count } }
    }

    // MARK: Buckets

    @discardableResult
    private func change<Outcome: Sendable>(
        _ sender: Sender, _ body: (inout Bucket, TokenBucket.Rate) -> Outcome
    ) -> Outcome {
        let now = world.uptimeMilliseconds
        let key = Key(sender)
        return shard(of: key).buckets.withLock { buckets in
            if let place = buckets.index(forKey: key) {
                let rate = fill(&buckets.values[place], of: sender, at: now)
                return body(&buckets.values[place], rate)
            }
            if buckets.count >= bucketsPerShard { evict(from: &buckets, at: now) }
            var bucket = Bucket(tokens: TokenBucket(atMilliseconds: now))
            let rate = fill(&bucket, of: sender, at: now)
            defer { buckets[key] = bucket }
            return body(&bucket, rate)
        }
    }

    private func changeIfKnown<Outcome: Sendable>(
        _ sender: Sender, _ body: (inout Bucket, TokenBucket.Rate) -> Outcome
    ) -> Outcome? {
        let now = world.uptimeMilliseconds
        let key = Key(sender)
        return shard(of: key).buckets.withLock { buckets in
            guard let place = buckets.index(forKey: key) else { return nil }
            let rate = fill(&buckets.values[place], of: sender, at: now)
            return body(&buckets.values[place], rate)
        }
    }

    private func shard(of key: Key) -> Shard {
        shards[Int(UInt(bitPattern: key.hash) % UInt(Self.shardCount))]
    }

    /// Adds the tokens and removes the strikes for the time since the last call.
    private func fill(
        _ bucket: inout Bucket, of sender: Sender, at now: Int64
    ) -> TokenBucket.Rate {
        let seconds = bucket.tokens.secondsSinceFilled(atMilliseconds: now)
        bucket.strikes *= pow2(-seconds / Self.strikeHalfLifeSeconds)
        let halvings = min(
            (bucket.strikes / badRequestsBeforePenalty).rounded(.down),
            Self.maximumHalvings)
        var rate = rates[sender]
        rate.perSecond *= pow2(-halvings)
        rate.burst = max(1, rate.burst * pow2(-halvings))
        bucket.tokens.fill(rate, atMilliseconds: now)
        return rate
    }

    /// Removes an eighth of the shard at least, so that a flood of senders does not cause a search each time.
    private func evict(from buckets: inout [Key: Bucket], at now: Int64) {
        var waits: [(key: Key, seconds: Double)] = []
        for (key, bucket) in buckets {
            var bucket = bucket
            let rate = fill(&bucket, of: key.sender, at: now)
            let seconds = bucket.tokens.secondsUntil(rate.burst, rate)
            if seconds <= 0, bucket.strikes < 1 {
                buckets[key] = nil
            } else {
                waits.append((key, seconds + bucket.strikes))
            }
        }
        let excess = buckets.count - bucketsPerShard * 7 / 8
        guard excess > 0 else { return }
        waits.sort { $0.seconds < $1.seconds }
        for (key, _) in waits.prefix(excess) { buckets[key] = nil }
    }
}

extension Throttle.Rates {
    /// The rates of requests.
    init(requests limits: Limits) {
        user = TokenBucket.Rate(
            perSecond: Double(limits.requestsPerSecond), burst: Double(limits.requestsInBurst))
        address = TokenBucket.Rate(
            perSecond: Double(limits.requestsPerSecondPerAddress),
            burst: Double(limits.requestsInBurstPerAddress))
        apiToken = address
    }

    /// The rates of transferred bytes.
    init(transfers limits: Limits) {
        user = TokenBucket.Rate(
            perSecond: Double(limits.transferBytesPerSecond),
            burst: Double(limits.transferBytesInBurst))
        address = TokenBucket.Rate(
            perSecond: Double(limits.transferBytesPerSecondPerAddress),
            burst: Double(limits.transferBytesInBurstPerAddress))
        apiToken = TokenBucket.Rate(
            perSecond: Double(limits.transferBytesPerSecondPerToken),
            burst: Double(limits.transferBytesInBurstPerToken))
    }
}

/// 2 to the power of a number from -1,074 up; exact for whole ones.
private func pow2(_ exponent: Double) -> Double {
    guard exponent > -1_074 else { return 0 }
    let whole = exponent.rounded(.down)
    let rest = exponent - whole
    // A straight line between two powers is close enough: strikes need no exact half-life.
    return Double(sign: .plus, exponent: Int(whole), significand: 1 + rest)
}

extension ServiceError {
    static func throttled(afterSeconds seconds: Double) -> ServiceError {
        ServiceError(
            .throttled, "The sender has sent too many requests; wait for retryAfter seconds.",
            retryAfterSeconds: max(0.1, (seconds * 10).rounded(.up) / 10),
            frameworkCode: .requestRateLimited)
    }

    /// Too many requests wait already: of this user, or of all.
    static let tooManyWaiting = ServiceError(
        .tryAgainLater,
        "Too many of the sender's or all requests wait for their turn; send fewer at a time.",
        retryAfterSeconds: 1,
        frameworkCode: .zoneBusy)
}
