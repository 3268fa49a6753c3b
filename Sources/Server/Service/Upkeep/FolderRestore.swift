import Foundation
import StratusRuntime
import StratusStorage

/// Replaces a data folder's content by a backup.
///
/// In this order, so that a crash at any moment leaves either the old or the restored content:
/// 1. The folder is locked, as a service locks it.
/// 2. The files are copied into `restoring` and compared with the manifest.
/// 3. `begin` gives each database a new history there: devices have seen changes that the backup lacks.
/// 4. `FolderExchange` moves the old content to `replaced-<time>`, and the restored content into its place. If it is
/// interrupted, the next service or restore completes it.
package struct FolderRestore: Sendable {
    private let backup: String
    private let folder: String
    private let nowMilliseconds: Int64

    /// The result of a restore.
    package struct Outcome: Hashable, Sendable {
        package var files = 0
        /// Where the old content is now; nil when there was none.
        package var replaced: String?
        /// The databases that the backup lacks, because they were damaged.
        package var missing: [BackupManifest.Missing] = []
    }

    /// - Parameter world: the source of the time that names the folder of the old content.
    package init(of backup: String, to folder: String, world: World = .live) {
        self.backup = backup
        self.folder = folder
        nowMilliseconds = world.nowMilliseconds()
    }

    /// Restores the backup. Blocks on the disk.
    ///
    /// - Parameters:
    ///   - takesPart: whether to restore a backup that lacks databases.
    ///   - begin: begins new histories in the folder that it is given.
    /// - Throws: ``BackupRefusal`` or `StorageError`. The folder is then unchanged, unless step 4 was reached, which is
    ///   completed when the folder is opened next.
    package func put(
        takesPart: Bool = false, begin: (_ folder: String) async throws -> Void
    ) async throws -> Outcome {
        let manifest = try BackupManifest.read(in: backup)
        guard manifest.missing.isEmpty || takesPart else {
            throw BackupRefusal(
                "The backup at \(backup) lacks databases that were damaged, such as"
                    + " \(manifest.missing[0].path). Use --partial to put back the others.")
        }
        try PrivateFile.makeFolder(folder)
        try syncFolderAbove()
        // Held until the end: no service can start in the meantime.
        let lock = try FolderLock(folder)
        defer { withExtendedLifetime(lock) {} }
        try FolderExchange(folder).complete()
        let stage = folder + "/" + FolderExchange.stageName
        try Self.remove(stage)
        try PrivateFile.makeFolder(stage)
        do {
            try copy(manifest, to: stage)
            try await begin(stage)
            try Self.remove(stage + "/lock")
            try Self.syncAll(below: stage)
        } catch {
            // The next restore removes copies that are left here; the error that matters is thrown.
            try? Self.remove(stage)
            throw error
        }
        var outcome = Outcome(files: manifest.files.count, missing: manifest.missing)
        let aside = newName()
        try FolderExchange(folder).begin(aside: aside)
        if access(folder + "/" + aside, F_OK) == 0 { outcome.replaced = folder + "/" + aside }
        return outcome
    }

    /// Otherwise a power failure could remove a new folder with all that is put into it.
    private func syncFolderAbove() throws {
        let above = URL(fileURLWithPath: folder).deletingLastPathComponent().path
        let code = DurableFile.sync(above)
        // A folder above the data folder may be unreadable; its owner created the data folder before.
        guard code == 0 || code == EACCES else { throw BackupRefusal.unwritable(above, code) }
    }

    /// Copies the files and compares the copies with the manifest.
    private func copy(_ manifest: BackupManifest, to stage: String) throws {
        let data = backup + "/" + BackupManifest.dataName
        for file in manifest.files {
            // A manifest is not trusted more than any other file: a path must not lead out of the folder.
            let parts = file.path.split(separator: "/", omittingEmptySubsequences: false)
            guard !parts.contains(""), !parts.contains("."), !parts.contains("..") else {
                throw BackupRefusal(
                    "The manifest of the backup at \(backup) names \(file.path), which is no path in"
                        + " a data folder. Use another backup.")
            }
            for folder in FolderFiles.folders(above: file.path) {
                try PrivateFile.makeFolder(stage + "/" + folder)
            }
            let copy = stage + "/" + file.path
            try PrivateFile.copy(data + "/" + file.path, to: copy)
            let (size, sha256) = try PrivateFile.digest(of: copy)
            guard size == file.sizeBytes, sha256 == file.sha256 else {
                throw BackupRefusal(
                    "The file \(file.path) of the backup at \(backup) differs from its manifest. Use"
                        + " another backup.")
            }
        }
    }

    /// A name that no file in the folder has.
    private func newName() -> String {
        let date = Date(timeIntervalSince1970: Double(nowMilliseconds) / 1_000)
        let name = "replaced-" + date.formatted(.iso8601).replacingOccurrences(of: ":", with: "-")
        var number = 0
        while true {
            let candidate = number == 0 ? name : "\(name)-\(number)"
            if access(folder + "/" + candidate, F_OK) != 0 { return candidate }
            number += 1
        }
    }

    private static func remove(_ path: String) throws {
        guard access(path, F_OK) == 0 else { return }
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            throw BackupRefusal.unwritable(path)
        }
    }

    private static func syncAll(below folder: String) throws {
        for file in try FolderFiles.files(below: "", in: folder) {
            try PrivateFile.sync(folder + file)
            for above in FolderFiles.folders(above: file) {
                try PrivateFile.sync(folder + "/" + above)
            }
        }
        try PrivateFile.sync(folder)
    }
}
