import Synchronization

/// Sends each value to all current listeners.
package final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var lastKey = 0
        var listeners: [Int: AsyncStream<Element>.Continuation] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// The values that are sent from now on, for one listener.
    ///
    /// - Parameter bufferingPolicy: What is kept while the listener is not reading.
    package func stream(
        bufferingPolicy: AsyncStream<Element>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: bufferingPolicy)
        let key = state.withLock { state in
            state.lastKey += 1
            state.listeners[state.lastKey] = continuation
            return state.lastKey
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: key) }
        }
        return stream
    }

    /// How many streams have not ended. Only tests read it: nothing else shows that an ended one is removed.
    var listenerCount: Int { state.withLock { $0.listeners.count } }

    package func send(_ element: Element) {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(element) }
    }

    /// Ends the existing streams.
    package func finish() {
        let listeners = state.withLock { state in
            defer { state.listeners = [:] }
            return state.listeners
        }
        for listener in listeners.values { listener.finish() }
    }
}
