import Logging
import StratusRecords
import StratusRuntime

/// The databases of one service in SQLite: in a data folder, or in memory.
///
/// In a folder each database is a file, with a small directory beside them, and every commit is on the disk
/// before it returns. One service has the folder at a time; commands may work beside it (``Access``).
///
/// ```swift
/// let storage = try SQLiteStorageEngine(folder: "/var/lib/stratus")
/// let store = try await storage.store(for: address)
/// try await storage.close()
/// ```
///
/// In memory (``inMemory(world:)``) the same statements work on the same tables, without files and threads,
/// for tests and for trying the service out.
public final class SQLiteStorageEngine: StorageEngine {
    /// How a process has a data folder.
    public enum Access: Hashable, Sendable {
        /// Alone, as a service has it: what it remembers cannot become wrong behind its back.
        case alone
        /// Beside the service that may have it, as a command has it: nothing is remembered from one
        /// request to the next, and the service notices by ``Directory/changesByOthers()``.
        case beside
    }

    let placement: any Placement
    private let databasesInUse: OpenDatabases

    /// Opens a data folder, or makes one.
    ///
    /// Waits for the disk; meant for the start of a service.
    ///
    /// - Parameters:
    ///   - folder: The path of the folder.
    ///   - access: Alone, unless a service may have the folder.
    ///   - limits: How much is kept open, and how many writes share a commit.
    ///   - world: Its random bytes name new histories and make the signing key.
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
        self.init(
            try FolderPlacement(
                folder, limits: limits, world: world, logger: logger))
    }

    /// Makes an empty engine in memory. When the last reference to it is gone, so are its data.
    ///
    /// Reads and writes of one database take turns on the threads of those who ask.
    ///
    /// - Parameter world: Its random bytes name new histories and make the signing key.
    public static func inMemory(world: World = .live) -> SQLiteStorageEngine {
        do {
            return SQLiteStorageEngine(try MemoryPlacement(world: world))
        } catch {
            // No disk that could be full and no file that could be damaged: as where Swift itself finds
            // no memory.
            preconditionFailure("SQLite could not make a database in memory: \(error)")
        }
    }

    private init(_ placement: some Placement) {
        self.placement = placement
        databasesInUse = OpenDatabases(
            limit: placement.openDatabases, work: placement.work
        ) { try placement.open($0) }
    }

    public var directory: any Directory { SQLiteDirectory(database: placement.directory) }

    public func store(for address: DatabaseAddress) async throws -> any RecordStore {
        // Opened once here, so that what is wrong with the file shows now.
        try await databasesInUse.use(address) { _ in }
        return SQLiteRecordStore(address: address, databases: databasesInUse)
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

    public var figures: StorageFigures { StorageFigures(openDatabases: openDatabases) }

    /// How many databases are open.
    var openDatabases: Int { databasesInUse.count }

    /// Runs `body` with a database, which stays open as long.
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
            try await database.write { try body(SQLiteTransaction($0)) }
        }
    }
}
