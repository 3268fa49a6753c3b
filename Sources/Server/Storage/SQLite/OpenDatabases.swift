import Logging
import StratusRecords
import StratusRuntime
import Synchronization

/// The databases that are open. When there are too many, the least recently used one is closed; one in use is never
/// closed.
///
/// A database whose file turns out to be damaged is closed after its current uses, and refused until its file has
/// changed or some time has passed (``DamagedDatabases``).
final class OpenDatabases: Sendable {
    enum Phase {
        case opening
        case open(any OpenDatabase)
        case closing
    }

    struct Entry {
        var phase: Phase
        var uses = 0
        /// When its last use ended.
        var usedAtSeconds: Double = 0
        /// Whether it is closed at the end of its last use.
        var isClosing = false
    }

    struct State {
        var entries: [DatabaseAddress: Entry] = [:]
        /// Databases that are open and not in use, the least recently used first.
        var unused = LRUCache<DatabaseAddress, Void>(capacity: .max)
        /// Closes idle databases, as long as any are open.
        var idleTask: Task<Void, Never>?
        var damaged = DamagedDatabases()
        var keptLogs = KeptLogs()
        var isClosed = false
        var isClosingSurplus = false
        /// How often a database was opened.
        var openings = 0
        /// The tasks that wait until some entry changes.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private enum Claim {
        case ready(any OpenDatabase)
        case mustOpen(isTry: Bool, work: WorkThread)
        case mustWait
        case refused(StorageError)
        case closed
    }

    /// How many databases are closed at the same time when the engine is.
    private static let closedAtOnce = 16

    /// Nil when a closed database would be lost.
    let limit: Int?
    let placement: any Placement
    let world: World
    private let logger: Logger
    private let whenOpened: @Sendable (DatabaseAddress, any OpenDatabase) -> Void
    let state = Mutex(State())

    /// - Parameter whenOpened: Called when a database was opened, before it is used.
    init(
        _ placement: any Placement, world: World, logger: Logger,
        whenOpened: @escaping @Sendable (DatabaseAddress, any OpenDatabase) -> Void = { _, _ in }
    ) {
        self.whenOpened = whenOpened
        limit = placement.openDatabases
        self.placement = placement
        self.world = world
        self.logger = logger
    }

    /// How many databases are open or about to be.
    var count: Int { state.withLock { $0.entries.count } }

    /// How many databases are refused because of their files.
    var damagedCount: Int { state.withLock { $0.damaged.count } }

    /// How often a database was opened so far.
    var openings: Int { state.withLock { $0.openings } }

    /// Runs `body` with an open database, which stays open until it returns.
    func use<Outcome: Sendable>(
        _ address: DatabaseAddress, _ body: (any OpenDatabase) async throws -> Outcome
    ) async throws -> Outcome {
        let database = try await acquire(address)
        do {
            let outcome = try await body(database)
            if release(address) { await shutCondemned(address) }
            return outcome
        } catch {
            let failure = condemn(address, for: error)
            if release(address) { await shutCondemned(address) }
            throw failure
        }
    }

    /// Waits until no database is in use and closes them all.
    func close() async throws {
        let idleTask = state.withLock { state in
            state.isClosed = true
            return state.idleTask
        }
        idleTask?.cancel()
        // Each waits for the disk, so several at a time; in memory one after the other, in a fixed order.
        let closers = placement.work.isConcurrent ? Self.closedAtOnce : 1
        let failure = await withTaskGroup(of: (any Error)?.self) { group in
            for _ in 0..<closers { group.addTask { await self.closeUnused() } }
            return await group.first { $0 != nil } ?? nil
        }
        if let failure { throw failure }
    }

    // MARK: Opening

    private func acquire(_ address: DatabaseAddress) async throws -> any OpenDatabase {
        while true {
            switch state.withLock({ claim(address, in: &$0) }) {
            case .ready(let database): return database
            case .closed: throw StorageError.closed()
            case .refused(let error): throw error
            case .mustWait: await waitForChange { $0.entries[address]?.isOpen ?? true }
            case .mustOpen(let isTry, let work):
                return try await openDatabase(address, isTry: isTry, work)
            }
        }
    }

    private func claim(_ address: DatabaseAddress, in state: inout State) -> Claim {
        if state.isClosed { return .closed }
        let isTry = state.damaged.contains(address)
        if isTry {
            let refusal = state.damaged.refusal(
                of: address, files: placement.files(of: address),
                atSeconds: world.uptimeSeconds())
            if let refusal { return .refused(refusal) }
        }
        guard let place = state.entries.index(forKey: address) else {
            state.entries[address] = Entry(phase: .opening)
            state.openings += 1
            // If this process left the log, opening creates no file, and so does not wait for the disk.
            let isBrief = state.keptLogs.remove(address) && !isTry
            return .mustOpen(isTry: isTry, work: isBrief ? .caller : placement.work)
        }
        guard case .open(let database) = state.entries.values[place].phase else {
            return .mustWait
        }
        if state.entries.values[place].uses == 0 { state.unused[address] = nil }
        state.entries.values[place].uses += 1
        return .ready(database)
    }

    /// - Parameters:
    ///   - isTry: Whether the file was damaged when it was last checked.
    ///   - work: Where the file is opened.
    private func openDatabase(
        _ address: DatabaseAddress, isTry: Bool, _ work: WorkThread
    ) async throws -> any OpenDatabase {
        do {
            let database = try await work.run { [placement] in
                try placement.openMakingRoom(address)
            }
            if isTry { try await lookThrough(database) }
            whenOpened(address, database)
            updateEntries { $0.entries[address] = Entry(phase: .open(database), uses: 1) }
            if isTry { noteWell(address) }
            await makeRoom()
            return database
        } catch {
            let failure = refuse(address, for: error, isTry: isTry)
            updateEntries { $0.entries[address] = nil }
            throw failure
        }
    }

    // MARK: Releasing

    /// - Returns: Whether the caller must close the database.
    private func release(_ address: DatabaseAddress) -> Bool {
        let now = world.uptimeSeconds()
        let (waiting, isClosing, isFirst) = state.withLock { state in
            guard let place = state.entries.index(forKey: address) else {
                return ([Waiter](), false, false)
            }
            state.entries.values[place].uses -= 1
            state.entries.values[place].usedAtSeconds = now
            let isLast = state.entries.values[place].uses == 0
            let isClosing = state.entries.values[place].isClosing
            if isLast { state.unused[address] = () }
            return (
                state.isClosed ? Self.takeWaiting(&state) : [], isLast && isClosing,
                isLast && state.idleTask == nil
            )
        }
        for continuation in waiting { continuation.resume() }
        if isFirst { startClosingIdle() }
        return isClosing
    }

    // MARK: Damage

    /// Marks a database for closing after its last use if the error says that its file is damaged.
    private func condemn(_ address: DatabaseAddress, for error: any Error) -> any Error {
        guard var error = error as? StorageError else { return error }
        if error.damagedRow != nil { error.database = address }
        guard error.isOfOneFile else { return error }
        error.database = address
        let now = world.uptimeSeconds()
        let isNew = state.withLock { state in
            guard state.entries[address] != nil else { return false }
            state.entries[address]?.isClosing = true
            return state.damaged.note(error, of: address, files: nil, atSeconds: now)
        }
        if isNew { logDamage(error, of: address) }
        return error
    }

    /// Notes why a database could not be opened.
    private func refuse(
        _ address: DatabaseAddress, for error: any Error, isTry: Bool
    ) -> any Error {
        guard var error = error as? StorageError, error.isOfOneFile else {
            if isTry { state.withLock { $0.damaged.giveUpTry(of: address) } }
            return error
        }
        error.database = address
        let (files, now) = (placement.files(of: address), world.uptimeSeconds())
        let isNew = state.withLock {
            $0.damaged.note(error, of: address, files: files, atSeconds: now)
        }
        if isNew { logDamage(error, of: address) }
        return error
    }

    /// Checks every page of a file that was damaged: the first pages may be intact while others are not.
    private func lookThrough(_ database: any OpenDatabase) async throws {
        do {
            try await database.checkPages()
        } catch {
            try await placement.work.run {
                do {
                    try database.close()
                } catch {
                    // The damage is the error that is reported.
                }
            }
            throw error
        }
    }

    private func noteWell(_ address: DatabaseAddress) {
        guard state.withLock({ $0.damaged.noteWell(address) }) else { return }
        logger.notice(
            "A database's file can be used again; its requests are answered.",
            metadata: ["path": "\(placement.path(of: address))"])
    }

    private func logDamage(_ error: StorageError, of address: DatabaseAddress) {
        logger.error(
            "A database's file cannot be used; its requests are refused until it is repaired or replaced.",
            metadata: [
                "path": "\(placement.path(of: address))", "reason": "\(error.message)",
                "cause": "\(error.underlying.map { String(describing: $0) } ?? "-")",
            ])
    }

    // MARK: Waiting

    private typealias Waiter = CheckedContinuation<Void, Never>

    /// Changes the entries and resumes the tasks that wait for a change.
    func updateEntries(_ body: (inout State) -> Void) {
        let waiting = state.withLock { state in
            body(&state)
            return Self.takeWaiting(&state)
        }
        for continuation in waiting { continuation.resume() }
    }

    private static func takeWaiting(_ state: inout State) -> [Waiter] {
        defer { state.waiting = [] }
        return state.waiting
    }

    /// Waits for the next change, unless the condition holds already.
    func waitForChange(unless holds: (State) -> Bool) async {
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
