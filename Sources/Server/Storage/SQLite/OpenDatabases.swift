import StratusRecords
import Synchronization

/// The database files that are open: the longest unused one is closed when there are too many, one in
/// use never.
final class OpenFiles: Sendable {
    fileprivate enum Phase {
        case opening
        case open(SQLiteFile)
        case closing
    }

    fileprivate struct Entry {
        var phase: Phase
        var uses = 0
        var lastUse: UInt64 = 0
    }

    private struct State {
        var entries: [DatabaseAddress: Entry] = [:]
        /// Counts the uses; tells which file was unused the longest.
        var clock: UInt64 = 0
        var isClosed = false
        /// Those who wait until some entry changes.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private enum Claim {
        case ready(SQLiteFile)
        case mustOpen
        case mustWait
        case closed
    }

    private let limit: Int
    private let open: @Sendable (DatabaseAddress) throws -> SQLiteFile
    private let state = Mutex(State())

    init(limit: Int, open: @escaping @Sendable (DatabaseAddress) throws -> SQLiteFile) {
        self.limit = limit
        self.open = open
    }

    /// The files that are open or about to be.
    var count: Int { state.withLock { $0.entries.count } }

    /// Runs `body` with an open file, which stays open as long.
    func use<Outcome: Sendable>(
        _ address: DatabaseAddress, _ body: (SQLiteFile) async throws -> Outcome
    ) async throws -> Outcome {
        let file = try await acquire(address)
        defer { release(address) }
        return try await body(file)
    }

    /// Waits until no file is in use and closes them all.
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

    private func acquire(_ address: DatabaseAddress) async throws -> SQLiteFile {
        while true {
            switch state.withLock({ Self.claim(address, in: &$0) }) {
            case .ready(let file): return file
            case .closed: throw StorageError.closed()
            case .mustWait: await change { $0.entries[address]?.isOpen ?? true }
            case .mustOpen: return try await openFile(address)
            }
        }
    }

    private static func claim(_ address: DatabaseAddress, in state: inout State) -> Claim {
        if state.isClosed { return .closed }
        guard let entry = state.entries[address] else {
            state.entries[address] = Entry(phase: .opening)
            return .mustOpen
        }
        guard case .open(let file) = entry.phase else { return .mustWait }
        state.clock += 1
        state.entries[address]?.uses += 1
        state.entries[address]?.lastUse = state.clock
        return .ready(file)
    }

    private func openFile(_ address: DatabaseAddress) async throws -> SQLiteFile {
        do {
            let file = try await onDiskThread { [open] in try open(address) }
            settle { state in
                state.clock += 1
                state.entries[address] = Entry(phase: .open(file), uses: 1, lastUse: state.clock)
            }
            await closeSurplus()
            return file
        } catch {
            settle { $0.entries[address] = nil }
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
            await change { state in
                state.entries.isEmpty
                    || state.entries.contains { $0.value.isOpen && $0.value.uses == 0 }
            }
        }
    }

    /// Closes a file that is not in use, unless somebody was faster.
    private func shut(_ address: DatabaseAddress) async throws {
        let file: SQLiteFile? = state.withLock { state in
            guard let entry = state.entries[address], entry.uses == 0,
                case .open(let file) = entry.phase
            else { return nil }
            state.entries[address]?.phase = .closing
            return file
        }
        guard let file else { return }
        defer { settle { $0.entries[address] = nil } }
        try await onDiskThread { try file.close() }
    }

    /// Changes the entries and wakes those who wait for that.
    private func settle(_ body: (inout State) -> Void) {
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

    /// Waits for the next change, unless what is waited for is so already.
    private func change(unless isSo: (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if isSo(state) { return true }
                state.waiting.append(continuation)
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}

extension OpenFiles.Entry {
    fileprivate var isOpen: Bool {
        if case .open = phase { true } else { false }
    }
}
