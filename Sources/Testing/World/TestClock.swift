import Foundation
import StratusClient
import StratusRuntime
import StratusService
import StratusStorage
import Synchronization

/// A clock that a test advances, so that it can test retries, pauses and long polls without
/// waiting.
///
/// Pass it to the cloud and its devices; then an automatic `CKSyncEngine` sleeps until the test
/// advances the clock.
///
/// ```swift
/// let clock = TestClock()
/// let cloud = TestCloud(clock: clock)
/// let connection = try await cloud.connect(user: "alice", device: "phone", world: clock.world)
/// cloud.faults.next(of: RecordsModify.self, .answer(.throttled, retryAfterSeconds: 30))
/// // … the app saves something, and its engine is told to retry in 30 seconds.
/// await clock.waitForSleeper(seconds: 30)
/// clock.advance(bySeconds: 30)
/// ```
public final class TestClock: Sendable {
    private struct Sleeper {
        var deadline: Double
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct Watcher {
        var deadlines: ClosedRange<Double>
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var uptime: Double = 0
        var count = 0
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var watchers: [Int: Watcher] = [:]

        mutating func takeNumber() -> Int {
            count += 1
            return count
        }
    }

    private let start: Date
    private let state = Mutex(State())

    /// - Parameter start: the clock's start; 2024-01-01 by default.
    public init(start: Date = Date(timeIntervalSince1970: 1_704_067_200)) {
        self.start = start
    }

    /// Seconds since the clock was created.
    public var uptimeSeconds: Double { state.withLock { $0.uptime } }

    /// The time of day: the start and all seconds by which the clock was advanced.
    public var now: Date { start.addingTimeInterval(uptimeSeconds) }

    /// The number of sleeping tasks.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// A world with this clock, for a connection or a service; random numbers and tasks are the
    /// process's.
    public var world: World {
        World(
            nowMilliseconds: { Int64(self.now.timeIntervalSince1970 * 1_000) },
            uptimeSeconds: { self.uptimeSeconds },
            sleep: { try await self.sleep(seconds: $0) },
            timeout: { try await self.sleep(seconds: $0) })
    }

    /// Advances the clock and resumes the tasks whose deadline has passed, the earliest first, and those with the same
    /// deadline in the order in which they began to sleep.
    public func advance(bySeconds seconds: Double) {
        let woken = state.withLock { state in
            state.uptime += max(0, seconds)
            let due = state.sleepers.filter { $0.value.deadline <= state.uptime }
            for number in due.keys { state.sleepers[number] = nil }
            return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }
        }
        for (_, sleeper) in woken { sleeper.continuation.resume() }
    }

    /// Waits, without time passing, until a task sleeps for this many seconds from now, to the
    /// millisecond.
    ///
    /// It shows that an engine has nothing to do until then. Tasks that slept before the call are
    /// included.
    public func waitForSleeper(seconds: Double) async {
        await waitForSleeper(seconds: seconds - 0.001...seconds + 0.001)
    }

    /// Waits, without time passing, until a task sleeps for this many seconds from now.
    ///
    /// It also returns when the waiting task is cancelled, as by a test's time limit.
    public func waitForSleeper(seconds: ClosedRange<Double>) async {
        let number = state.withLock { $0.takeNumber() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if state.cancelled.remove(number) != nil { return true }
                    let uptime = state.uptime
                    let deadlines = uptime + seconds.lowerBound...uptime + seconds.upperBound
                    if state.sleepers.values.contains(where: { deadlines.contains($0.deadline) }) {
                        return true
                    }
                    state.watchers[number] = Watcher(
                        deadlines: deadlines, continuation: continuation)
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            let watcher = state.withLock { state in
                let watcher = state.watchers.removeValue(forKey: number)
                if watcher == nil { state.cancelled.insert(number) }
                return watcher
            }
            watcher?.continuation.resume()
        }
    }

    /// Sleeps until the test has advanced the clock by this much.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(seconds: Double) async throws {
        let number = state.withLock { $0.takeNumber() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                fallAsleep(number, seconds, continuation)
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: number)
                if sleeper == nil { state.cancelled.insert(number) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    private func fallAsleep(
        _ number: Int, _ seconds: Double, _ continuation: CheckedContinuation<Void, any Error>
    ) {
        enum Outcome {
            case asleep([Watcher])
            case awake
            case cancelled
        }
        let outcome = state.withLock { state -> Outcome in
            if state.cancelled.remove(number) != nil { return .cancelled }
            guard seconds > 0 else { return .awake }
            let deadline = state.uptime + seconds
            state.sleepers[number] = Sleeper(deadline: deadline, continuation: continuation)
            let content = state.watchers.filter { $0.value.deadlines.contains(deadline) }
            for number in content.keys { state.watchers[number] = nil }
            return .asleep(Array(content.values))
        }
        switch outcome {
        case .asleep(let watchers): for watcher in watchers { watcher.continuation.resume() }
        case .awake: continuation.resume()
        case .cancelled: continuation.resume(throwing: CancellationError())
        }
    }
}

extension TestCloud {
    /// A cloud whose time is controlled by the test; see ``TestClock``.
    public convenience init(
        storage: any StorageEngine = SQLiteStorageEngine.inMemory(), clock: TestClock
    ) {
        self.init(
            storage: storage,
            settings: ServiceSettings(isForDevelopment: true, world: clock.world))
    }
}
