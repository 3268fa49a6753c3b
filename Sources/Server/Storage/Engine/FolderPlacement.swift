import Foundation
import Logging
import StratusRecords
import StratusRuntime

/// Databases and blobs in a data folder, each database in a file of its own.
struct FolderPlacement: Placement {
    let folder: DataFolder
    let directory: any OpenDatabase
    let reserve: DiskReserve?
    private let limits: StorageLimits
    private let world: World
    private let files: MarkedFolderFiles

    init(
        _ folder: DataFolder, limits: StorageLimits, world: World, logger: Logger
    ) throws {
        self.folder = folder
        self.limits = limits
        self.world = world
        // Not by a command beside a service, which may be receiving an upload.
        if folder.isLocked { try folder.sweepIncoming() }
        // Only a service keeps a reserve, not a command beside it.
        let reserve =
            folder.isLocked && limits.reserveBytes > 0
            ? DiskReserve(folder: folder.path, bytes: limits.reserveBytes, logger: logger) : nil
        self.reserve = reserve
        files = MarkedFolderFiles(
            folder: folder, limits: limits, world: world, reserve: reserve, logger: logger)
        directory = try files.directory().open()
    }

    var work: WorkThread { WorkThread(world) }
    var openDatabases: Int? { limits.openDatabases }
    var idleSeconds: Double? { limits.idleSeconds }
    var isExclusive: Bool { folder.isLocked }

    func open(_ address: DatabaseAddress) throws -> any OpenDatabase {
        try reserve?.admitFile(folder.path(of: address))
        return try files.database(address).open()
    }

    func blobs(for address: DatabaseAddress) -> any BlobStore {
        FileBlobStore(
            folder: folder.assetFolder(for: address), incoming: folder.incomingFolder,
            partials: folder.partialFolder, world: world, reserve: reserve)
    }

    func databases() throws -> [DatabaseAddress] {
        try folder.databases(endingWith: DataFolder.fileEnding)
    }

    func missingDatabases() throws -> [DatabaseAddress] { try folder.missingDatabases() }

    func databasesWithBlobs() throws -> [DatabaseAddress] {
        // Assets whose database is missing are kept: it may be restored.
        try folder.databases(endingWith: DataFolder.assetsEnding)
            .filter { access(folder.path(of: $0), F_OK) == 0 }
    }

    func deleteDatabases(of address: ContainerAddress) throws {
        try folder.deleteDatabases(of: address)
    }

    func path(of address: DatabaseAddress) -> String { folder.path(of: address) }

    func unknownFiles() throws -> [String] { try folder.unknownFiles() }

    func files(of address: DatabaseAddress) -> DamagedDatabases.Files {
        .init(at: folder.path(of: address))
    }

    func release() { folder.release() }
}
