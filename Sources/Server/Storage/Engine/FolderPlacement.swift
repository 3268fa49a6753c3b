import Foundation
import Logging
import StratusRecords
import StratusRuntime

/// Databases and blobs in a data folder, each database in a file of its own.
struct FolderPlacement: Placement {
    let folder: DataFolder
    let directory: any OpenDatabase
    private let limits: StorageLimits
    private let world: World
    private let files: MarkedFolderFiles

    init(
        _ folder: DataFolder, limits: StorageLimits, world: World, logger: Logger
    ) throws {
        self.folder = folder
        self.limits = limits
        self.world = world
        // When a service has the folder, an upload may be under way.
        if folder.isLocked { try folder.sweepIncoming() }
        files = MarkedFolderFiles(
            folder: folder, limits: limits, world: world, logger: logger)
        directory = try files.directory().open()
    }

    var work: WorkThread { .disk }
    var openDatabases: Int? { limits.openDatabases }
    var isExclusive: Bool { folder.isLocked }

    func open(_ address: DatabaseAddress) throws -> any OpenDatabase {
        try files.database(address).open()
    }

    func blobs(for address: DatabaseAddress) -> any BlobStore {
        FileBlobStore(
            folder: folder.assetFolder(for: address), incoming: folder.incomingFolder,
            world: world)
    }

    func databases() throws -> [DatabaseAddress] {
        try folder.databases(endingWith: DataFolder.fileEnding)
    }

    func missingDatabases() throws -> [DatabaseAddress] { try folder.missingDatabases() }

    func databasesWithBlobs() throws -> [DatabaseAddress] {
        // Assets whose database is missing are kept: it may be about to be restored.
        try folder.databases(endingWith: DataFolder.assetsEnding)
            .filter { access(folder.path(of: $0), F_OK) == 0 }
    }

    func deleteDatabases(of address: ContainerAddress) throws {
        try folder.deleteDatabases(of: address)
    }

    func path(of address: DatabaseAddress) -> String { folder.path(of: address) }

    func strangers() throws -> [String] { try folder.strangers() }

    func release() { folder.release() }
}
