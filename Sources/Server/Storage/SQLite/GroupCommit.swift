import CoreMetrics
import GRDB
import Logging
import Synchronization

/// The writes that wait for one database, and the loop that commits them.
///
/// Writes that arrive while a commit waits for the disk go into the next commit together. Invariants:
///
/// - Writes run in the order in which they arrived.
/// - Each runs in a savepoint of its own: when its closure throws, only its own work is undone.
/// - A write returns after the commit that contains it, never before.
/// - The high-water mark is raised after the commit that it counts, and before a write of it returns.
/// - When the commit fails, or SQLite rolls the transaction back (a full disk), all writes in it fail.
final class GroupCommit: Sendable {
    private struct State {
        var waiting: [any PendingWrite] = []
        /// Whether the loop is running or about to.
        var isDraining = false
        var isClosed = false
        /// Whether the last mark could not be raised.
        var isMarkTooLow = false
        var whenIdle: @Sendable (Database) -> Void = { _ in }
    }

    private static let commits = Counter(label: "stratus_commits_total")
    private static let committedWrites = Counter(label: "stratus_committed_writes_total")

    private let main: DatabaseQueue
    private let limits: StorageLimits
    private let checkpoints: Checkpointer
    private let room: GrowthCheck
    private let mark: HighWaterMark?
    private let logger: Logger
    private let work: WorkThread
    private let state = Mutex(State())

    /// - Parameters:
    ///   - mark: Raised after each commit; nil for a database that counts none.
    ///   - work: Where commits run, unless on the connection's own thread.
    init(
        main: DatabaseQueue, limits: StorageLimits, checkpoints: Checkpointer, room: GrowthCheck,
        mark: HighWaterMark?, logger: Logger, work: WorkThread = .disk
    ) {
        self.main = main
        self.limits = limits
        self.checkpoints = checkpoints
        self.room = room
        self.mark = mark
        self.logger = logger
        self.work = work
    }

    func write<Outcome: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome {
        try await withCheckedThrowingContinuation { continuation in
            let write = QueuedWrite(path: main.path, body: body, continuation: continuation)
            if let refusal = enqueue(write) { write.resume(failure: refusal) }
        }
    }

    /// Refuses further writes. Waiting ones are still carried out.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    private func enqueue(_ write: any PendingWrite) -> StorageError? {
        state.withLock { state in
            if state.isClosed { return .closed(path: main.path) }
            if state.waiting.count >= limits.waitingWrites {
                return StorageError(
                    .busy, "Too many writes wait for this database. Try again later.",
                    path: main.path)
            }
            state.waiting.append(write)
            if !state.isDraining {
                state.isDraining = true
                // Inside the lock, so that nothing is scheduled after close(). Does not block.
                if case .world = work {
                    work.start { [self] in main.inDatabase { drain($0) } }
                } else {
                    main.asyncWriteWithoutTransaction { [self] in drain($0) }
                }
            }
            return nil
        }
    }

    /// Sets what is done on the writer's thread whenever there are no more writes.
    func whenIdle(_ body: @escaping @Sendable (Database) -> Void) {
        state.withLock { $0.whenIdle = body }
    }

    private func drain(_ database: Database) {
        while let batch = nextBatch() {
            checkpoints.writerContinues(database)
            commit(batch, in: database)
        }
        let whenIdle = state.withLock { $0.whenIdle }
        whenIdle(database)
    }

    private func nextBatch() -> [any PendingWrite]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isDraining = false
                return nil
            }
            let batch = Array(state.waiting.prefix(limits.writesPerCommit))
            state.waiting.removeFirst(batch.count)
            return batch
        }
    }

    /// Raises the mark, and logs once when that begins to fail.
    private func raiseMark(to commits: UInt64) {
        let errno = mark?.raise(to: commits)
        let isNew = state.withLock { state in
            defer { state.isMarkTooLow = errno != nil }
            return errno != nil && !state.isMarkTooLow
        }
        guard isNew, let errno else { return }
        let cause = StorageError.translating(errno: errno, path: main.path)
        logger.error(
            "The high-water mark of a database cannot be written, so a loss of its newest commits would not be noticed. Each of its commits tries again.",
            metadata: ["path": "\(main.path)", "error": "\(cause.message)"])
    }

    private func commit(_ batch: [any PendingWrite], in database: Database) {
        do {
            try database.cachedStatement(sql: "BEGIN IMMEDIATE").execute()
            let changes = database.totalChangesCount
            for write in batch { try write.run(in: database, room) }
            // A commit without changes does not wait for the disk, and is not counted.
            let count =
                mark != nil && database.totalChangesCount != changes
                ? try FileStamp.countCommit(in: database) : nil
            let end = try database.cachedStatement(sql: "COMMIT")
            try CommitTurn.commit { try end.execute() }
            if let count { raiseMark(to: count) }
            Self.commits.increment()
            Self.committedWrites.increment(by: batch.count)
            for write in batch { write.resume(failure: nil) }
        } catch {
            let failure = StorageError.translating(error, path: main.path)
            room.note(failure)
            do {
                try database.rollback()
            } catch {
                // SQLite has rolled back by itself. The first error says why, and is the one that is thrown.
            }
            for write in batch { write.resume(failure: failure) }
        }
    }
}

/// A write with any result type.
private protocol PendingWrite: AnyObject, Sendable {
    /// Runs the closure in a savepoint and keeps its outcome.
    ///
    /// - Throws: only if the whole transaction is lost.
    func run(in database: Database, _ room: GrowthCheck) throws

    /// Resumes the waiting task with the failure, or else with the outcome that was kept.
    func resume(failure: (any Error)?)
}

/// `@unchecked`: `outcome` is written and read only on the writer's serial queue, and a refused write never runs.
private final class QueuedWrite<Outcome: Sendable>: PendingWrite, @unchecked Sendable {
    private let path: String
    private let body: @Sendable (Database) throws -> Outcome
    private let continuation: CheckedContinuation<Outcome, any Error>
    private var outcome: Result<Outcome, any Error>

    init(
        path: String, body: @escaping @Sendable (Database) throws -> Outcome,
        continuation: CheckedContinuation<Outcome, any Error>
    ) {
        self.path = path
        self.body = body
        self.continuation = continuation
        outcome = .failure(StorageError.closed(path: path))
    }

    func run(in database: Database, _ room: GrowthCheck) throws {
        try database.cachedStatement(sql: "SAVEPOINT write").execute()
        outcome = Result { try room.checking(database, body) }
        guard database.isInsideTransaction else {
            // SQLite rolled back the whole transaction, as it does when the disk is full.
            throw lostTransaction()
        }
        if case .failure = outcome {
            try database.cachedStatement(sql: "ROLLBACK TO write").execute()
        }
        try database.cachedStatement(sql: "RELEASE write").execute()
    }

    func resume(failure: (any Error)?) {
        if let failure {
            continuation.resume(throwing: failure)
        } else {
            continuation.resume(
                with: outcome.mapError { StorageError.translating($0, path: path) })
        }
    }

    private func lostTransaction() -> any Error {
        if case .failure(let error) = outcome { return error }
        return StorageError(
            .other, "SQLite rolled the transaction back. Try again.", path: path)
    }
}
