import StratusRuntime
import Synchronization
import Testing

@Suite struct WorldTests {
    private struct TooLate: Error, Equatable {}

    @Test func uuidsAreVersionFourAndFollowTheRandomBytes() {
        var world = World.live
        world.randomBytes = { Array(repeating: 0xFF, count: $0) }
        #expect(world.makeUUID().uuidString == "FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF")
        #expect(World.live.makeUUID() != World.live.makeUUID())
    }

    @Test func randomNumbersLieBetweenZeroAndOne() {
        var world = World.live
        world.randomBytes = { Array(repeating: 0xFF, count: $0) }
        #expect(world.random() < 1)
        world.randomBytes = { Array(repeating: 0, count: $0) }
        #expect(world.random() == 0)
    }

    @Test func durationClampsAnyNumberOfSeconds() {
        #expect(World.duration(ofSeconds: .nan) == .zero)
        #expect(World.duration(ofSeconds: -1) == .zero)
        #expect(World.duration(ofSeconds: .infinity) == .seconds(1_000_000_000))
        #expect(World.duration(ofSeconds: 0.5) == .milliseconds(500))
    }

    @Test func timeoutCancelsWorkThatIsTooLate() async {
        var world = World.live
        world.timeout = { _ in }
        let wasCancelled = Atomic(false)
        await #expect(throws: TooLate()) {
            try await world.withTimeout(seconds: 1, throwing: TooLate()) {
                do {
                    try await Task.sleep(for: .seconds(3_600))
                } catch {
                    wasCancelled.store(true, ordering: .relaxed)
                    throw error
                }
            }
        }
        let isCancelled = wasCancelled.load(ordering: .relaxed)
        #expect(isCancelled)
    }

    @Test func workInTimeReturnsItsValueOrError() async throws {
        var world = World.live
        world.timeout = { _ in try await Task.sleep(for: .seconds(3_600)) }
        #expect(try await world.withTimeout(seconds: 1, throwing: TooLate()) { 7 } == 7)
        await #expect(throws: CancellationError.self) {
            try await world.withTimeout(seconds: 1, throwing: TooLate()) {
                throw CancellationError()
            }
        }
        await #expect(throws: TooLate()) {
            try await world.withTimeout(seconds: 0, throwing: TooLate()) { 7 }
        }
    }

    @Test func transferTimesOutOnlyWhenStalled() async throws {
        let progress = TransferProgress()
        let waits = Atomic(0)
        var world = World.live
        world.timeout = { _ in
            // The transfer progresses during the first two waits and stops in the third.
            if waits.add(1, ordering: .relaxed).newValue <= 2 { progress.advance() }
        }
        await #expect(throws: TooLate()) {
            try await progress.watch(idleSeconds: 1, in: world, throwing: TooLate()) {
                try await Task.sleep(for: .seconds(3_600))
            }
        }
        #expect(waits.load(ordering: .relaxed) == 3)
    }

    @Test func advancingTransferEndsAfterItsTotalTime() async {
        let progress = TransferProgress()
        let waited = Mutex<[Double]>([])
        var world = World.live
        world.timeout = { seconds in
            progress.advance()
            waited.withLock { $0.append(seconds) }
        }
        await #expect(throws: TooLate()) {
            try await progress.watch(
                idleSeconds: 2, totalSeconds: 5, in: world, throwing: TooLate()
            ) {
                try await Task.sleep(for: .seconds(3_600))
            }
        }
        #expect(waited.withLock { $0 } == [2, 2, 1])
    }
}

@Suite struct BackoffTests {
    @Test func backoffDoublesUpToMaximumAndResets() {
        var backoff = Backoff(firstSeconds: 1, longestSeconds: 5)
        #expect((0..<4).map { _ in backoff.nextSeconds() } == [1, 2, 4, 5])
        backoff.reset()
        #expect(backoff.nextSeconds() == 1)
    }

    @Test func jitterTakesUpToHalfOfThePause() {
        var backoff = Backoff(firstSeconds: 8, longestSeconds: 8)
        #expect(backoff.nextSeconds(random: 0) == 4)
        #expect(backoff.nextSeconds(random: 0.5) == 6)
    }
}

@Suite struct LRUCacheTests {
    @Test func leastRecentlyUsedEntryIsEvicted() {
        var cache = LRUCache<String, Int>(capacity: 2)
        cache["a"] = 1
        cache["b"] = 2
        #expect(cache["a"] == 1)
        cache["c"] = 3
        #expect(cache["b"] == nil)
        #expect(cache["a"] == 1)
        #expect(cache["c"] == 3)
        #expect(cache.count == 2)
    }

    /// The order of use of entries that only the owner removes.
    @Test func oldestEntryIsLeastRecentlyUsed() {
        var order = LRUCache<Int, Void>(capacity: .max)
        #expect(order.oldestEntry?.key == nil)
        for key in [1, 2, 3, 1, 4] { order[key] = () }
        order[3] = nil
        order[9] = nil
        var keys: [Int] = []
        while let oldest = order.oldestEntry {
            keys.append(oldest.key)
            order[oldest.key] = nil
        }
        #expect(keys == [2, 1, 4])
        order[5] = ()
        #expect(order.oldestEntry?.key == 5)
    }

    /// Compares the cache with a simple model, with random reads, writes and removals.
    @Test func cacheEqualsTheModelOverRandomOperations() {
        var seed: UInt64 = 7
        func draw(_ count: Int) -> Int {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(seed >> 33) % count
        }
        var cache = LRUCache<Int, Int>(capacity: 5)
        var model: [(key: Int, value: Int)] = []
        for step in 0..<5_000 {
            let key = draw(9)
            let place = model.firstIndex { $0.key == key }
            switch draw(6) {
            case 0, 1:
                if let place { model.remove(at: place) }
                model.insert((key, step), at: 0)
                cache[key] = step
                if model.count > 5 { model.removeLast() }
            case 2:
                if let place { model.remove(at: place) }
                cache[key] = nil
            case 3 where step % 50 == 0:
                model.removeAll { $0.value % 2 == 0 }
                cache.removeAll { $0 % 2 == 0 }
            default:
                #expect(cache[key] == place.map { model[$0].value })
                if let place { model.insert(model.remove(at: place), at: 0) }
            }
            #expect(cache.count == model.count)
        }
    }
}
