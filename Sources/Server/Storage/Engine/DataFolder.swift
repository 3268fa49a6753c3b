import Foundation
import StratusRecords
import StratusRuntime
import Synchronization

/// The data folder, locked for one service.
///
/// ```
/// format                                        "stratus data 1"
/// lock                                          locked while a service has the folder
/// directory.sqlite
/// directory.mark                                how many commits of it were acknowledged
/// databases/<container>/<environment>/public.sqlite
/// databases/<container>/<environment>/<owner>.sqlite
/// databases/<container>/<environment>/<owner>.mark
/// databases/<container>/<environment>/<owner>.assets/aa/bb/<digest>.<generation>
/// incoming                                      assets that are being uploaded
/// partial/<owner>/<name>.<boot>                 assets that are uploaded in several requests
/// reserve                                       room for a full disk
/// ```
///
/// Files have the rights 0600 and folders 0700; a folder with more is refused.
final class DataFolder: Sendable {
    private static let formatPrefix = "stratus data "
    private static let formatNumber = 1
    private static let format = "\(formatPrefix)\(formatNumber)\n"

    let path: String
    /// Nil after it was released, and when the folder is read while a service has it.
    private let lock: Mutex<FolderLock?>
    private let foldersBeingMade = Mutex(())
    /// Whether a restore that was interrupted was completed.
    let completedRestore: Bool

    /// Creates the folder if it does not exist, and locks it for a service.
    init(path: String, isLocked: Bool) throws {
        self.path = path
        try Self.makeFolder(path)
        try Self.checkRights(path)
        // The lock closes its files itself, once, even if something below fails.
        lock = Mutex(isLocked ? try FolderLock(path) : nil)
        completedRestore = isLocked ? try FolderExchange(path).complete() : false
        try Self.checkFormat(path + "/format")
    }

    /// Releases the lock, so that another process can use the folder.
    func release() {
        lock.withLock { $0 = nil }
    }

    /// Whether this process has locked the folder.
    var isLocked: Bool { lock.withLock { $0 != nil } }

    var directoryFile: String { path + "/directory.sqlite" }

    /// The file of a database; creates its folder.
    func file(for address: DatabaseAddress) throws -> String {
        let file = Self.path(of: address, in: path)
        if access(file, F_OK) != 0 {
            // One at a time: otherwise a caller could find a folder that another one has just created, and continue
            // before it is on the disk.
            try foldersBeingMade.withLock { _ in
                try Self.makeFolder(Self.folder(of: address.containerAddress, in: path))
            }
        }
        return file
    }

    static let fileEnding = ".sqlite"
    static let assetsEnding = ".assets"

    /// The folder of a database's assets; it is created with the first of them.
    func assetFolder(for address: DatabaseAddress) -> String {
        Self.path(of: address, in: path, ending: Self.assetsEnding)
    }

    /// The folder of assets that are being uploaded.
    var incomingFolder: String { path + "/incoming" }

    /// The folder of resumable uploads.
    var partialFolder: String { path + "/partial" }

    /// Removes what interrupted uploads left behind.
    func sweepIncoming() throws {
        for name in try Self.names(in: incomingFolder) {
            let file = incomingFolder + "/" + name
            guard unlink(file) == 0 || errno == ENOENT else {
                throw StorageError.translating(errno: errno, path: file)
            }
        }
    }

    static func path(
        of address: DatabaseAddress, in folder: String, ending: String = fileEnding
    ) -> String {
        Self.folder(of: address.containerAddress, in: folder) + "/" + FileName.of(address.tenant)
            + ending
    }

    /// Every database that has a file, or a folder of assets.
    func databases(endingWith ending: String) throws -> [DatabaseAddress] {
        var addresses: [DatabaseAddress] = []
        for encoded in try Self.names(in: path + "/databases") {
            guard let container = FileName.decode(encoded) else { continue }
            for environment in ContainerEnvironment.allCases {
                let address = ContainerAddress(container: container, environment: environment)
                for file in try Self.names(in: Self.folder(of: address, in: path))
                where file.hasSuffix(ending) {
                    let name = String(file.dropLast(ending.utf8.count))
                    guard let tenant = FileName.tenant(name) else { continue }
                    addresses.append(DatabaseAddress(address, tenant))
                }
            }
        }
        return addresses
    }

    func path(of address: DatabaseAddress) -> String { Self.path(of: address, in: path) }

    /// Files in the databases' folder that are not Stratus's.
    func unknownFiles() throws -> [String] {
        var unknownFiles: [String] = []
        let root = path + "/databases"
        for container in try Self.names(in: root) {
            guard FileName.decode(container) != nil else {
                unknownFiles.append(root + "/" + container)
                continue
            }
            for environment in try Self.names(in: root + "/" + container) {
                let folder = root + "/" + container + "/" + environment
                guard ContainerEnvironment(rawValue: environment) != nil else {
                    unknownFiles.append(folder)
                    continue
                }
                unknownFiles += try Self.names(in: folder).filter { !Self.isOurs($0) }.map {
                    folder + "/" + $0
                }
            }
        }
        return unknownFiles
    }

    /// Whether a name is that of a database's file, of its write-ahead log, of the log's index, of its high-water mark,
    /// or of the folder of its assets.
    private static func isOurs(_ name: String) -> Bool {
        for ending in [".sqlite", ".sqlite-wal", ".sqlite-shm", ".mark", ".assets"]
        where name.hasSuffix(ending) {
            return FileName.tenant(String(name.dropLast(ending.count))) != nil
        }
        return false
    }

    static func folder(of address: ContainerAddress, in folder: String) -> String {
        folder + "/databases/" + FileName.encode(address.container) + "/"
            + address.environment.rawValue
    }

    static func names(in folder: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: folder) else { return [] }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        } catch {
            throw StorageError.notWritable(path: folder, underlying: error)
        }
    }

    /// Creates a folder and those above it, and flushes them, so that they survive a power cut.
    ///
    /// A folder that existed already is not flushed again: each flush waits for the disk.
    static func makeFolder(_ path: String) throws {
        var folder = URL(fileURLWithPath: path)
        for _ in 0..<(try FileRights.makeFolder(path)) {
            // A new folder is a name in the one above it.
            folder.deleteLastPathComponent()
            try sync(folder.path)
        }
    }

    /// Flushes a file, or the names in a folder, to the disk.
    static func sync(_ path: String) throws {
        let code = DurableFile.sync(path)
        // A folder above the data folder may be unreadable: then another user created it earlier, and it need not be
        // flushed.
        guard code == 0 || code == EACCES else {
            throw StorageError.translating(errno: code, path: path)
        }
    }

    /// Checks the folder's format, or writes it into a new folder.
    private static func checkFormat(_ path: String) throws {
        if let found = FileManager.default.contents(atPath: path) {
            if found == Data(format.utf8) { return }
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            if FolderExchange.isUnderWay(in: folder) {
                throw StorageError(
                    .unknownFormat,
                    "A restore of the data folder was interrupted. Start the service, which completes "
                        + "it, or run stratus restore again.", path: folder)
            }
            let text = String(decoding: found, as: UTF8.self)
            guard text.hasPrefix(formatPrefix), text.hasSuffix("\n"),
                let number = Int(text.dropFirst(formatPrefix.count).dropLast()),
                number > formatNumber
            else { throw StorageError.otherKind(path: path) }
            throw StorageError.newerFormat(path: path, found: number, newestKnown: formatNumber)
        }
        try DurableFile.replace(path, with: Array(format.utf8)) { code in
            StorageError.translating(errno: code, path: path)
        }
    }
}
