import Dispatch
import GRDB
import Logging
import StratusSQLite
import Synchronization

/// One open database file: a connection that writes, a few that read.
final class SQLiteFile: OpenDatabase {
    let path: String
    private let pool: DatabasePool
    private let commits: GroupCommit
    private let checkpoints: Checkpointer
    private let readers: Int
    private let reading = Mutex(Reading())
    /// Empty when nobody reads.
    private let reads = DispatchGroup()

    private struct Reading {
        var isClosed = false
        var count = 0
    }

    /// Opens the file, makes it when it is not there, and migrates it. Waits for the disk.
    ///
    /// - Parameter mark: Looks at the open database and finds the mark that is raised by its commits.
    init(
        path: String, format: StoredFormat, limits: StorageLimits, logger: Logger,
        mark: (Database) throws -> HighWaterMark? = { _ in nil }
    ) throws {
        self.path = path
        readers = limits.readersPerDatabase
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.maximumReaderCount = limits.readersPerDatabase
        configuration.busyMode = .timeout(limits.lockSeconds)
        configuration = format.configuration(configuration, forFileAt: path)
        do {
            let checkpoints = Checkpointer(
                path: path, configuration: configuration, limits: limits)
            let (pool, upgrade) = try format.openFile(at: path, configuration: configuration)
            pool.writeWithoutTransaction { checkpoints.observe($0) }
            self.pool = pool
            self.checkpoints = checkpoints
            commits = GroupCommit(
                pool: pool, limits: limits, checkpoints: checkpoints,
                mark: try pool.writeWithoutTransaction(mark))
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
    }

    /// Runs `body` on one snapshot.
    ///
    /// A page is read on the caller's thread while a reading connection is free: that saves two thread
    /// switches, which cost more than a page of changes. When no connection is free, or for a whole zone,
    /// the read waits and runs on a thread of GRDB, so that it does not block one of Swift's few threads.
    func read<Outcome: Sendable>(
        _ length: ReadLength, _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome {
        guard try beginRead(), length == .page else { return try await readLater(body) }
        defer { endRead() }
        return try readNow(body)
    }

    private func readNow<Outcome>(_ body: (Database) throws -> Outcome) throws -> Outcome {
        do {
            return try pool.unsafeRead { try Self.snapshot(of: $0, body) }
        } catch {
            throw StorageError.translating(error, path: path)
        }
    }

    private func readLater<Outcome: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome {
        try await withCheckedThrowingContinuation { continuation in
            pool.asyncUnsafeRead { [self] access in
                defer { endRead() }
                let outcome = Result { try Self.snapshot(of: access.get(), body) }
                continuation.resume(
                    with: outcome.mapError { StorageError.translating($0, path: path) })
            }
        }
    }

    /// Runs `body` in a transaction, perhaps together with others, and returns when it is durable.
    func write<Outcome: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome {
        try await commits.write(body)
    }

    /// Finishes what is under way and closes all connections. Waits for the disk.
    func close() throws {
        reading.withLock { $0.isClosed = true }
        reads.wait()
        commits.close()
        checkpoints.wait()
        do {
            // SQLite folds the log into the file when the last connection closes, if that one writes.
            pool.invalidateReadOnlyConnections()
            try pool.close()
        } catch {
            throw StorageError.translating(error, path: path)
        }
    }

    /// Counts a read, so that no connection is closed under it.
    ///
    /// - Returns: whether a connection is free for it.
    private func beginRead() throws -> Bool {
        try reading.withLock { reading in
            if reading.isClosed { throw StorageError.closed(path: path) }
            reads.enter()
            reading.count += 1
            return reading.count <= readers
        }
    }

    private func endRead() {
        reading.withLock { $0.count -= 1 }
        reads.leave()
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
                // Nothing was written, so nothing is undone; the first error says what is wrong.
            }
            throw first
        }
    }
}
