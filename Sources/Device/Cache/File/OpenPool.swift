import Dispatch
import Foundation
import GRDB
import Synchronization

/// The connections of a cache's file, and which threads use them.
///
/// Each use holds a reference to the connections, and releasing the last one closes them: GRDB's own `close` would crash
/// a process that is about to read.
final class OpenPool: Sendable {
    private struct State {
        /// The connections; nil once they were closed.
        var pool: (any DatabaseWriter)?
        /// How many uses each thread has begun and not ended.
        var useCounts: [ObjectIdentifier: Int] = [:]
        /// Calls of ``waitUntilUnused()`` that wait.
        var waiting: [DispatchSemaphore] = []
    }

    private let state: Mutex<State>

    init(_ pool: any DatabaseWriter) {
        state = Mutex(State(pool: pool))
    }

    /// The connections, without counting their use; nil once they were closed.
    var pool: (any DatabaseWriter)? { state.withLock { $0.pool } }

    /// How many callers wait until nothing uses the connections. Only tests read it.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs a body with the connections; nil once they were closed.
    ///
    /// - Throws: what the body throws.
    func use<Value>(_ body: (any DatabaseWriter) throws -> Value) rethrows -> Value? {
        let thread = ObjectIdentifier(Thread.current)
        let isOpen = state.withLock { state in
            guard state.pool != nil else { return false }
            state.useCounts[thread, default: 0] += 1
            return true
        }
        guard isOpen else { return nil }
        defer { endUse(by: thread) }
        return try useCounted(body)
    }

    /// Never inlined: its reference to the connections must be released before the use ends.
    @inline(never)
    private func useCounted<Value>(
        _ body: (any DatabaseWriter) throws -> Value
    ) rethrows -> Value? {
        guard let pool else { return nil }
        return try body(pool)
    }

    private func endUse(by thread: ObjectIdentifier) {
        state.withLock { state in
            let count = state.useCounts[thread, default: 1] - 1
            state.useCounts[thread] = count == 0 ? nil : count
            guard state.useCounts.isEmpty else { return }
            for end in state.waiting { end.signal() }
            state.waiting = []
        }
    }

    /// Closes the connections as soon as nothing uses them any more.
    func close() {
        // Released outside the lock: releasing the last reference closes the file, which takes a while.
        let last = state.withLock { $0.pool.take() }
        withExtendedLifetime(last) {}
    }

    /// Waits until nothing uses the connections; returns at once if this thread itself does, which would wait forever.
    func waitUntilUnused() {
        let thread = ObjectIdentifier(Thread.current)
        let end = DispatchSemaphore(value: 0)
        let isUsed = state.withLock { state in
            guard !state.useCounts.isEmpty, state.useCounts[thread] == nil else { return false }
            state.waiting.append(end)
            return true
        }
        if isUsed { end.wait() }
    }
}
