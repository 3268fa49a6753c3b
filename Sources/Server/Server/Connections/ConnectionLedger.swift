import StratusService
import Synchronization

/// The service's memory that the requests of a connection, or of a stream of HTTP/2, hold: bytes that arrived and are
/// not answered yet, and bytes of answers that the client has not read.
///
/// Bytes are held from their arrival until the answer to their request is sent. Bytes that are written to a file before
/// that are given back by the code that writes them (``used(_:)``).
final class ConnectionLedger: Sendable {
    /// The connection or stream whose task is running.
    @TaskLocal static var current: ConnectionLedger?

    private struct Request {
        var bytes = 0
        var isWhole = false
        /// Whether it was answered before it arrived completely: the rest is dropped as it arrives.
        var isAnswered = false
    }

    private struct State {
        /// The oldest first; the last one is still arriving unless it is complete.
        var requests: [Request] = []
        var unsentBytes = 0
    }

    let memory: HeldMemory
    private let state = Mutex(State())

    init(_ budget: MemoryBudget, networkAddress: String) {
        memory = HeldMemory(budget, networkAddress: networkAddress)
    }

    /// Bytes that arrived and are held.
    var arrivedBytes: Int { state.withLock { $0.requests.reduce(0) { $0 + $1.bytes } } }

    func arrived(_ bytes: Int) {
        let isHeld = state.withLock { state in
            if state.requests.last?.isWhole ?? true { state.requests.append(Request()) }
            guard state.requests[state.requests.count - 1].isAnswered == false else { return false }
            state.requests[state.requests.count - 1].bytes += bytes
            return true
        }
        if isHeld { memory.take(bytes) }
    }

    func requestEnded() {
        state.withLock { state in
            guard let last = state.requests.last, !last.isWhole else { return }
            if last.isAnswered {
                state.requests.removeLast()
            } else {
                state.requests[state.requests.count - 1].isWhole = true
            }
        }
    }

    /// Notes that the answer to the oldest request was sent.
    func answered() {
        let bytes = state.withLock { state in
            guard let first = state.requests.first else { return 0 }
            if first.isWhole {
                state.requests.removeFirst()
            } else {
                state.requests[0].isAnswered = true
                state.requests[0].bytes = 0
            }
            return first.bytes
        }
        memory.giveBack(bytes)
    }

    /// Gives back bytes of the request that is being read.
    func used(_ bytes: Int) {
        let bytes = state.withLock { state in
            guard !state.requests.isEmpty else { return 0 }
            let used = min(bytes, state.requests[0].bytes)
            state.requests[0].bytes -= used
            return used
        }
        memory.giveBack(bytes)
    }

    /// Notes that the connection has ended; tasks of its requests may refer to it for longer.
    ///
    /// - Parameter keepsUnsent: Whether written bytes are held until they are sent: a stream ends before the connection
    ///   that carries it.
    func end(keepsUnsent: Bool = false) {
        let unsentBytes = state.withLock { state in
            state.requests = []
            if !keepsUnsent { state.unsentBytes = 0 }
            return state.unsentBytes
        }
        memory.giveBack(max(0, memory.bytes - unsentBytes))
    }

    func wrote(_ bytes: Int) {
        state.withLock { $0.unsentBytes += bytes }
        memory.take(bytes)
    }

    /// - Parameter bytes: How many of the written bytes may still be in memory.
    func unsent(atMost bytes: Int) {
        let sent = state.withLock { state in
            let sent = max(0, state.unsentBytes - bytes)
            state.unsentBytes -= sent
            return sent
        }
        memory.giveBack(sent)
    }
}
