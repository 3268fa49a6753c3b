import Logging
import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Synchronization
import Testing

@testable import StratusService

@Suite struct ThrottleTests {
    private final class Clock: Sendable {
        private let milliseconds = Mutex<Int64>(1_000_000)
        func advance(seconds: Double) { milliseconds.withLock { $0 += Int64(seconds * 1_000) } }
        var now: Int64 { milliseconds.withLock { $0 } }
    }

    private let clock = Clock()
    private let alice = Throttle.Sender.user(
        "_alice", in: ContainerAddress(container: "c", environment: .development))
    private let bob = Throttle.Sender.user(
        "_bob", in: ContainerAddress(container: "c", environment: .development))

    private func throttle(capacity: Int = 65_536) -> Throttle {
        var limits = Limits()
        limits.requestsPerSecond = 10
        limits.requestsInBurst = 20
        limits.badRequestsBeforePenalty = 5
        return Throttle(
            limits: limits, world: .init(uptimeSeconds: { [clock] in Double(clock.now) / 1_000 }),
            capacity: capacity)
    }

    /// How many requests are admitted at once.
    private func admitted(_ throttle: Throttle, _ sender: Throttle.Sender) -> Int {
        var count = 0
        // A refusal is the end of the count.
        while count < 10_000, (try? throttle.admit(sender)) != nil { count += 1 }
        return count
    }

    /// Expects that none of Alice's requests is admitted for this many seconds, and one after some more.
    private func expectNext(
        _ throttle: Throttle, notWithinSeconds seconds: Double, butAfterAnother more: Double
    ) {
        clock.advance(seconds: seconds)
        #expect(admitted(throttle, alice) == 0)
        clock.advance(seconds: more)
        #expect(admitted(throttle, alice) == 1)
    }

    @Test func burstIsAdmittedThenTheRate() {
        let throttle = throttle()
        #expect(admitted(throttle, alice) == 20)
        clock.advance(seconds: 0.5)
        #expect(admitted(throttle, alice) == 5)
        clock.advance(seconds: 3_600)
        #expect(admitted(throttle, alice) == 20)
    }

    @Test func throttledErrorHasRetryAfter() throws {
        let throttle = throttle()
        _ = admitted(throttle, alice)
        throttle.charge(alice, 9)
        let error = #expect(throws: ServiceError.self) { try throttle.admit(alice) }
        #expect(error?.code == .throttled)
        #expect(error?.frameworkCode == .requestRateLimited)
        let seconds = try #require(error?.retryAfterSeconds)
        #expect(seconds == 1)
        clock.advance(seconds: seconds)
        try throttle.admit(alice)
    }

    @Test func sendersHaveSeparateRateLimits() throws {
        let throttle = throttle()
        _ = admitted(throttle, alice)
        #expect(admitted(throttle, bob) == 20)
    }

    @Test func largeRequestIsAdmittedOnCredit() throws {
        let throttle = throttle()
        try throttle.admit(alice)
        throttle.charge(alice, 1_000_000)
        // The debt is at most one burst: 20 tokens and the one of the request.
        expectNext(throttle, notWithinSeconds: 2, butAfterAnother: 0.1)
    }

    @Test func backwardClockKeepsTheTokens() {
        let throttle = throttle()
        _ = admitted(throttle, alice)
        clock.advance(seconds: -100)
        #expect(admitted(throttle, alice) == 0)
        clock.advance(seconds: 101)
        #expect(admitted(throttle, alice) == 10)
    }

    @Test(arguments: [
        (4, 20), (5, 10), (9, 10), (10, 5), (15, 2), (20, 1), (25, 1), (1_000, 1),
    ])
    func consecutiveBadRequestsHalveTheBurst(bad: Int, burst: Int) {
        let throttle = throttle()
        for _ in 0..<bad { throttle.recordOutcome(of: alice, wasBad: true) }
        #expect(admitted(throttle, alice) == burst)
    }

    @Test func rateIsHalvedAtMostFiveTimes() {
        let throttle = throttle()
        for _ in 0..<1_000 { throttle.recordOutcome(of: alice, wasBad: true) }
        #expect(admitted(throttle, alice) == 1)
        // A thirty-second of ten a second: one in 3.2 seconds.
        expectNext(throttle, notWithinSeconds: 3.1, butAfterAnother: 0.2)
    }

    @Test func goodRequestsAndTimeRestoreTheRate() {
        let good = throttle()
        for _ in 0..<10 { good.recordOutcome(of: alice, wasBad: true) }
        #expect(admitted(good, alice) == 5)
        for _ in 0..<5 { good.recordOutcome(of: alice, wasBad: false) }
        clock.advance(seconds: 60)
        #expect(admitted(good, alice) == 20)

        let patient = throttle()
        for _ in 0..<20 { patient.recordOutcome(of: alice, wasBad: true) }
        clock.advance(seconds: 61)
        #expect(admitted(patient, alice) == 10)
        clock.advance(seconds: 61)
        #expect(admitted(patient, alice) == 20)
    }

    @Test func occasionalBadRequestsKeepTheRate() {
        let throttle = throttle()
        for number in 0..<1_000 { throttle.recordOutcome(of: alice, wasBad: number % 2 == 0) }
        #expect(admitted(throttle, alice) == 20)
    }

    @Test func memoryIsLimitedAndKeepsSendersInDebt() {
        let throttle = throttle(capacity: 1_600)
        throttle.charge(alice, 40)
        for number in 0..<20_000 {
            // Full again before the next check, so that there is always a sender to forget.
            try? throttle.admit(.address("10.0.\(number / 256).\(number % 256)"))
            clock.advance(seconds: 0.000_1)
            if number % 1_000 == 0 { throttle.charge(alice, 0.001) }
        }
        #expect(throttle.count <= 1_600)
        #expect(admitted(throttle, alice) == 0)
    }

    @Test func transferLimitThrottlesContainerUntilMidnight() throws {
        let meter = TransferMeter(logger: Logger(label: "test"))
        let trails = ContainerAddress(container: "c", environment: .development)
        let other = ContainerAddress(container: "d", environment: .development)
        let noon: Int64 = 12 * 3600 * 1000
        meter.add(600, to: trails, limitBytes: 1_000, at: noon)
        try meter.check(trails, limitBytes: 1_000, at: noon)
        meter.add(400, to: trails, limitBytes: 1_000, at: noon)
        try meter.check(other, limitBytes: 1_000, at: noon)
        try meter.check(trails, limitBytes: 0, at: noon)
        let error = #expect(throws: ServiceError.self) {
            try meter.check(trails, limitBytes: 1_000, at: noon)
        }
        #expect(error?.code == .throttled && error?.retryAfterSeconds == 12 * 3600)
        try meter.check(trails, limitBytes: 1_000, at: 2 * noon)
        meter.add(1, to: trails, limitBytes: 1_000, at: 2 * noon)
        try meter.check(trails, limitBytes: 2, at: 2 * noon)
    }

    @Test func wallClockChangeAddsNoTokens() throws {
        let wall = Clock()
        var limits = Limits()
        limits.requestsInBurst = 3
        let throttle = Throttle(
            limits: limits,
            world: .init(
                nowMilliseconds: { wall.now }, uptimeSeconds: { 1_000 }))
        #expect(admitted(throttle, alice) == 3)
        wall.advance(seconds: 3_600)
        #expect(admitted(throttle, alice) == 0)
    }
}
