import GRDB
import StratusClient
import StratusRuntime
import Synchronization

/// The cache's file: one SQLite database with all cloud databases of one user.
///
/// It has what they share: the connections, the names of encrypted fields, and the lock that decides which process
/// syncs.
final class CacheFile: Sendable {
    let path: String
    let connections: OpenPool
    /// The fields that the app encrypts; see `CacheStore+Encryption.swift`.
    let encryptedKeys: Mutex<EncryptedKeys>
    let lock: CacheLock
    /// The files of assets.
    let assets: AssetFiles
    /// Identifies the changes of this instance, as opposed to those of other instances and processes.
    let origin: Int64
    /// The events that are not written yet; see `CacheLog`.
    let events = Mutex<[LoggedEvent]>([])
    /// The last change that observers were notified of.
    let seenChange: Mutex<Int64>
    /// The file in memory; nil for a file on disk.
    private let memory: MemoryCacheFile?
    /// The queue on which async calls wait for the file.
    let disk: DiskQueue
    /// The declared types, with the text in the file from which they were read.
    let knownTypes = Mutex<(text: String, types: [String: IndexedType])>(("", [:]))
    /// The texts of queries whose statements the connections keep.
    let keptQueries = Mutex<Set<String>>([])
    /// Restricts an app's own SQL to its own tables.
    let appStatements: AppStatements
    /// The number of rows that queries and observers have read. It is for tests only, because no result shows how many
    /// rows were read.
    let rowsRead = Atomic<Int>(0)
    /// The number of snapshots of the file that observers have read; for tests only, like ``rowsRead``.
    let snapshotsRead = Atomic<Int>(0)

    var isClosed: Bool { connections.pool == nil }

    /// The connections, for tests: ``waitUntilClosed()`` does not wait for their use.
    ///
    /// - Throws: as ``withPool(_:)``.
    var pool: any DatabaseWriter {
        get throws {
            guard let pool = connections.pool else { throw closedError }
            return pool
        }
    }

    private var closedError: DatabaseError {
        DatabaseError(
            resultCode: .SQLITE_MISUSE,
            message: "The cache \(path) was closed. Open a new CloudCache.")
    }

    /// Uses the connections.
    ///
    /// - Throws: SQLite's error after ``close()``, and what the body throws.
    func withPool<Value>(_ body: (any DatabaseWriter) throws -> Value) throws -> Value {
        guard let value = try connections.use(body) else { throw closedError }
        return value
    }

    /// Opens or creates the file.
    ///
    /// - Throws: ``CacheError`` when the file cannot be opened, or when a newer app wrote it.
    convenience init(path: String, world: World) throws {
        try self.init(
            path: path, pool: CacheFormat.open(path), lock: CacheLock(cachePath: path), world: world
        )
    }

    /// Opens a file in memory.
    convenience init(memory: MemoryCacheFile, world: World) throws {
        try self.init(
            path: "memory", pool: memory.queue, lock: CacheLock(in: memory), memory: memory,
            world: world)
    }

    private init(
        path: String, pool: any DatabaseWriter, lock: CacheLock, memory: MemoryCacheFile? = nil,
        world: World
    ) throws {
        self.path = path
        self.memory = memory
        disk = DiskQueue(world)
        appStatements = memory?.appStatements ?? AppStatements()
        if memory == nil {
            pool.add(transactionObserver: appStatements, extent: .databaseLifetime)
        }
        connections = OpenPool(pool)
        encryptedKeys = Mutex(try Self.encryptedKeys(in: pool))
        self.lock = lock
        assets = AssetFiles(
            path: memory.map(\.assetFolder) ?? path + AssetFiles.folderSuffix, world: world)
        origin = Int64(truncatingIfNeeded: world.randomNumber())
        seenChange = Mutex(try Self.lastChange(in: pool))
    }

    /// Reads one snapshot, and marks the file as damaged if SQLite finds that it is.
    ///
    /// - Throws: what SQLite and the body throw.
    func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try notingDamage {
            // In memory nothing is written between two statements of the one connection.
            try withPool { try memory == nil ? $0.read(body) : $0.unsafeRead(body) }
        }
    }

    /// Reads for one of the cache's sequences; nil if the sequence ends.
    ///
    /// - Throws: what the body throws, unless the sequence ends.
    func readUntilEnd<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value? {
        do {
            return try await disk.read(body)
        } catch {
            if endsSequence(error) { return nil }
            throw error
        }
    }

    /// Whether a sequence ends instead of throwing the error: the cache was closed, or the task of the loop was cancelled.
    func endsSequence(_ error: any Error) -> Bool { isClosed || error is CancellationError }

    /// Marks the file as damaged if the body finds that it is.
    ///
    /// - Throws: what the body throws; ``CacheError`` `damaged` for a row that cannot be decoded.
    func notingDamage<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as RowDecodingError {
            noteDamage(error)
            throw CacheError.damagedRow
        } catch {
            noteDamage(error)
            throw error
        }
    }

    /// Runs one transaction.
    ///
    /// - Throws: ``CacheError`` `storageFull`, and what SQLite and the body throw; then nothing is written.
    func write<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try notingDamage {
            do {
                return try withPool { pool in
                    let failure = memory?.nextWriteFailure()
                    if failure == .storageFull {
                        throw DatabaseError(
                            resultCode: .SQLITE_FULL, message: "The test filled the disk.")
                    }
                    if failure == .killedBefore { throw killed() }
                    let value = try writeWithEvents(in: pool, body)
                    if failure == .killedAfter { throw killed() }
                    lock.touch()
                    return value
                }
            } catch let error as DatabaseError
                where [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode)
            {
                throw CacheError.damaged(error)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
                if isOutOfNumbers() { throw CacheError.damaged(error) }
                throw CacheError.storageFull(cause: error)
            }
        }
    }

    /// Runs a transaction that also writes the waiting events, once: those that were not committed wait for the next
    /// transaction.
    private func writeWithEvents<Value>(
        in pool: any DatabaseWriter, _ body: (Database) throws -> Value
    ) throws -> Value {
        var taken: [LoggedEvent] = []
        do {
            return try pool.write { database in
                let value = try body(database)
                taken = events.withLock { events in
                    defer { events = [] }
                    return events
                }
                try writeEvents(taken, database)
                return value
            }
        } catch {
            events.withLock { $0 = (taken + $0).suffix(CacheLog.limit) }
            throw error
        }
    }

    /// Simulates the end of the process: no later write reaches the file.
    private func killed() -> DatabaseError {
        close()
        return DatabaseError(resultCode: .SQLITE_MISUSE, message: "The test killed this cache.")
    }

    /// Closes the file as soon as nothing reads or writes it any more.
    func close() {
        lock.close()
        connections.close()
    }

    /// After ``close()``: waits until nothing reads or writes the file any more, unless this thread itself does.
    func waitUntilClosed() {
        // A file in memory stays open.
        if memory == nil { connections.waitUntilUnused() }
    }
}
