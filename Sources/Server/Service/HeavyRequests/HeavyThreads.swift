import DequeModule
import Dispatch
import HeapModule
import StratusRuntime
import Synchronization

/// The few threads on which the heavy requests run, so that no other request waits behind one for a thread of Swift's
/// tasks, of which there are only as many as processors.
///
/// The senders of heavy requests share these threads equally: the next step is one of the sender whose
/// steps took the least time. A step is what a task does until it waits for something.
final class HeavyThreads: Sendable {
    typealias Sender = Throttle.Sender

    /// Where the tasks of one sender run.
    final class Line: TaskExecutor {
        private let threads: HeavyThreads
        fileprivate let sender: Sender

        fileprivate init(_ threads: HeavyThreads, _ sender: Sender) {
            self.threads = threads
            self.sender = sender
        }

        func enqueue(_ job: consuming ExecutorJob) {
            threads.add(Step(job: UnownedJob(job), line: self))
        }

        /// Runs work on the line; without a line, on the caller's executor.
        static func run<Outcome, Failure: Error>(
            on line: Line?, _ work: () async throws(Failure) -> Outcome
        ) async throws(Failure) -> Outcome {
            guard let line else { return try await work() }
            return try await withTaskExecutorPreference(line, operation: work)
        }
    }

    private struct Step: Sendable {
        var job: UnownedJob
        var line: Line
    }

    /// A sender that has steps to run.
    private struct Share {
        var steps: Deque<Step> = []
        /// The time that its steps took, plus the value at which it started.
        var seconds: Double
        var running = 0
        var hasTurn = false
    }

    private struct Turn: Comparable {
        var seconds: Double
        var ticket: UInt64
        var sender: Sender

        static func < (left: Turn, right: Turn) -> Bool {
            (left.seconds, left.ticket) < (right.seconds, right.ticket)
        }
    }

    private struct State {
        var shares: [Sender: Share] = [:]
        var turns = Heap<Turn>()
        var lastTicket: UInt64 = 0
        /// Where a new sender starts.
        var startSeconds = 0.0
        var idleThreads: [Int]
        var stepsRun = 0
    }

    private let world: World
    /// Serial queues, each a thread of its own while it has work. Where processors are few, the system prefers all
    /// other threads.
    private let queues: [DispatchQueue]
    private let state: Mutex<State>

    init(count: Int, world: World) {
        self.world = world
        queues = (0..<count).map { DispatchQueue(label: "stratus.heavy.\($0)", qos: .utility) }
        state = Mutex(State(idleThreads: Array(0..<count)))
    }

    func line(of sender: Sender) -> Line { Line(self, sender) }

    /// Steps that were run so far.
    var stepsRun: Int { state.withLock { $0.stepsRun } }

    /// Senders that are remembered: those with steps that run or wait.
    var senders: Int { state.withLock { $0.shares.count } }

    // MARK: Turns

    private func add(_ step: Step) {
        let idle: Int? = state.withLock { state in
            let sender = step.line.sender
            state.shares[sender, default: Share(seconds: state.startSeconds)].steps.append(step)
            giveTurn(to: sender, in: &state)
            return state.idleThreads.popLast()
        }
        if let idle { queues[idle].async { [self] in runSteps(on: idle) } }
    }

    private func giveTurn(to sender: Sender, in state: inout State) {
        guard let share = state.shares[sender], !share.hasTurn, !share.steps.isEmpty else { return }
        state.shares[sender]?.hasTurn = true
        state.lastTicket += 1
        state.turns.insert(
            Turn(seconds: share.seconds, ticket: state.lastTicket, sender: sender))
    }

    private func runSteps(on thread: Int) {
        while let step = next(for: thread) {
            let start = world.uptimeSeconds()
            step.job.runSynchronously(on: step.line.asUnownedTaskExecutor())
            let seconds = max(0, world.uptimeSeconds() - start)
            state.withLock { finish(step.line.sender, after: seconds, in: &$0) }
        }
    }

    /// The next step; nil leaves the thread idle.
    private func next(for thread: Int) -> Step? {
        state.withLock { state in
            guard let turn = state.turns.popMin(),
                let step = state.shares[turn.sender]?.steps.popFirst()
            else {
                state.idleThreads.append(thread)
                return nil
            }
            state.startSeconds = max(state.startSeconds, turn.seconds)
            state.stepsRun += 1
            state.shares[turn.sender]?.running += 1
            state.shares[turn.sender]?.hasTurn = false
            // Another thread may take this sender's next step, unless another sender comes first.
            giveTurn(to: turn.sender, in: &state)
            return step
        }
    }

    private func finish(_ sender: Sender, after seconds: Double, in state: inout State) {
        guard var share = state.shares[sender] else { return }
        share.running -= 1
        share.seconds += seconds
        let isIdle = share.running == 0 && share.steps.isEmpty
        state.shares[sender] = isIdle ? nil : share
    }
}
