import Testing

@testable import StratusSync

@Suite struct PacerTests {
    @Test func backoffDoublesOnFailureAndShrinksOnSuccess() {
        var pacer = Pacer(SyncSettings())
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
        var pacer = Pacer(SyncSettings())
        pacer.failed(at: 100, retryAfterSeconds: 1_000)
        #expect(pacer.readyUptimeSeconds == 1_100)
        pacer.failed(at: 200, retryAfterSeconds: 1)
        #expect(pacer.readyUptimeSeconds == 208)
        // Also over failures that say nothing, and over a restart.
        pacer.failed(at: 300, retryAfterSeconds: 1_000)
        pacer.failed(at: 400)
        pacer.reset(at: 500)
        #expect(pacer.readyUptimeSeconds == 1_300)
        pacer.reset(at: 2_000)
        #expect(pacer.readyUptimeSeconds <= 2_000)
    }

    @Test func zeroMinimumDelayWaitsOnlyAfterFailure() {
        var settings = SyncSettings()
        settings.minimumDelaySeconds = 0
        var pacer = Pacer(settings)
        pacer.succeeded(at: 5)
        #expect(pacer.readyUptimeSeconds == 5)
        pacer.failed(at: 6)
        #expect(pacer.delaySeconds == 1)
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
        // A small batch says nothing of what is taken.
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
