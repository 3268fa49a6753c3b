import Synchronization

/// The users who are opening the link of a share. Tasks that wait for the service write here too.
final class OpenedLinks: Sendable {
    private struct State {
        /// How many of a user's devices are opening the link.
        var counts: [Int: Int] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Whether failed requests are no longer repeated.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    func close() { state.withLock { $0.isClosed = true } }

    func isBeingOpened(by user: Int) -> Bool { state.withLock { $0.counts[user, default: 0] > 0 } }

    func begin(_ user: Int) { state.withLock { $0.counts[user, default: 0] += 1 } }

    func end(_ user: Int) { state.withLock { $0.counts[user, default: 0] -= 1 } }
}
