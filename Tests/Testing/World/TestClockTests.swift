import Dispatch
import StratusTesting
import Synchronization
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

    @Test func tasksWithOneDeadlineWakeInTheOrderInWhichTheyFellAsleep() async throws {
        let (clock, thread) = (TestClock(), OneThread())
        let woken = Mutex<[Int]>([])
        let sleepers = (0..<20).map { number in
            Task(executorPreference: thread) { @Sendable in
                try await clock.sleep(seconds: 5)
                woken.withLock { $0.append(number) }
            }
        }
        // Runs on that thread after all of them.
        await Task(executorPreference: thread) {}.value
        #expect(clock.sleeperCount == 20)
        clock.advance(bySeconds: 5)
        for sleeper in sleepers { try await sleeper.value }
        #expect(woken.withLock { $0 } == Array(0..<20))
    }
}

/// Runs steps of tasks in the order in which they become ready.
private final class OneThread: TaskExecutor {
    private let queue = DispatchQueue(label: "TestClockTests")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
