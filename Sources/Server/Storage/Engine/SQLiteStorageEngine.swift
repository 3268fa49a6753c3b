import Logging
import StratusRecords
import StratusRuntime

/// The databases of one service in SQLite: in a data folder, or in memory.
///
/// In a folder each database is a file, with a small directory beside them, and every commit is on the disk before it
/// returns. One service uses the folder at a time; commands may run beside it (``Access``).
///
/// ```swift
/// let storage = try SQLiteStorageEngine(folder: "/var/lib/stratus")
/// let store = try await storage.store(for: address)
/// try await storage.close()
/// ```
///
/// In memory (``inMemory(world:)``) the same statements run on the same tables, without files and threads, for tests
/// and for trying the service out.
public final class SQLiteStorageEngine: StorageEngine {
    /// How a process uses a data folder.
    public enum Access: Hashable, Sendable {
        /// Alone, as a service does: no other process can change what it has cached.
        case alone
        /// Beside a service, as a command does: nothing is cached from one request to the next, and the service notices
        /// changes by ``Directory/changesByOthers()``.
        case beside
    }

    let placement: any Placement
    private let databasesInUse: OpenDatabases
    let epochs: WritingEpochs

    /// Opens a data folder, or creates one.
    ///
    /// Blocks on the disk; meant for the start of a service.
    ///
    /// - Parameters:
    ///   - path: The path of the folder.
    ///   - access: Alone, unless a service may use the folder at the same time.
    ///   - limits: How much is kept open, and how many writes share a commit.
    ///   - world: Its random bytes name epochs and make the signing key; its clocks show when a machine was suspended
    ///     with its memory and resumed.
    ///   - logger: Gets a line for each file that is migrated.
    /// - Throws: ``StorageError`` with ``StorageError/Code/inUse`` when another process has the folder,
    ///   ``StorageError/Code/notWritable``, ``StorageError/Code/unknownFormat``,
    ///   ``StorageError/Code/diskFull`` or ``StorageError/Code/corrupt``.
    public convenience init(
        folder path: String, access: Access = .alone, limits: StorageLimits = StorageLimits(),
        world: World = .live,
        logger: Logger = Logger(label: "stratus.storage")
    ) throws {
        let folder = try DataFolder(path: path, isLocked: access == .alone)
        if folder.completedRestore {
            logger.notice(
                "A restore that was interrupted is complete now.", metadata: ["path": "\(path)"])
        }
        self.init(
            try FolderPlacement(
                folder, limits: limits, world: world, logger: logger),
            world: world, logger: logger)
    }

    /// Makes an empty engine in memory. Its data ends with the last reference to it.
    ///
    /// Reads and writes of one database take turns on the callers' threads. It reuses connections that earlier engines
    /// of the process left, if there are any: their content is replaced, and their statements stay prepared.
    ///
    /// - Parameter world: Its random bytes name epochs and make the signing key.
    public static func inMemory(world: World = .live) -> SQLiteStorageEngine {
        inMemory(world: world, spares: .shared)
    }

    /// Makes an empty engine in memory that reuses connections which earlier engines left.
    package static func inMemory(world: World, spares: SpareDatabases) -> SQLiteStorageEngine {
        do {
            return SQLiteStorageEngine(
                try MemoryPlacement(world: world, spares: spares), world: world,
                logger: Logger(label: "stratus.storage"))
        } catch {
            // There is no disk that could be full and no file that could be damaged: as when Swift itself has no
            // memory, the process cannot continue.
            preconditionFailure("SQLite could not make a database in memory: \(error)")
        }
    }

    init(_ placement: some Placement, world: World, logger: Logger) {
        let epochs = WritingEpochs(world)
        self.placement = placement
        self.epochs = epochs
        databasesInUse = OpenDatabases(placement, world: world, logger: logger) {
            epochs.opened($0, $1)
        }
    }

    public var directory: any Directory { SQLiteDirectory(database: placement.directory) }

    public func store(for address: DatabaseAddress) async throws -> any RecordStore {
        // Opened once here, so that an error of the file is reported now.
        try await databasesInUse.use(address) { _ in }
        return SQLiteRecordStore(address: address, databases: databasesInUse, epochs: epochs)
    }

    public func blobs(for address: DatabaseAddress) async throws -> any BlobStore {
        placement.blobs(for: address)
    }

    public func databasesWithBlobs() async throws -> [DatabaseAddress] {
        try await placement.work.run { [placement] in try placement.databasesWithBlobs() }
    }

    public func databases() async throws -> [DatabaseAddress] {
        try await placement.work.run { [placement] in try placement.databases() }
    }

    public func close() async throws {
        try await databasesInUse.close()
        try await placement.work.run { [placement] in
            try placement.directory.close()
            placement.release()
        }
    }

    public var condition: StorageCondition {
        var condition = StorageCondition()
        condition.openDatabases = databasesInUse.count
        condition.damagedDatabases = databasesInUse.damagedCount
        condition.isReadOnly = placement.reserve?.isReadOnly ?? false
        return condition
    }

    /// How many databases are open.
    var openDatabases: Int { databasesInUse.count }

    /// How often a database was opened so far.
    var openings: Int { databasesInUse.openings }

    /// Runs `body` with a database, which stays open until it returns.
    func withDatabase<Outcome: Sendable>(
        of address: DatabaseAddress, _ body: (any OpenDatabase) async throws -> Outcome
    ) async throws -> Outcome {
        try await databasesInUse.use(address, body)
    }
}

/// The records of one database.
struct SQLiteRecordStore: RecordStore {
    let address: DatabaseAddress
    let databases: OpenDatabases
    let epochs: WritingEpochs

    func read<Outcome: Sendable>(
        _ length: ReadLength,
        _ body: @escaping @Sendable (any StoreReader) throws -> Outcome
    ) async throws -> Outcome {
        try await databases.use(address) { database in
            try await database.read(length) { try body(SQLiteTransaction($0)) }
        }
    }

    func writeRecords<Outcome: Sendable>(
        _ body: @escaping @Sendable (any RecordTransaction) throws -> Outcome
    ) async throws -> Outcome {
        try await databases.use(address) { database in
            let epoch = database.epoch.epoch ?? epochs.epoch(of: address)
            let (outcome, version) = try await database.write { database in
                let transaction = SQLiteTransaction(database, writing: epoch)
                return (try body(transaction), transaction.takenVersion)
            }
            if let version { epoch.committed(version) }
            return outcome
        }
    }
}
