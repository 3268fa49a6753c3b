import StratusRecords
import Synchronization

/// The databases that are open. The longest unused one is closed when there are too many; one that is in
/// use is never closed.
final class OpenDatabases: Sendable {
    fileprivate enum Phase {
        case opening
        case open(any OpenDatabase)
        case closing
    }

    fileprivate struct Entry {
        var phase: Phase
        var uses = 0
        var lastUse: UInt64 = 0
    }

    private struct State {
        var entries: [DatabaseAddress: Entry] = [:]
        /// Counts the uses, to find the database that was unused the longest.
        var clock: UInt64 = 0
        var isClosed = false
        /// The tasks that wait until some entry changes.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private enum Claim {
        case ready(any OpenDatabase)
        case mustOpen
        case mustWait
        case closed
    }

    /// Nil where a closed database would be lost.
    private let limit: Int?
    private let work: WorkThread
    private let open: @Sendable (DatabaseAddress) throws -> any OpenDatabase
    private let state = Mutex(State())

    init(
        limit: Int?, work: WorkThread,
        open: @escaping @Sendable (DatabaseAddress) throws -> any OpenDatabase
    ) {
        self.limit = limit
        self.work = work
        self.open = open
    }

    /// How many databases are open or about to be.
    var count: Int { state.withLock { $0.entries.count } }

    /// Runs `body` with an open database, which stays open as long.
    func use<Outcome: Sendable>(
        _ address: DatabaseAddress, _ body: (any OpenDatabase) async throws -> Outcome
    ) async throws -> Outcome {
        let database = try await acquire(address)
        defer { release(address) }
        return try await body(database)
    }

    /// Waits until no database is in use and closes them all.
    func close() async throws {
        state.withLock { $0.isClosed = true }
        var failure: (any Error)?
        while let address = await nextToClose() {
            do {
                try await shut(address)
            } catch {
                // The others are closed all the same; the first failure is reported.
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private func acquire(_ address: DatabaseAddress) async throws -> any OpenDatabase {
        while true {
            switch state.withLock({ Self.claim(address, in: &$0) }) {
            case .ready(let database): return database
            case .closed: throw StorageError.closed()
            case .mustWait: await waitForChange { $0.entries[address]?.isOpen ?? true }
            case .mustOpen: return try await openDatabase(address)
            }
        }
    }

    private static func claim(_ address: DatabaseAddress, in state: inout State) -> Claim {
        if state.isClosed { return .closed }
        guard let entry = state.entries[address] else {
            state.entries[address] = Entry(phase: .opening)
            return .mustOpen
        }
        guard case .open(let database) = entry.phase else { return .mustWait }
        state.clock += 1
        state.entries[address]?.uses += 1
        state.entries[address]?.lastUse = state.clock
        return .ready(database)
    }

    private func openDatabase(_ address: DatabaseAddress) async throws -> any OpenDatabase {
        do {
            let database = try await work.run { [open] in try open(address) }
            updateEntries { state in
                state.clock += 1
                state.entries[address] = Entry(
                    phase: .open(database), uses: 1, lastUse: state.clock)
            }
            await closeSurplus()
            return database
        } catch {
            updateEntries { $0.entries[address] = nil }
            throw error
        }
    }

    private func release(_ address: DatabaseAddress) {
        let waiting = state.withLock { state in
            state.entries[address]?.uses -= 1
            return state.isClosed ? Self.takeWaiting(&state) : []
        }
        for continuation in waiting { continuation.resume() }
    }

    private func closeSurplus() async {
        guard let limit else { return }
        while let address = state.withLock({ Self.takeSurplus(limit, in: &$0) }) {
            do {
                try await shut(address)
            } catch {
                // All its writes were answered after their commits, and opening it again finds them;
                // what is wrong with the disk shows then.
            }
        }
    }

    private static func takeSurplus(_ limit: Int, in state: inout State) -> DatabaseAddress? {
        guard state.entries.count > limit else { return nil }
        let oldest = state.entries
            .filter { $0.value.uses == 0 && $0.value.isOpen }
            .min { $0.value.lastUse < $1.value.lastUse }
        return oldest?.key
    }

    private func nextToClose() async -> DatabaseAddress? {
        while true {
            let (next, isEmpty) = state.withLock { state in
                (
                    state.entries.first { $0.value.isOpen && $0.value.uses == 0 }?.key,
                    state.entries.isEmpty
                )
            }
            if let next { return next }
            if isEmpty { return nil }
            await waitForChange { state in
                state.entries.isEmpty
                    || state.entries.contains { $0.value.isOpen && $0.value.uses == 0 }
            }
        }
    }

    /// Closes a database that is not in use, unless another task was faster.
    private func shut(_ address: DatabaseAddress) async throws {
        let database: (any OpenDatabase)? = state.withLock { state in
            guard let entry = state.entries[address], entry.uses == 0,
                case .open(let database) = entry.phase
            else { return nil }
            state.entries[address]?.phase = .closing
            return database
        }
        guard let database else { return }
        defer { updateEntries { $0.entries[address] = nil } }
        try await work.run { try database.close() }
    }

    /// Changes the entries and resumes the tasks that wait for a change.
    private func updateEntries(_ body: (inout State) -> Void) {
        let waiting = state.withLock { state in
            body(&state)
            return Self.takeWaiting(&state)
        }
        for continuation in waiting { continuation.resume() }
    }

    private static func takeWaiting(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        defer { state.waiting = [] }
        return state.waiting
    }

    /// Waits for the next change, unless the condition holds already.
    private func waitForChange(unless holds: (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if holds(state) { return true }
                state.waiting.append(continuation)
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}

extension OpenDatabases.Entry {
    fileprivate var isOpen: Bool {
        if case .open = phase { true } else { false }
    }
}
