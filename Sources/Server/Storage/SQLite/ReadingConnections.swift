import Dispatch
import GRDB
import Synchronization

/// Who reads on which connection of one database file.
///
/// A file that is hardly used has one connection, which writes, and reads while nobody writes: so it costs
/// three file descriptors. Further connections are opened when reads and writes meet, and closed when the
/// file is idle.
final class ReadingConnections: Sendable {
    /// A connection for one read.
    struct Lease: Sendable {
        let connection: DatabaseQueue
        let isMain: Bool
    }

    private enum Choice: Sendable {
        case lease(Lease)
        case mustOpen
        case mustWait
        case closed
    }

    private struct Waiting {
        let length: ReadLength
        let continuation: CheckedContinuation<Choice, Never>
    }

    private struct State {
        var isClosed = false
        /// Whether nobody may read, as the file is being rewritten.
        var isPaused = false
        var isMainTaken = false
        /// Connections that only read and that nobody has.
        var free: [DatabaseQueue] = []
        /// Connections that only read, those that are being opened among them.
        var count = 0
        var waiting: [Waiting] = []
    }

    private let main: DatabaseQueue
    private let limit: Int
    private let isMainBusy: @Sendable () -> Bool
    private let open: @Sendable () throws -> DatabaseQueue
    private let state = Mutex(State())
    /// Empty when nobody reads.
    private let reads = DispatchGroup()

    /// - Parameters:
    ///   - isMainBusy: Whether the connection that writes has writes to do.
    ///   - open: Opens a connection that only reads.
    init(
        main: DatabaseQueue, limit: Int, isMainBusy: @escaping @Sendable () -> Bool,
        open: @escaping @Sendable () throws -> DatabaseQueue
    ) {
        self.main = main
        self.limit = limit
        self.isMainBusy = isMainBusy
        self.open = open
    }

    /// Takes a connection for a read, and waits for one when all are taken.
    func take(_ length: ReadLength) async throws -> Lease {
        var choice = state.withLock { choose(length, &$0, isWaiting: false) }
        if case .mustWait = choice { choice = await wait(length) }
        switch choice {
        case .lease(let lease): return lease
        case .mustOpen: return try openLease()
        case .closed, .mustWait: throw StorageError.closed(path: main.path)
        }
    }

    private func wait(_ length: ReadLength) async -> Choice {
        await withCheckedContinuation { continuation in
            let choice = state.withLock { state in
                let choice = choose(length, &state, isWaiting: true)
                if case .mustWait = choice {
                    state.waiting.append(Waiting(length: length, continuation: continuation))
                }
                return choice
            }
            if case .mustWait = choice { return }
            continuation.resume(returning: choice)
        }
    }

    func give(_ lease: Lease) {
        resumeWaiting { state in
            if lease.isMain {
                state.isMainTaken = false
            } else {
                state.free.append(lease.connection)
            }
        }
        reads.leave()
    }

    /// Called when the connection that writes has no more to do.
    func mainIsFree() {
        resumeWaiting { _ in }
    }

    /// Closes the connections that nobody reads on.
    func closeFree() throws {
        let free = state.withLock { state in
            defer { state.free = [] }
            state.count -= state.free.count
            return state.free
        }
        for connection in free { try connection.close() }
    }

    /// Runs `body` while there is no connection but the one that writes.
    ///
    /// - Returns: Whether it ran; it does not while somebody reads.
    func whileNobodyReads(_ body: () throws -> Void) throws -> Bool {
        let isAlone = state.withLock { state in
            guard !state.isPaused, !state.isClosed, !state.isMainTaken,
                state.count == state.free.count
            else { return false }
            state.isPaused = true
            return true
        }
        guard isAlone else { return false }
        defer { resumeWaiting { $0.isPaused = false } }
        try closeFree()
        try body()
        return true
    }

    /// Waits until nobody reads, and closes the connections that only read.
    func close() throws {
        state.withLock { $0.isClosed = true }
        reads.wait()
        try closeFree()
    }

    // MARK: -

    /// Chooses a connection, or leaves one to be opened by the caller.
    private func choose(_ length: ReadLength, _ state: inout State, isWaiting: Bool) -> Choice {
        if !isWaiting {
            if state.isClosed { return .closed }
            reads.enter()
        }
        if state.isPaused { return .mustWait }
        if let connection = state.free.popLast() {
            return .lease(Lease(connection: connection, isMain: false))
        }
        // A whole zone takes long, and a write does not wait for it.
        if length == .page, !state.isMainTaken, !isMainBusy() {
            state.isMainTaken = true
            return .lease(Lease(connection: main, isMain: true))
        }
        guard state.count < limit else { return .mustWait }
        state.count += 1
        return .mustOpen
    }

    private func openLease() throws -> Lease {
        do {
            return Lease(connection: try open(), isMain: false)
        } catch {
            resumeWaiting { $0.count -= 1 }
            reads.leave()
            throw error
        }
    }

    /// Changes the state, and gives the connections that are free then to those who wait; those that may be
    /// opened they open themselves.
    private func resumeWaiting(after change: (inout State) -> Void) {
        let resumed = state.withLock { state in
            change(&state)
            guard !state.waiting.isEmpty else { return [(Waiting, Choice)]() }
            var resumed: [(Waiting, Choice)] = []
            var stillWaiting: [Waiting] = []
            for waiting in state.waiting {
                let choice = choose(waiting.length, &state, isWaiting: true)
                if case .mustWait = choice {
                    stillWaiting.append(waiting)
                } else {
                    resumed.append((waiting, choice))
                }
            }
            state.waiting = stillWaiting
            return resumed
        }
        for (waiting, choice) in resumed { waiting.continuation.resume(returning: choice) }
    }
}
