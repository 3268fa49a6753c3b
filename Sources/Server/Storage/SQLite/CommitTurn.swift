import Dispatch
import Synchronization

/// Gives commits of databases priority over the writing of blobs.
///
/// A commit waits for the disk several times, each time behind all writes that were queued before. So a blob is written
/// in small pieces, and no piece begins while a commit is running.
enum CommitTurn {
    private struct State {
        var commitsUnderWay = 0
        /// Signalled when no commit is running any more.
        var waiters: [DispatchSemaphore] = []
    }

    private static let state = Mutex(State())
    /// How long a piece waits at most. So uploads continue, more slowly, even if commits never pause.
    private static let mostMilliseconds = 2

    static func commit(_ body: () throws -> Void) rethrows {
        state.withLock { $0.commitsUnderWay += 1 }
        defer {
            state.withLock { state in
                state.commitsUnderWay -= 1
                guard state.commitsUnderWay == 0 else { return }
                for waiter in state.waiters { waiter.signal() }
                state.waiters = []
            }
        }
        try body()
    }

    /// Blocks until no commit is running, for 2 ms at most.
    static func waitForCommits() {
        let end = DispatchSemaphore(value: 0)
        let isFree = state.withLock { state in
            guard state.commitsUnderWay > 0 else { return true }
            state.waiters.append(end)
            return false
        }
        if isFree || end.wait(timeout: .now() + .milliseconds(mostMilliseconds)) == .success {
            return
        }
        state.withLock { $0.waiters.removeAll { $0 === end } }
    }
}
