import Testing

@testable import StratusSync

@Suite struct PacerTests {
    @Test func backoffDoublesOnFailureAndShrinksOnSuccess() {
        var pacer = Pacer(.iCloud)
        #expect(pacer.delaySeconds == 2)
        pacer.succeeded(at: 0)
        #expect(pacer.readyUptimeSeconds == 2)
        pacer.failed(at: 10)
        #expect(pacer.readyUptimeSeconds == 14)
        pacer.failed(at: 20)
        pacer.failed(at: 30)
        #expect(pacer.delaySeconds == 16)
        pacer.succeeded(at: 50)
        #expect(abs(pacer.delaySeconds - 32.0 / 3) < 0.000_1)
        for _ in 0..<10 { pacer.succeeded(at: 60) }
        #expect(pacer.delaySeconds == 2)
    }

    @Test func retryAfterOverridesBackoff() {
        var pacer = Pacer(.iCloud)
        pacer.failed(at: 100, retryAfterSeconds: 1_000)
        #expect(pacer.readyUptimeSeconds == 1_100)
        pacer.failed(at: 200, retryAfterSeconds: 1)
        #expect(pacer.readyUptimeSeconds == 208)
        // The retry-after also survives failures without one, and a restart.
        pacer.failed(at: 300, retryAfterSeconds: 1_000)
        pacer.failed(at: 400)
        pacer.reset(at: 500)
        #expect(pacer.readyUptimeSeconds == 1_300)
        pacer.reset(at: 2_000)
        #expect(pacer.readyUptimeSeconds <= 2_000)
    }

    @Test func burstOfOperationsIsFollowedByTenASecond() {
        var pacer = Pacer(SyncSettings())
        for _ in 0..<20 {
            #expect(pacer.readyUptimeSeconds <= 5)
            pacer.began(at: 5)
            pacer.succeeded(at: 5)
        }
        var now = 5.0
        for _ in 0..<30 {
            now += 0.1
            #expect(abs(pacer.readyUptimeSeconds - now) < 0.001)
            pacer.began(at: now)
            pacer.succeeded(at: now)
        }
        // Two quiet seconds fill the burst again.
        for _ in 0..<20 {
            #expect(pacer.readyUptimeSeconds <= now + 2)
            pacer.began(at: now + 2)
        }
        #expect(pacer.readyUptimeSeconds > now + 2)
    }

    @Test func jitterLengthensPausesAfterFailures() {
        var (early, late) = (Pacer(SyncSettings()), Pacer(SyncSettings()))
        early.failed(at: 0, random: 0)
        late.failed(at: 0, random: 0.999)
        #expect(early.readyUptimeSeconds == 2)
        #expect((2.4...2.5).contains(late.readyUptimeSeconds))
        // Never earlier than the service's retry-after.
        early.failed(at: 10, retryAfterSeconds: 100, random: 0)
        late.failed(at: 10, retryAfterSeconds: 100, random: 0.5)
        #expect(early.readyUptimeSeconds == 110)
        #expect(late.readyUptimeSeconds == 110.5)
        // The random part does not change how the pauses double.
        #expect(late.delaySeconds == 4)
        let session = SyncSession(random: { 0.75 })
        #expect(session.random() == 0.75)
    }

    @Test func pauseBeginsWithFirstFailure() {
        var pacer = Pacer(SyncSettings())
        pacer.succeeded(at: 5)
        #expect(pacer.readyUptimeSeconds == 5)
        pacer.failed(at: 6)
        #expect(pacer.delaySeconds == 2)
        for _ in 0..<20 { pacer.succeeded(at: 7) }
        #expect(pacer.delaySeconds == 0)
    }

    @Test func backoffHasCeiling() {
        var pacer = Pacer(SyncSettings())
        for _ in 0..<30 { pacer.failed(at: 0) }
        #expect(pacer.delaySeconds == 300)
        pacer.failed(at: 0, ceilingSeconds: 30)
        #expect(pacer.delaySeconds == 30)
    }
}

@Suite struct BatchSizeTests {
    @Test func batchLimitHalvesOnRefusalAndGrowsBack() {
        var size = BatchSize(maximum: 400)
        let canShrink = size.refused(itemCount: 400)
        #expect(canShrink)
        #expect(size.itemLimit == 200)
        for _ in 0..<15 { size.accepted(itemCount: 200) }
        #expect(size.itemLimit == 200)
        // A small batch that was accepted does not show that a large one would be.
        size.accepted(itemCount: 3)
        #expect(size.itemLimit == 200)
        size.accepted(itemCount: 200)
        #expect(size.itemLimit == 400)
    }

    @Test func smallRefusedBatchIsHalved() {
        var size = BatchSize(maximum: 400)
        let canShrink = size.refused(itemCount: 7)
        #expect(canShrink)
        #expect(size.itemLimit == 3)
        let canShrinkMore = size.refused(itemCount: 1)
        #expect(!canShrinkMore)
    }
}
