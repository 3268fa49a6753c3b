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

    /// The bytes of a connection without a request, and the additional ones of requests: their tasks, which wait
    /// deep in calls, and their channels' buffers. Measured (Operations.md), and rounded up.
    private static let bytesPerConnection = 24_000
    private static let bytesPerRequest = 60_000

    let memory: HeldMemory
    private let state = Mutex(State())

    init(_ budget: MemoryBudget, networkAddress: String) {
        memory = HeldMemory(budget, networkAddress: networkAddress)
        memory.setBeside(Self.bytesPerConnection)
    }

    /// Bytes that arrived and are held.
    var arrivedBytes: Int { state.withLock { $0.requests.reduce(0) { $0 + $1.bytes } } }

    func arrived(_ bytes: Int) {
        let isHeld = state.withLock { state in
            if state.requests.isEmpty {
                memory.setBeside(Self.bytesPerConnection + Self.bytesPerRequest)
            }
            if state.requests.last?.isWhole ?? true { state.requests.append(Request()) }
            guard state.requests[state.requests.count - 1].isAnswered == false else { return false }
            state.requests[state.requests.count - 1].bytes += bytes
            return true
        }
        if isHeld { memory.take(bytes) }
    }

    func requestEnded() {
        let isLast = state.withLock { state in
            guard let last = state.requests.last, !last.isWhole else { return false }
            guard last.isAnswered else {
                state.requests[state.requests.count - 1].isWhole = true
                return false
            }
            state.requests.removeLast()
            return state.requests.isEmpty
        }
        if isLast { memory.setBeside(Self.bytesPerConnection) }
    }

    /// Notes that the answer to the oldest request was sent.
    func answered() {
        let (bytes, isLast) = state.withLock { state in
            guard let first = state.requests.first else { return (0, false) }
            guard first.isWhole else {
                state.requests[0].isAnswered = true
                state.requests[0].bytes = 0
                return (first.bytes, false)
            }
            state.requests.removeFirst()
            return (first.bytes, state.requests.isEmpty)
        }
        memory.giveBack(bytes)
        if isLast { memory.setBeside(Self.bytesPerConnection) }
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
        memory.setBeside(0)
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
