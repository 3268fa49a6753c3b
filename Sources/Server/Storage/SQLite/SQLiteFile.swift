import CStorage
import GRDB
import Logging
import StratusSQLite
import Synchronization

/// One open database file: a connection that writes, and a few that read, which are opened when needed.
final class SQLiteFile: OpenDatabase {
    let path: String
    let epoch = EpochPlace()
    private let main: DatabaseQueue
    private let commits: GroupCommit
    private let checkpoints: Checkpointer
    private let reads: ReadingConnections
    private let work: WorkThread
    /// Whether the next read of a page uses the writing connection: only the first read after the opening does, if no
    /// write came before it. So a database that is read once needs no second connection.
    private let readsOnMain = Atomic<Bool>(true)

    /// Runs once, before the first database of the process is opened.
    static let settings: Void = stratus_leave_memory_uncounted()

    /// Opens the file, creating it if it does not exist, and migrates it. Blocks on the disk.
    ///
    /// - Parameters:
    ///   - reserve: Notified when the disk is full; while it is, `recordBytes` must not grow.
    ///   - recordBytes: A statement for the size of the records; nil for a file whose data is always small.
    ///   - work: Where commits, checkpoints and long reads run.
    ///   - mark: Checks the open database and returns the mark that its commits raise.
    init(
        path: String, format: StoredFormat, limits: StorageLimits, reserve: DiskReserve? = nil,
        recordBytes: String? = nil, logger: Logger, work: WorkThread = .disk,
        mark: (Database) throws -> HighWaterMark? = { _ in nil }
    ) throws {
        Self.settings
        self.path = path
        self.work = work
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(limits.lockSeconds)
        // GRDB's default priority is higher than that of the reading threads, so that one user's long write would delay
        // all reads.
        configuration.qos = .default
        configuration = format.configuration(configuration, forFileAt: path)
        do {
            // SQLite gives the log and its index the rights of the file.
            try FileRights.prepareFile(path)
            let (main, upgrade) = try format.openSingleConnection(
                at: path, configuration: configuration,
                newPageBytes: PageGrowth.newPageBytes)
            let checkpoints = Checkpointer(
                path: path, limits: limits, logger: logger, work: work)
            try main.inDatabase {
                try checkpoints.observe($0)
                stratus_yield_often($0.sqliteConnection)
            }
            let commits = GroupCommit(
                main: main, limits: limits, checkpoints: checkpoints,
                room: GrowthCheck(path: path, reserve: reserve, recordBytes: recordBytes),
                mark: try main.inDatabase(mark), logger: logger, work: work)
            var reading = configuration
            reading.readonly = true
            reads = ReadingConnections(path: path, limit: limits.readersPerDatabase) { [reading] in
                let connection = try DatabaseQueue(path: path, configuration: reading)
                connection.inDatabase { stratus_yield_often($0.sqliteConnection) }
                return connection
            }
            self.main = main
            self.checkpoints = checkpoints
            self.commits = commits
            if let upgrade, upgrade.from > 0 {
                logger.notice(
                    "A file of an earlier format was brought up to date.",
                    metadata: [
                        "path": "\(path)", "from": "\(upgrade.from)", "to": "\(upgrade.to)",
                    ])
            }
        } catch {
            throw StorageError.translating(error, path: path)
        }
        commits.whenIdle { [checkpoints, reads] in checkpoints.writerIsIdle($0, reads) }
    }

    /// Runs `body` on one snapshot.
    ///
    /// A page is read on the caller's thread: that saves two thread switches, which cost more than a page of changes. A
    /// whole zone is read on a thread of GRDB, so that it does not block one of Swift's few threads.
    ///
    /// The first page after the opening is read on the writing connection, which is open already. A write that arrives
    /// meanwhile waits for that read, but no longer than opening another connection would take.
    func read<Outcome: Sendable>(
        _ length: ReadLength, _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome {
        do {
            if length == .page, readsOnMain.exchange(false, ordering: .relaxed) {
                return try Self.readNow(on: main, body)
            }
            let connection = try await reads.take()
            defer { reads.give(connection) }
            if length == .page { return try Self.readNow(on: connection, body) }
            if case .world = work {
                return try await work.run { try Self.readNow(on: connection, body) }
            }
            return try await withCheckedThrowingContinuation { continuation in
                connection.asyncUnsafeRead { access in
                    continuation.resume(
                        with: Result { try Self.snapshot(of: access.get(), body) })
                }
            }
        } catch {
            throw StorageError.translating(error, path: path)
        }
    }

    private static func readNow<Outcome>(
        on connection: DatabaseQueue, _ body: (Database) throws -> Outcome
    ) throws -> Outcome {
        try connection.unsafeRead { try snapshot(of: $0, body) }
    }

    /// Runs `body` in a transaction, perhaps together with others, and returns when it is durable.
    func write<Outcome: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome {
        readsOnMain.store(false, ordering: .relaxed)
        return try await commits.write(body)
    }

    /// Finishes running work and closes all connections: the writing one last, so that SQLite moves all of the log into
    /// the file. Blocks on the disk.
    func close() throws {
        try closeConnections { try main.close() }
    }

    func closeKeepingLog() throws -> Bool {
        try closeConnections {
            let isKept = main.inDatabase { stratus_empty_log($0.sqliteConnection) != 0 }
            try main.close()
            return isKept
        }
    }

    /// - Parameter closeMain: Closes the writing connection.
    private func closeConnections<Outcome>(_ closeMain: () throws -> Outcome) throws -> Outcome {
        do {
            readsOnMain.store(false, ordering: .relaxed)
            try reads.close()
            commits.close()
            checkpoints.close()
            return try closeMain()
        } catch {
            throw StorageError.translating(error, path: path)
        }
    }

    private static func snapshot<Outcome>(
        of database: Database, _ body: (Database) throws -> Outcome
    ) throws -> Outcome {
        try database.cachedStatement(sql: "BEGIN DEFERRED").execute()
        do {
            let outcome = try body(database)
            try database.cachedStatement(sql: "COMMIT").execute()
            return outcome
        } catch {
            let first = error
            do {
                try database.rollback()
            } catch {
                // Nothing was written, so nothing is undone; the first error is the one that is thrown.
            }
            throw first
        }
    }
}
