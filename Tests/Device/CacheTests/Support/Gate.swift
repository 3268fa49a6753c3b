import Synchronization

/// Holds back every task that passes until it is opened, even a cancelled one.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var isReached = false
        var held: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    var isReached: Bool { state.withLock { $0.isReached } }

    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                state.isReached = true
                if !state.isOpen { state.held.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.isOpen = true
            return state.held
        }
        for continuation in held { continuation.resume() }
    }
}
