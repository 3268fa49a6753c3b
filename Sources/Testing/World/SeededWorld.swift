import Dispatch
import Foundation
import StratusClient
import StratusRuntime
import Synchronization

/// Controls time, randomness and the order of all tasks of a test by a seed: the same seed gives
/// the same run.
///
/// Everything that gets a ``world(_:skewMilliseconds:)`` of it, such as the cloud's service and
/// every device, runs on one executor, one step at a time, in an order that the seed decides. No
/// time passes while a task can run; then the clock advances to the next deadline. So a test of
/// months takes milliseconds, and every order that it finds can be repeated.
///
/// ```swift
/// let world = SeededWorld(seed: 7)
/// try await world.run {
///     let cloud = TestCloud(seeded: world)
///     let clock = world.world("phone", skewMilliseconds: 3_600_000)
///     let phone = try await cloud.connect(user: "alice", device: "phone", world: clock)
///     let file = try MemoryCacheFile()
///     let cache = try CloudCache(
///         memory: file, container: CKContainer(identifier: "iCloud.org.example", connection: phone),
///         world: clock)
///     try await cache.save(record)
///     try await cache.sync()
/// }
/// ```
///
/// Code without such a world, such as a `CKOperation`, runs on threads of the process; a test that
/// awaits it may have no task to run, and then ends with ``Stuck``.
public final class SeededWorld: Sendable {
    /// No task can run and none waits for time, but the test is not over.
    public struct Stuck: Error, CustomStringConvertible {
        public var description: String {
            "Nothing runs and no task waits for time: the test awaits what never happens, or what "
                + "runs outside of its seeded world. Give the world to everything that it awaits."
        }
    }

    /// The test has run for as many steps as it may, and is not over.
    public struct Endless: Error, Hashable, CustomStringConvertible {
        /// How many steps of tasks it may run.
        public var stepLimit: Int

        public var description: String {
            "The test is not over after \(stepLimit) steps: something in its seeded world never ends. "
                + "Stop it, or raise stepLimit."
        }
    }

    /// The number that decides the order of all tasks and all random numbers.
    public let seed: UInt64
    private let executor: SeededExecutor
    private let startMilliseconds: Int64
    private let stepLimit: Int

    /// - Parameters:
    ///   - seed: decides everything.
    ///   - startMilliseconds: the clock's start, in milliseconds since 1970; 2024-01-01 by default.
    ///   - stepLimit: how many steps of tasks a run may take, so that an endless one fails with
    ///     ``Endless``.
    public init(
        seed: UInt64, startMilliseconds: Int64 = 1_704_067_200_000, stepLimit: Int = 200_000_000
    ) {
        executor = SeededExecutor(seed: seed)
        self.seed = seed
        self.startMilliseconds = startMilliseconds
        self.stepLimit = stepLimit
    }

    /// Seconds since the world began.
    public var uptimeSeconds: Double { executor.uptime }

    /// The time of day by the service's clock, in milliseconds since 1970.
    public var nowMilliseconds: Int64 { startMilliseconds + Int64(executor.uptime * 1_000) }

    /// The number of steps of tasks so far.
    public var stepCount: Int { executor.stepCount }

    /// A hash of all that happened so far, which is equal for equal runs: the order of the steps
    /// and the notes.
    public var trace: UInt64 { executor.trace }

    /// Adds to ``trace``.
    public func note(_ text: String) { executor.note(text) }

    /// The world of one part, such as a device, with its own clock error and random numbers.
    ///
    /// - Parameters:
    ///   - name: identifies the part; each name has its own sequence of random numbers.
    ///   - skewMilliseconds: how far its time of day is ahead.
    public func world(_ name: String, skewMilliseconds: Int64 = 0) -> World {
        let numbers = Mutex(SeededNumbers(seed: number(of: name)))
        let executor = executor
        let start = startMilliseconds + skewMilliseconds
        return World(
            nowMilliseconds: { start + Int64(executor.uptime * 1_000) },
            uptimeSeconds: { executor.uptime },
            sleep: { try await executor.sleep(seconds: $0) },
            timeout: { try await executor.sleep(seconds: $0) },
            randomBytes: { count in
                numbers.withLock { numbers in
                    var word: UInt64 = 0
                    return (0..<count).map { index in
                        if index % 8 == 0 { word = numbers.next() }
                        defer { word >>= 8 }
                        return UInt8(truncatingIfNeeded: word)
                    }
                }
            },
            startTask: { name, work in
                Task(name: name, executorPreference: executor) {
                    await DiskThread.$place.withValue(Self.disk(executor)) {
                        await work()
                    }
                }
            }, runOnDisk: { executor.enqueue(work: $0) })
    }

    /// The same for the same seed and name.
    private func number(of name: String) -> UInt64 {
        name.utf8.reduce(seed &+ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0100_0000_01B3 }
    }

    private static func disk(_ executor: SeededExecutor) -> DiskThread.Place {
        DiskThread.Place { executor.enqueue(work: $0) }
    }

    // MARK: Running

    /// Runs a test in this world, once.
    ///
    /// - Throws: what the body throws, ``Stuck`` or ``Endless``.
    public func run<Outcome: Sendable>(
        _ body: @escaping @Sendable () async throws -> Outcome
    ) async throws -> Outcome {
        // On a separate thread, so that it does not block a thread of Swift's pool.
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "stratus.seeded").async { [self] in
                continuation.resume(with: Result { try runHere(body) })
            }
        }
    }

    /// Runs a test in this world, once, on the caller's thread.
    ///
    /// - Throws: as ``run(_:)``.
    public func runHere<Outcome: Sendable>(
        _ body: @escaping @Sendable () async throws -> Outcome
    ) throws -> Outcome {
        let outcome = Mutex<Result<Outcome, any Error>?>(nil)
        // Checked before every step.
        let isDone = Atomic(false)
        let task = Task(executorPreference: executor) { [executor] in
            do {
                let value = try await DiskThread.$place.withValue(
                    Self.disk(executor), operation: body)
                outcome.withLock { $0 = .success(value) }
            } catch {
                outcome.withLock { $0 = .failure(error) }
            }
            isDone.store(true, ordering: .relaxed)
        }
        let end = executor.drive(stepLimit: stepLimit) { isDone.load(ordering: .relaxed) }
        task.cancel()
        executor.finish()
        switch end {
        case .nothingToRun: throw Stuck()
        case .stepLimit: throw Endless(stepLimit: stepLimit)
        case .done: break
        }
        return try outcome.withLock { try $0?.get() } ?? { throw Stuck() }()
    }

    /// Lets other tasks run for this many steps, or until they only wait for time.
    public func turns(_ count: Int) async { await executor.turns(count) }

    /// Lets other tasks run until they only wait for time.
    public func waitUntilIdle() async { await executor.turns(1_000_000) }

    /// Lets time pass, with everything that is due in it.
    ///
    /// - Throws: `CancellationError`.
    public func pass(seconds: Double) async throws { try await executor.sleep(seconds: seconds) }

    /// Advances all clocks in one step, as for machines that were asleep: everything that was due
    /// meanwhile is due now.
    public func jump(seconds: Double) { executor.jump(seconds: seconds) }
}
