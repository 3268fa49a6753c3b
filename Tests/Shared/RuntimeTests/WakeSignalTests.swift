import StratusTesting
import Synchronization
import Testing

@testable import StratusRuntime

/// A loop that is about to wait misses no event.
@Suite(.timeLimit(.minutes(20))) struct WakeSignalTests {
    private final class Count: Sendable {
        private let count = Mutex(0)

        var value: Int { count.withLock { $0 } }
        func increase() { count.withLock { $0 += 1 } }
    }

    private let clock = TestClock()
    private let signal = WakeSignal()

    private func wait(_ uptimeSeconds: Double? = nil) async {
        await signal.wait(until: uptimeSeconds, in: clock.world)
    }

    @Test func wakeBeforeWaitEndsOneWait() async {
        signal.wake()
        signal.wake()
        await wait()
        async let ended: Void = wait(5)
        await clock.waitForSleeper(seconds: 5)
        clock.advance(bySeconds: 5)
        await ended
    }

    @Test func forgottenWakeEndsNoWait() async {
        signal.wake()
        signal.forget()
        async let ended: Void = wait(5)
        await clock.waitForSleeper(seconds: 5)
        clock.advance(bySeconds: 5)
        await ended
    }

    @Test func wakeEndsWaitAndItsTimer() async {
        async let ended: Void = wait(5)
        await clock.waitForSleeper(seconds: 5)
        signal.wake()
        await ended
        while clock.sleeperCount > 0 { await Task.yield() }
        // The cancelled timer does not end the next wait.
        async let next: Void = wait(9)
        await clock.waitForSleeper(seconds: 9)
        clock.advance(bySeconds: 5)
        #expect(clock.sleeperCount == 1)
        clock.advance(bySeconds: 4)
        await next
    }

    @Test func cancelledTaskDoesNotWait() async {
        let task = Task { await wait() }
        task.cancel()
        await task.value
        let late = Task { await wait(5) }
        await clock.waitForSleeper(seconds: 5)
        late.cancel()
        await late.value
    }

    /// Some tasks count and wake, another one waits and reads: the last count is always seen.
    @Test func noWakeIsLost() async {
        let signal = signal
        for _ in 0..<200 {
            let count = Count()
            await withTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<25 {
                            count.increase()
                            signal.wake()
                            await Task.yield()
                        }
                    }
                }
                group.addTask {
                    while count.value < 100 {
                        await signal.wait(until: nil, in: .live)
                    }
                }
            }
            signal.forget()
        }
    }
}
