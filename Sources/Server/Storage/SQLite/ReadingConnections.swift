import Dispatch
import GRDB
import Synchronization

/// The connections that read from one database file.
///
/// A read sees one state while writes continue beside it, so it has a connection of its own. A connection is opened
/// when a read finds no free one, so a database that is only written needs just three file descriptors.
final class ReadingConnections: Sendable {
    private enum Choice: Sendable {
        case lease(DatabaseQueue)
        case mustOpen
        case mustWait
        case closed
    }

    private struct State {
        var isClosed = false
        /// Whether reads must wait, since the file is being rewritten.
        var isPaused = false
        /// Connections that are not in use.
        var free: [DatabaseQueue] = []
        /// All connections, including those that are being opened.
        var count = 0
        var waiting: [CheckedContinuation<Choice, Never>] = []
    }

    private let path: String
    private let limit: Int
    private let open: @Sendable () throws -> DatabaseQueue
    private let state = Mutex(State())
    /// Empty when nothing is being read.
    private let reads = DispatchGroup()

    /// - Parameter open: Opens a connection that only reads.
    init(path: String, limit: Int, open: @escaping @Sendable () throws -> DatabaseQueue) {
        self.path = path
        self.limit = limit
        self.open = open
    }

    /// Takes a connection for a read, and waits for one when all are taken.
    func take() async throws -> DatabaseQueue {
        var choice = state.withLock { choose(&$0, isWaiting: false) }
        if case .mustWait = choice { choice = await wait() }
        switch choice {
        case .lease(let connection): return connection
        case .mustOpen: return try openOne()
        case .closed, .mustWait: throw StorageError.closed(path: path)
        }
    }

    private func wait() async -> Choice {
        await withCheckedContinuation { continuation in
            let choice = state.withLock { state in
                let choice = choose(&state, isWaiting: true)
                if case .mustWait = choice { state.waiting.append(continuation) }
                return choice
            }
            if case .mustWait = choice { return }
            continuation.resume(returning: choice)
        }
    }

    func give(_ connection: DatabaseQueue) {
        resumeWaiting { $0.free.append(connection) }
        reads.leave()
    }

    /// Closes the connections that are not in use.
    func closeFree() throws {
        let free = state.withLock { state in
            defer { state.free = [] }
            state.count -= state.free.count
            return state.free
        }
        for connection in free { try connection.close() }
    }

    /// Runs `body` while the writing connection is the only one.
    ///
    /// - Returns: Whether it ran; it does not while something is being read.
    func whileNobodyReads(_ body: () throws -> Void) throws -> Bool {
        let isAlone = state.withLock { state in
            guard !state.isPaused, !state.isClosed, state.count == state.free.count else {
                return false
            }
            state.isPaused = true
            return true
        }
        guard isAlone else { return false }
        defer { resumeWaiting { $0.isPaused = false } }
        try closeFree()
        try body()
        return true
    }

    /// Waits for running reads, and closes the connections that only read.
    func close() throws {
        state.withLock { $0.isClosed = true }
        reads.wait()
        try closeFree()
    }

    // MARK: -

    /// Chooses a connection, or tells the caller to open one.
    private func choose(_ state: inout State, isWaiting: Bool) -> Choice {
        if !isWaiting {
            if state.isClosed { return .closed }
            reads.enter()
        }
        if state.isPaused { return .mustWait }
        if let connection = state.free.popLast() { return .lease(connection) }
        guard state.count < limit else { return .mustWait }
        state.count += 1
        return .mustOpen
    }

    private func openOne() throws -> DatabaseQueue {
        do {
            return try open()
        } catch {
            resumeWaiting { $0.count -= 1 }
            reads.leave()
            throw error
        }
    }

    /// Changes the state, then gives free connections to waiting reads, or lets them open one if the limit allows it.
    private func resumeWaiting(after change: (inout State) -> Void) {
        let resumed = state.withLock { state in
            change(&state)
            var resumed: [(CheckedContinuation<Choice, Never>, Choice)] = []
            while let first = state.waiting.first {
                let choice = choose(&state, isWaiting: true)
                if case .mustWait = choice { break }
                state.waiting.removeFirst()
                resumed.append((first, choice))
            }
            return resumed
        }
        for (continuation, choice) in resumed { continuation.resume(returning: choice) }
    }
}
