import Dispatch
import GRDB
import GRDBSQLite
import Logging
import Synchronization

/// Moves committed pages from the write-ahead log into the database file, beside the writer.
///
/// By default, SQLite does this inside the commit that fills the log, which makes that commit slow: it dominates the
/// 99th percentile. Here another connection does it while the writer is idle. A writer that is never idle does it
/// itself when the log is long.
final class Checkpointer: Sendable {
    /// When a checkpoint could not be finished, it is tried again each time the log has grown by an eighth of its
    /// limit: on a full disk there is little room for the log.
    private static let triesPerLog = 8

    private struct State {
        /// Whether a checkpoint beside the writer runs or is about to.
        var isScheduled = false
        var isClosed = false
    }

    private let path: String
    private let limits: StorageLimits
    private let queue: DispatchQueue
    private let state = Mutex(State())
    private let logPages = Atomic<Int>(0)
    /// The length of the log when the last checkpoint beside the writer began.
    private let checkpointedPages = Atomic<Int>(0)
    private let pages: Mutex<PageGrowth>
    /// Whether the writer's last checkpoint failed: that is logged once.
    private let hasFailed = Atomic(false)
    private let logger: Logger
    private let work: WorkThread

    /// - Parameter work: Where checkpoints run, unless on a thread of this database's own.
    init(
        path: String, limits: StorageLimits, logger: Logger, work: WorkThread = .disk
    ) {
        self.work = work
        self.path = path
        self.limits = limits
        self.logger = logger
        queue = DispatchQueue(label: "stratus.checkpoint", qos: .utility)
        pages = Mutex(PageGrowth(pageBytes: PageGrowth.grownPageBytes))
    }

    /// Counts the pages of the log from now on, and replaces SQLite's automatic checkpoints. The checkpointer must
    /// outlive the connection.
    func observe(_ writer: Database) throws {
        let pageBytes = try PageGrowth.pageBytes(of: writer)
        pages.withLock { $0 = PageGrowth(pageBytes: pageBytes) }
        sqlite3_wal_hook(
            writer.sqliteConnection,
            { context, _, _, pages in
                if let context {
                    Unmanaged<Checkpointer>.fromOpaque(context).takeUnretainedValue()
                        .logPages.store(Int(pages), ordering: .relaxed)
                }
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Called by the writer when it has no more work.
    func writerIsIdle(_ writer: Database, _ reads: ReadingConnections) {
        pages.withLock { $0.growIfDue(writer, reads, logPages: logPages.load(ordering: .relaxed)) }
        guard isDue(logPages.load(ordering: .relaxed)) else { return }
        state.withLock { state in
            guard !state.isScheduled, !state.isClosed else { return }
            state.isScheduled = true
            let checkpoint: @Sendable () -> Void = { [self] in runScheduled() }
            // Inside the lock, so that nothing is scheduled after close(). Does not block.
            if case .world = work {
                work.start(checkpoint)
            } else {
                queue.async(execute: checkpoint)
            }
        }
    }

    private func runScheduled() {
        // Closing the database moves the log itself, and its file may have been opened again since.
        guard state.withLock({ !$0.isClosed }) else { return }
        checkpointBesideWriter()
        state.withLock { $0.isScheduled = false }
    }

    /// When saves follow each other without a pause, a checkpoint may not finish before the next save, and the log
    /// keeps growing. Then it is tried again when the log has grown by a part, not after each save, since each try
    /// opens a connection.
    private func isDue(_ pages: Int) -> Bool {
        let first = inPages(limits.logPagesBeforeCheckpoint)
        guard pages >= first else { return false }
        let former = checkpointedPages.load(ordering: .relaxed)
        // A log that was started again is shorter than before.
        guard pages < former || pages >= former + max(first / Self.triesPerLog, 1) else {
            return false
        }
        checkpointedPages.store(pages, ordering: .relaxed)
        return true
    }

    /// Called by the writer before the next commit; checkpoints on its connection when the log is too long.
    func writerContinues(_ writer: Database) {
        guard
            logPages.load(ordering: .relaxed) >= inPages(limits.logPagesBeforeForcedCheckpoint)
        else {
            return
        }
        do {
            try writer.checkpoint(.passive)
            hasFailed.store(false, ordering: .relaxed)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            // The checkpoint beside the writer is still running.
            return
        } catch {
            // Tried again before the next commit. Commits write to the log only, so none of them reports it before the
            // log has filled the disk.
            guard !hasFailed.exchange(true, ordering: .relaxed) else { return }
            logger.error(
                "The log of a database cannot be moved into its file, so it grows with each commit. Check the disk.",
                metadata: ["path": "\(path)", "error": "\(error)"])
        }
    }

    /// Returns when no checkpoint runs; none begins afterwards. Called before the database is closed: the writer may
    /// still become idle after its last write was answered.
    func close() {
        state.withLock { $0.isClosed = true }
        wait()
    }

    /// Returns when the scheduled checkpoint has run.
    func wait() {
        queue.sync {}
    }

    /// The limits count pages of SQLite's default size.
    private func inPages(_ limit: Int) -> Int {
        limit * PageGrowth.grownPageBytes / pages.withLock { $0.pageBytes }
    }

    /// Moves the log's pages on a connection of its own. GRDB would read the schema for it, which costs as much as
    /// several saves, and a checkpoint needs none of it. The connection's settings are SQLite's defaults; `synchronous`
    /// has no effect here, as a checkpoint synchronises log and file with NORMAL as well.
    ///
    /// No result is checked: if something failed, nothing is lost, and it is tried again when the writer is next idle.
    /// A failure that stays is logged by ``writerContinues(_:)``, when the log has become long.
    private func checkpointBesideWriter() {
        var connection: OpaquePointer?
        defer { sqlite3_close(connection) }
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &connection, flags, nil) == SQLITE_OK else { return }
        // The first read finds out that the file has a log.
        sqlite3_exec(
            connection, "PRAGMA checkpoint_fullfsync = ON; PRAGMA user_version", nil, nil, nil)
        sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    }
}
