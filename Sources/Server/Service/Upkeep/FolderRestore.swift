import Foundation
import StratusRuntime
import StratusStorage

/// Puts a backup in the place of a data folder's content.
///
/// In this order, so that a crash at any moment leaves what was there or what was restored:
/// 1. The folder is locked, as a service locks it.
/// 2. The files are copied into `restoring` and compared with the manifest.
/// 3. `begin` gives each database a new history there: devices have seen changes that the backup lacks.
/// 4. `FolderExchange` moves what was there to `replaced-<time>`, and what was restored in its place. What
///    interrupts it, the next service or restore completes.
package struct FolderRestore: Sendable {
    private let backup: String
    private let folder: String
    private let nowMilliseconds: Int64

    /// What a restore came to.
    package struct Outcome: Hashable, Sendable {
        package var files = 0
        /// Where what was there is now; nil when there was nothing.
        package var replaced: String?
        /// The databases that the backup lacks, as they were damaged.
        package var missing: [BackupManifest.Missing] = []
    }

    /// - Parameter world: its time names the folder of what was there.
    package init(of backup: String, to folder: String, world: World = .live) {
        self.backup = backup
        self.folder = folder
        nowMilliseconds = world.nowMilliseconds()
    }

    /// Waits for the disk.
    ///
    /// - Parameters:
    ///   - takesPart: whether a backup is put back that lacks databases.
    ///   - begin: begins new histories in the folder that it is given.
    /// - Throws: ``BackupRefusal`` or `StorageError`; the folder is as it was then, unless step 4 was
    ///   reached, which whoever opens the folder next completes.
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
        // Until the end: no service begins meanwhile.
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
            // What stays of the copies the next restore removes; what failed is thrown.
            try? Self.remove(stage)
            throw error
        }
        var outcome = Outcome(files: manifest.files.count, missing: manifest.missing)
        let aside = newName()
        try FolderExchange(folder).begin(aside: aside)
        if access(folder + "/" + aside, F_OK) == 0 { outcome.replaced = folder + "/" + aside }
        return outcome
    }

    /// Copies the files and compares the copies with the manifest.
    private func copy(_ manifest: BackupManifest, to stage: String) throws {
        let data = backup + "/" + BackupManifest.dataName
        for file in manifest.files {
            // A manifest is no more trusted than any other file: nothing leaves the folder.
            let parts = file.path.split(separator: "/", omittingEmptySubsequences: false)
            guard !parts.contains(""), !parts.contains("."), !parts.contains("..") else {
                throw BackupRefusal("The backup names the file \(file.path). Take another backup.")
            }
            for folder in FolderFiles.folders(above: file.path) {
                try PrivateFile.makeFolder(stage + "/" + folder)
            }
            let copy = stage + "/" + file.path
            try PrivateFile.copy(data + "/" + file.path, to: copy)
            let (size, sha256) = try PrivateFile.digest(of: copy)
            guard size == file.sizeBytes, sha256 == file.sha256 else {
                throw BackupRefusal(
                    "The backup's file \(file.path) is not what was written. Use another backup.")
            }
        }
    }

    /// A name in the folder that nothing has.
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
