import Foundation
import StratusRuntime
import StratusStorage

/// Takes a backup of a data folder, while a service may be running on it.
///
/// Everything that was acknowledged before the backup began is in it:
/// * each database as it was at one moment (``SQLiteCopy``);
/// * then the assets of a database: their files never change, and are kept for two days after the last record released
/// them;
/// * the directory last: what a save needs there is written before the save.
///
/// The manifest is written when all of that is on the disk.
package struct FolderBackup: Sendable {
    private let source: String
    private let backup: String
    private var manifest: BackupManifest

    /// - Parameters:
    ///   - source: the data folder.
    ///   - backup: a folder that does not exist yet, or is empty.
    ///   - world: the source of the time in the manifest.
    package init(of source: String, to backup: String, world: World = .live) {
        self.source = source
        self.backup = backup
        manifest = BackupManifest(beganMilliseconds: world.nowMilliseconds())
    }

    /// Takes the backup. Blocks on the disk.
    ///
    /// - Throws: ``BackupRefusal`` or `StorageError`. A damaged database is listed in the manifest and does not keep
    ///   the others from being backed up.
    package mutating func take() throws -> BackupManifest {
        let content = try contentNumber()
        try PrivateFile.makeFolder(backup)
        guard try FolderFiles.names(in: backup).isEmpty else {
            throw BackupRefusal(
                "The folder \(backup) of the backup is not empty. Name a folder that does not exist yet."
            )
        }
        try PrivateFile.makeFolder(backup + "/" + BackupManifest.dataName)
        for folder in try FolderFiles.databaseFolders(in: source) {
            try copyFolder(folder)
        }
        try copyFile("format")
        try copyDatabase("directory.sqlite")
        for folder in Set(manifest.files.flatMap { FolderFiles.folders(above: $0.path) }) {
            try PrivateFile.sync(target(folder))
        }
        try PrivateFile.sync(target(""))
        guard try contentNumber() == content else {
            throw BackupRefusal(
                "The data folder \(source) was restored during the backup. Take the backup again, into a"
                    + " new folder.")
        }
        try manifest.write(in: backup)
        try PrivateFile.sync(URL(fileURLWithPath: backup).deletingLastPathComponent().path)
        return manifest
    }

    /// Identifies the content of the data folder: a restore replaces the directory's file.
    ///
    /// - Throws: ``BackupRefusal`` while a restore is interrupted, since some files are in other folders then, the
    ///   directory's possibly among them; and when there is no data folder.
    private func contentNumber() throws -> UInt64 {
        guard !FolderExchange.isUnderWay(in: source) else {
            throw BackupRefusal(
                "A restore of the data folder \(source) was interrupted. Start the service, which completes"
                    + " it, or run stratus restore again.")
        }
        var status = stat()
        guard stat(source + "/directory.sqlite", &status) == 0 else {
            throw BackupRefusal("There is no data folder at \(source). Check --data.")
        }
        return UInt64(status.st_ino)
    }

    /// Copies the databases of one container's environment, each with its assets.
    private mutating func copyFolder(_ folder: String) throws {
        let names = try FolderFiles.names(in: source + "/" + folder)
        for name in names where name.hasSuffix(".sqlite") {
            let path = folder + "/" + name
            do {
                try copyDatabase(path)
            } catch let error as StorageError
                where error.code == .corrupt || error.code == .unknownFormat
            {
                manifest.missing.append(.init(path: path, reason: error.message))
                continue
            }
            let assets = String(path.dropLast(".sqlite".count)) + ".assets"
            for file in try FolderFiles.files(below: assets, in: source) { try copyAsset(file) }
        }
        // A database whose file is missing is known by its high-water mark file.
        for name in names where name.hasSuffix(".mark") {
            let path = folder + "/" + name.dropLast(".mark".count) + ".sqlite"
            if let loss = try SQLiteCopy.loss(ofMissing: source + "/" + path) {
                manifest.missing.append(.init(path: path, reason: loss.message))
            }
        }
    }

    private mutating func copyDatabase(_ path: String) throws {
        try makeFolders(above: path)
        do {
            try SQLiteCopy.copy(source + "/" + path, to: target(path))
        } catch {
            // The incomplete copy is removed; the error is thrown.
            unlink(target(path))
            // The environment was reset since it was listed, and has no databases any more.
            if access(source + "/" + path, F_OK) != 0 { return }
            throw error
        }
        try note(path)
    }

    /// Makes a hard link to the file where the file system allows it, since assets never change.
    private mutating func copyAsset(_ path: String) throws {
        try makeFolders(above: path)
        let from = source + "/" + path
        if link(from, target(path)) != 0 {
            // No record held the asset any more, and it was collected since it was listed.
            if errno == ENOENT { return }
            try PrivateFile.copy(from, to: target(path))
        }
        try note(path)
    }

    private mutating func copyFile(_ path: String) throws {
        try PrivateFile.copy(source + "/" + path, to: target(path))
        try note(path)
    }

    private mutating func note(_ path: String) throws {
        let (size, sha256) = try PrivateFile.digest(of: target(path))
        manifest.files.append(.init(path: path, sizeBytes: size, sha256: sha256))
    }

    private func makeFolders(above path: String) throws {
        for folder in FolderFiles.folders(above: path) {
            try PrivateFile.makeFolder(target(folder))
        }
    }

    private func target(_ path: String) -> String {
        backup + "/" + BackupManifest.dataName + (path.isEmpty ? "" : "/" + path)
    }
}

/// The files of a data folder by their paths in it.
enum FolderFiles {
    /// The folders that have the databases of one container's environment.
    static func databaseFolders(in root: String) throws -> [String] {
        var folders: [String] = []
        for container in try names(in: root + "/databases") {
            for environment in try names(in: root + "/databases/" + container) {
                folders.append("databases/" + container + "/" + environment)
            }
        }
        return folders
    }

    /// All files below a folder and its subfolders.
    static func files(below folder: String, in root: String) throws -> [String] {
        var files: [String] = []
        for name in try names(in: root + "/" + folder) {
            let path = folder + "/" + name
            var status = stat()
            // Removed since it was listed: it is no longer a file of the folder.
            guard lstat(root + "/" + path, &status) == 0 else { continue }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: files += try self.files(below: path, in: root)
            case S_IFREG: files.append(path)
            default: continue
            }
        }
        return files
    }

    /// The folders above a file, the topmost first.
    static func folders(above path: String) -> [String] {
        let parts = path.split(separator: "/")
        return (1..<max(parts.count, 1)).map { parts.prefix($0).joined(separator: "/") }
    }

    /// The sorted names in a folder; empty when it does not exist or is not a folder.
    static func names(in folder: String) throws -> [String] {
        var status = stat()
        guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return [] }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        } catch {
            throw BackupRefusal.unwritable(folder)
        }
    }
}
