import DequeModule
import StratusRecords
import Synchronization

/// Limits how many requests run at a time, in total and per sender. The waiting ones take turns, one of each sender
/// after the other, so a greedy client only waits for itself.
///
/// Invariants: a sender with waiting requests is among the turns if and only if it may run one more; while a sender is
/// among the turns, all places are taken.
final class RequestQueue: Sendable {
    typealias Sender = Throttle.Sender

    private enum Entry: Sendable {
        case isIn
        case isRefused
        case isCancelled
    }

    private struct Waiter {
        var ticket: UInt64
        var continuation: CheckedContinuation<Entry, Never>
    }

    private struct Line {
        var inWork = 0
        var waiting: Deque<Waiter> = []
        /// Whether it is among the turns; stays true when its waiting requests were cancelled.
        var hasTurn = false
    }

    private struct State {
        var lines: [Sender: Line] = [:]
        /// The senders whose turn comes, first come first served.
        var turns: Deque<Sender> = []
        var inWork = 0
        var waiting = 0
        var lastTicket: UInt64 = 0
    }

    private let limits: Limits
    private let state = Mutex(State())

    init(limits: Limits) {
        self.limits = limits
    }

    /// Runs `body` when it is the sender's turn.
    ///
    /// - Throws: ``ServiceError`` TRY_AGAIN_LATER when too many wait; `CancellationError`; what `body`
    ///   throws.
    func run<Outcome>(
        as sender: Sender, _ body: () async throws -> Outcome
    ) async throws -> Outcome {
        try await enter(sender)
        defer { leave(sender) }
        return try await body()
    }

    /// Requests that are running now.
    var inWork: Int { state.withLock { $0.inWork } }

    /// Requests that wait now.
    var waiting: Int { state.withLock { $0.waiting } }

    /// Senders that are remembered now: those with a running or waiting request.
    var senders: Int { state.withLock { $0.lines.count } }

    // MARK: In and out

    private func enter(_ sender: Sender) async throws {
        if state.withLock({ take(in: &$0, for: sender) }) { return }
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        let entry = await withTaskCancellationHandler {
            await withCheckedContinuation { wait(sender, ticket, $0) }
        } onCancel: {
            cancel(sender, ticket)
        }
        switch entry {
        case .isIn: return
        case .isRefused: throw ServiceError.tooManyWaiting
        case .isCancelled: throw CancellationError()
        }
    }

    /// Takes a place if there is one. A request does not overtake waiting ones of its sender.
    private func take(in state: inout State, for sender: Sender) -> Bool {
        let line = state.lines[sender] ?? Line()
        guard state.inWork < limits.requestsInWork, line.waiting.isEmpty,
            line.inWork < limits.requestsInWorkPerUser
        else { return false }
        state.lines[sender, default: Line()].inWork += 1
        state.inWork += 1
        return true
    }

    private func wait(
        _ sender: Sender, _ ticket: UInt64, _ continuation: CheckedContinuation<Entry, Never>
    ) {
        let entry: Entry? = state.withLock { state in
            // A task that was cancelled before this is not found by `cancel`.
            if Task.isCancelled { return .isCancelled }
            if take(in: &state, for: sender) { return .isIn }
            let waiting = state.lines[sender]?.waiting.count ?? 0
            guard waiting < limits.waitingRequestsPerUser, state.waiting < limits.waitingRequests
            else { return .isRefused }
            state.lines[sender, default: Line()].waiting.append(
                Waiter(ticket: ticket, continuation: continuation))
            state.waiting += 1
            giveTurn(to: sender, in: &state)
            return nil
        }
        if let entry { continuation.resume(returning: entry) }
    }

    private func cancel(_ sender: Sender, _ ticket: UInt64) {
        let waiter: Waiter? = state.withLock { state in
            let line = state.lines[sender]
            guard let index = line?.waiting.firstIndex(where: { $0.ticket == ticket }) else {
                return nil
            }
            state.waiting -= 1
            let waiter = state.lines[sender]?.waiting.remove(at: index)
            forgetIfIdle(sender, in: &state)
            return waiter
        }
        waiter?.continuation.resume(returning: .isCancelled)
    }

    private func leave(_ sender: Sender) {
        let admitted = state.withLock { state in
            state.inWork -= 1
            state.lines[sender]?.inWork -= 1
            giveTurn(to: sender, in: &state)
            let admitted = admitNext(in: &state)
            forgetIfIdle(sender, in: &state)
            return admitted
        }
        for continuation in admitted { continuation.resume(returning: .isIn) }
    }

    // MARK: Turns

    private func giveTurn(to sender: Sender, in state: inout State) {
        guard let line = state.lines[sender], !line.hasTurn, !line.waiting.isEmpty,
            line.inWork < limits.requestsInWorkPerUser
        else { return }
        state.lines[sender]?.hasTurn = true
        state.turns.append(sender)
    }

    private func admitNext(in state: inout State) -> [CheckedContinuation<Entry, Never>] {
        var admitted: [CheckedContinuation<Entry, Never>] = []
        while state.inWork < limits.requestsInWork, let sender = state.turns.popFirst() {
            state.lines[sender]?.hasTurn = false
            guard state.lines[sender]?.waiting.isEmpty == false else {
                forgetIfIdle(sender, in: &state)
                continue
            }
            if let waiter = state.lines[sender]?.waiting.popFirst() {
                admitted.append(waiter.continuation)
            }
            state.lines[sender]?.inWork += 1
            state.inWork += 1
            state.waiting -= 1
            giveTurn(to: sender, in: &state)
        }
        return admitted
    }

    private func forgetIfIdle(_ sender: Sender, in state: inout State) {
        guard let line = state.lines[sender], line.inWork == 0, line.waiting.isEmpty,
            !line.hasTurn
        else { return }
        state.lines[sender] = nil
    }
}
