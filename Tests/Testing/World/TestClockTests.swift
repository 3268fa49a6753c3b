import StratusTesting
import Testing

/// Waiting for a test's clock ends with the waiting task; otherwise a removed feature would hang its test.
@Suite(.timeLimit(.minutes(20)))
struct TestClockTests {
    @Test(arguments: [true, false])
    func waitForSleeperEndsWhenItsTaskIsCancelled(isWaiting: Bool) async {
        let clock = TestClock()
        let (ends, end) = AsyncStream<Void>.makeStream()
        let wait: @Sendable () async -> Void = {
            await clock.waitForSleeper(seconds: 5)
            end.yield()
        }
        let task = isWaiting ? Task.immediate(operation: wait) : Task(operation: wait)
        task.cancel()
        var iterator = ends.makeAsyncIterator()
        #expect(await iterator.next() != nil)
    }

    @Test func sleeperIsFoundBeforeAndAfterItSleeps() async throws {
        let clock = TestClock()
        let early = Task.immediate { await clock.waitForSleeper(seconds: 5) }
        let sleeper = Task.immediate { try await clock.sleep(seconds: 5) }
        await early.value
        await clock.waitForSleeper(seconds: 5)
        clock.advance(bySeconds: 5)
        try await sleeper.value
        #expect(clock.sleeperCount == 0)
    }
}
