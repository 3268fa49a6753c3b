import StratusRecords
import Testing

@Suite struct TokenBucketTests {
    private let rate = TokenBucket.Rate(perSecond: 2, burst: 10)

    private func full(atMilliseconds now: Int64) -> TokenBucket {
        var bucket = TokenBucket(atMilliseconds: now)
        bucket.fill(rate, atMilliseconds: now)
        return bucket
    }

    @Test func fullBucketHoldsABurstAndFillsWithTime() {
        var bucket = full(atMilliseconds: 0)
        #expect(bucket.tokens == 10)
        bucket.take(10, debtLimit: 0)
        #expect(bucket.secondsUntil(1, rate) == 0.5)
        bucket.fill(rate, atMilliseconds: 1_500)
        #expect(bucket.tokens == 3)
    }

    @Test func backwardClockAddsNoTokens() {
        var bucket = full(atMilliseconds: 10_000)
        bucket.take(10, debtLimit: 0)
        bucket.fill(rate, atMilliseconds: 0)
        bucket.fill(rate, atMilliseconds: 10_000)
        #expect(bucket.tokens == 0)
    }

    @Test func tokenDebtStopsAtItsLimit() {
        var bucket = full(atMilliseconds: 0)
        bucket.take(100, debtLimit: 10)
        #expect(bucket.tokens == -10)
        bucket.take(1, debtLimit: 0)
        #expect(bucket.tokens == -10)
    }
}
