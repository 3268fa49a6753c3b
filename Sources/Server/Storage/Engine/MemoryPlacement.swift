import StratusRecords
import StratusRuntime
import Synchronization

/// Databases and blobs in memory, which end with the engine: no files, no locks, no threads.
///
/// The rows are in the same tables and are accessed by the same statements as those of a folder. The blobs are not in
/// SQLite here either.
final class MemoryPlacement: Placement {
    let directory: any OpenDatabase
    private let world: World
    private let spares: SpareDatabases?
    private let contents = Mutex(Contents())

    private struct Contents {
        var databases: [DatabaseAddress: SQLiteMemory] = [:]
        /// Copies that have not been opened yet.
        var copies: [DatabaseAddress: SQLiteMemory] = [:]
        var blobs: [DatabaseAddress: MemoryBlobStore] = [:]
    }

    /// - Parameter spares: The connections that databases of earlier placements left, and where the databases of this
    ///   one leave theirs.
    init(world: World, spares: SpareDatabases? = nil) throws {
        self.world = world
        self.spares = spares
        directory = try SQLiteMemory(
            path: "memory:directory", format: DirectoryFile.format(world: world),
            template: DirectoryFile.template, spares: spares)
    }

    private init(world: World, directory: SQLiteMemory, _ contents: Contents) {
        self.world = world
        spares = nil
        self.directory = directory
        self.contents.withLock { $0 = contents }
    }

    /// A placement with copies of these databases, which are opened when they are needed.
    func copy(world: World) throws -> MemoryPlacement {
        let (databases, unopened, blobs) = contents.withLock { contents in
            (contents.databases, contents.copies, contents.blobs)
        }
        var copied = Contents(blobs: blobs)
        for (address, database) in databases.merging(unopened, uniquingKeysWith: { $1 }) {
            copied.copies[address] = try database.copy()
        }
        guard let directory = directory as? SQLiteMemory else {
            preconditionFailure("A placement in memory has its directory in memory.")
        }
        return MemoryPlacement(world: world, directory: try directory.copy(), copied)
    }

    var work: WorkThread { .caller }
    var openDatabases: Int? { nil }
    var idleSeconds: Double? { nil }
    var isExclusive: Bool { true }

    func open(_ address: DatabaseAddress) throws -> any OpenDatabase {
        if let copy = contents.withLock({ $0.copies.removeValue(forKey: address) }) {
            contents.withLock { $0.databases[address] = copy }
            return copy
        }
        let database = try SQLiteMemory(
            path: path(of: address), format: RecordFile.format(world: world),
            template: RecordFile.template, spares: spares)
        contents.withLock { $0.databases[address] = database }
        return database
    }

    func blobs(for address: DatabaseAddress) -> any BlobStore {
        contents.withLock { contents in
            if let blobs = contents.blobs[address] { return blobs }
            let blobs = MemoryBlobStore()
            contents.blobs[address] = blobs
            return blobs
        }
    }

    func databases() -> [DatabaseAddress] {
        contents.withLock { Self.sorted(Set($0.databases.keys).union($0.copies.keys)) }
    }

    func missingDatabases() -> [DatabaseAddress] { [] }

    func databasesWithBlobs() -> [DatabaseAddress] {
        contents.withLock {
            Self.sorted(
                Set($0.databases.keys).union($0.copies.keys).intersection($0.blobs.keys))
        }
    }

    func deleteDatabases(of address: ContainerAddress) {
        // Every database here is open, and the engine deletes only closed ones.
    }

    func path(of address: DatabaseAddress) -> String {
        DataFolder.path(of: address, in: "memory:", ending: "")
    }

    func unknownFiles() -> [String] { [] }

    func files(of address: DatabaseAddress) -> DamagedDatabases.Files { .init() }

    var reserve: DiskReserve? { nil }

    func release() {}

    /// In the order of a folder's listing, so that equal runs have equal orders.
    private static func sorted(_ addresses: Set<DatabaseAddress>) -> [DatabaseAddress] {
        addresses.map { (DataFolder.path(of: $0, in: ""), $0) }
            .sorted { $0.0 < $1.0 }
            .map(\.1)
    }
}
