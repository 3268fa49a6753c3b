import StratusRuntime
import Synchronization

/// Runs the steps of all tasks of a world on one thread, in an order that its seed decides, and moves its
/// clock when none is left to run.
final class SeededExecutor: TaskExecutor {
    private struct Sleeper {
        var number: Int
        var deadline: Double
        var continuation: CheckedContinuation<Void, any Error>
    }

    /// A step of a task, or work that belongs to no task.
    private enum Step {
        case job(UnownedJob)
        case work(@Sendable () -> Void)
    }

    private struct State {
        var ready: [Step] = []
        var sleepers: [Sleeper] = []
        var cancelled: Set<Int> = []
        var lastSleeper = 0
        var uptime = 0.0
        var order: SeededNumbers
        /// Among how many of the oldest steps the next one is chosen.
        var window: Int
        var turnsLeft = 0
        var observer: CheckedContinuation<Void, Never>?
        var isOver = false
        var stepCount = 0
        var trace: UInt64 = 0xCBF2_9CE4_8422_2325
    }

    private enum Next {
        case step(Step)
        case observer(CheckedContinuation<Void, Never>)
        case sleeper(CheckedContinuation<Void, any Error>)
        case nothing
    }

    private let state: Mutex<State>

    init(seed: UInt64) {
        var order = SeededNumbers(seed: seed)
        let window = [1, 2, 4, 16][Int(order.next() % 4)]
        state = Mutex(State(order: order, window: window))
    }

    var uptime: Double { state.withLock { $0.uptime } }
    var stepCount: Int { state.withLock { $0.stepCount } }
    var trace: UInt64 { state.withLock { $0.trace } }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.ready.append(.job(job)) }
    }

    /// Runs work among the steps of tasks.
    func enqueue(work: @escaping @Sendable () -> Void) {
        state.withLock { $0.ready.append(.work(work)) }
    }

    /// Adds a text to the trace, which is equal for equal runs.
    func note(_ text: String) {
        state.withLock { state in
            for byte in text.utf8 { state.trace = (state.trace ^ UInt64(byte)) &* 0x0100_0000_01B3 }
        }
    }

    // MARK: Time

    /// Moves the clock in one step, as for a machine that slept: everything that was due meanwhile is due now.
    func jump(seconds: Double) {
        let due = state.withLock { state in
            state.uptime += max(0, seconds)
            return Self.takeDue(&state)
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    private static func takeDue(_ state: inout State) -> [Sleeper] {
        let uptime = state.uptime
        let due = state.sleepers.filter { $0.deadline <= uptime }
        state.sleepers.removeAll { $0.deadline <= uptime }
        return due.sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
    }

    func sleep(seconds: Double) async throws {
        let number = state.withLock { state in
            state.lastSleeper += 1
            return state.lastSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isAsleep = state.withLock { state in
                    guard !state.isOver, state.cancelled.remove(number) == nil else { return false }
                    state.sleepers.append(
                        Sleeper(
                            number: number, deadline: state.uptime + max(0, seconds),
                            continuation: continuation))
                    return true
                }
                if !isAsleep { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let sleeper = state.withLock { state -> Sleeper? in
                guard let place = state.sleepers.firstIndex(where: { $0.number == number }) else {
                    state.cancelled.insert(number)
                    return nil
                }
                return state.sleepers.remove(at: place)
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
        state.withLock { _ = $0.cancelled.remove(number) }
    }

    // MARK: Turns

    /// Lets others run for this many steps, or until they only wait for time.
    func turns(_ count: Int) async {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                state.turnsLeft = count
                state.observer = continuation
            }
        }
    }

    /// Why no more steps are run.
    enum End {
        case done
        /// Nothing runs and no task waits for time.
        case nothingToRun
        case stepLimit
    }

    /// Runs steps on this thread until a task has ended, and at most this many.
    func drive(stepLimit: Int, until isDone: () -> Bool) -> End {
        let last = stepCount + stepLimit
        while !isDone() {
            guard stepCount < last else { return .stepLimit }
            switch state.withLock({ Self.next(&$0) }) {
            case .step(.job(let job)): job.runSynchronously(on: asUnownedTaskExecutor())
            case .step(.work(let work)): work()
            case .observer(let continuation): continuation.resume()
            case .sleeper(let continuation): continuation.resume()
            case .nothing: return .nothingToRun
            }
        }
        return .done
    }

    /// Ends all sleeps, and runs the steps that follow from that.
    func finish() {
        let sleepers = state.withLock { state in
            state.isOver = true
            defer { state.sleepers = [] }
            return state.sleepers
        }
        for sleeper in sleepers { sleeper.continuation.resume(throwing: CancellationError()) }
        _ = drive(stepLimit: 100_000) { false }
    }

    private static func next(_ state: inout State) -> Next {
        if let observer = state.observer, state.turnsLeft <= 0 || state.ready.isEmpty {
            state.observer = nil
            return .observer(observer)
        }
        if !state.ready.isEmpty {
            let choice =
                state.window == 1
                ? 0 : Int(state.order.next() % UInt64(min(state.window, state.ready.count)))
            state.turnsLeft -= 1
            state.stepCount += 1
            state.trace = (state.trace ^ UInt64(choice &+ 1)) &* 0x0100_0000_01B3
            return .step(state.ready.remove(at: choice))
        }
        let first = state.sleepers.indices.min {
            (state.sleepers[$0].deadline, state.sleepers[$0].number)
                < (state.sleepers[$1].deadline, state.sleepers[$1].number)
        }
        guard let first else { return .nothing }
        let sleeper = state.sleepers.remove(at: first)
        state.uptime = max(state.uptime, sleeper.deadline)
        return .sleeper(sleeper.continuation)
    }
}
