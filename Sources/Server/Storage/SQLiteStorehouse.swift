import Foundation
import StratusRecords

/// The databases of one service in a folder: a file for each, and a small directory beside them.
///
/// One service has the folder at a time; commands may work beside it (``Access``). Every commit is on
/// the disk before it is answered.
///
/// ```swift
/// let house = try SQLiteStorehouse(folder: "/var/lib/stratus")
/// let store = try await house.store(for: address)
/// try await house.close()
/// ```
public final class SQLiteStorehouse: Storehouse {
    /// How a process has a data folder.
    public enum Access: Hashable, Sendable {
        /// Alone, as a service has it: what it remembers cannot become wrong behind its back.
        case alone
        /// Beside the service that may have it, as a command has it: nothing is remembered from one
        /// question to the next, and the service notices by ``Directory/changesByOthers()``.
        case beside
    }

    let folder: DataFolder
    let directoryFile: SQLiteFile
    private let files: OpenFiles
    private let random: RandomSource

    /// Opens a data folder, or makes one.
    ///
    /// Waits for the disk; meant for the start of a service.
    ///
    /// - Parameters:
    ///   - folder: the path of the folder.
    ///   - access: alone, unless a service may have the folder.
    ///   - limits: how much is kept open and folded together.
    ///   - random: names new histories and makes the signing key.
    /// - Throws: ``StorageError`` with ``StorageError/Code/inUse`` when another process has the folder,
    ///   ``StorageError/Code/notWritable``, ``StorageError/Code/unknownFormat``,
    ///   ``StorageError/Code/diskFull`` or ``StorageError/Code/corrupt``.
    public init(
        folder path: String, access: Access = .alone, limits: StorageLimits = StorageLimits(),
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) throws {
        let source = RandomSource(random)
        let folder = try DataFolder(path: path, isLocked: access == .alone)
        self.folder = folder
        self.random = source
        // Beside a service an upload may be under way.
        if access == .alone { try folder.sweepIncoming() }
        directoryFile = try SQLiteFile(
            path: folder.directoryFile, format: DirectoryFile.format(random: source),
            limits: limits)
        let format = RecordFile.format(random: source)
        files = OpenFiles(limit: limits.openDatabases) { address in
            try SQLiteFile(path: folder.file(for: address), format: format, limits: limits)
        }
    }

    public var directory: any Directory { SQLiteDirectory(file: directoryFile) }

    public func store(for address: DatabaseAddress) async throws -> any RecordStore {
        // Opened once here, so that what is wrong with the file shows now.
        try await files.use(address) { _ in }
        return SQLiteRecordStore(address: address, files: files)
    }

    public func blobs(for address: DatabaseAddress) async throws -> any BlobStore {
        FileBlobStore(
            folder: folder.assetFolder(for: address), incoming: folder.incomingFolder,
            random: random)
    }

    public func databasesWithBlobs() async throws -> [DatabaseAddress] {
        try await onDiskThread { [folder] in
            // Assets whose database is not there wait for it: it may be about to be restored.
            try folder.databases(endingWith: DataFolder.assetsEnding)
                .filter { access(folder.path(of: $0), F_OK) == 0 }
        }
    }

    public func databases() async throws -> [DatabaseAddress] {
        try await onDiskThread { [folder] in
            try folder.databases(endingWith: DataFolder.fileEnding)
        }
    }

    public func close() async throws {
        try await files.close()
        try await onDiskThread { [directoryFile, folder] in
            try directoryFile.close()
            folder.release()
        }
    }

    /// How many databases' files are open. For tests.
    var openFiles: Int { files.count }

    /// The file of a database, open as long as `body` runs.
    func withFile<Outcome: Sendable>(
        of address: DatabaseAddress, _ body: (SQLiteFile) async throws -> Outcome
    ) async throws -> Outcome {
        try await files.use(address, body)
    }
}

/// The records of one database's file.
struct SQLiteRecordStore: RecordStore {
    let address: DatabaseAddress
    let files: OpenFiles

    func read<Outcome: Sendable>(
        _ length: ReadLength,
        _ body: @escaping @Sendable (any StoreReader) throws -> Outcome
    ) async throws -> Outcome {
        try await files.use(address) { file in
            try await file.read(length) { try body(SQLiteTransaction($0)) }
        }
    }

    func write<Outcome: Sendable>(
        _ body: @escaping @Sendable (any StoreWriter) throws -> Outcome
    ) async throws -> Outcome {
        try await files.use(address) { file in
            try await file.write { try body(SQLiteTransaction($0)) }
        }
    }
}
