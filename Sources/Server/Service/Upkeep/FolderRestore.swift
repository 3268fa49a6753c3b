import Foundation
import StratusRuntime
import StratusStorage

/// Puts a backup in the place of a data folder's content.
///
/// In this order, so that a crash at any moment loses nothing and lets no service begin on half of it:
/// 1. The folder is locked, as a service locks it.
/// 2. The files are copied into `restoring` and compared with the manifest.
/// 3. `begin` gives each database a new history there: devices have seen changes that the backup lacks.
/// 4. `format` says that a restore is under way: nothing opens the folder from now on.
/// 5. What was there moves to `replaced-<time>`; nothing is deleted.
/// 6. What was restored moves in, and `format` last.
package struct FolderRestore: Sendable {
    private let backup: String
    private let folder: String
    private let nowMilliseconds: Int64
    private static let stageName = "restoring"
    private static let formatName = "format"
    private static let underWay = "stratus restore under way: run stratus restore again\n"

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
    /// - Throws: ``BackupRefusal``; the folder is as it was then, unless step 4 was reached, which the
    ///   next restore completes.
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
        let stage = folder + "/" + Self.stageName
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
        outcome.replaced = try exchange(stage)
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

    /// - Returns: where what was there is now.
    private func exchange(_ stage: String) throws -> String? {
        let format = folder + "/" + Self.formatName
        let draft = format + ".new"
        try Self.remove(draft)
        let former =
            access(format, F_OK) == 0
            ? [UInt8](FileManager.default.contents(atPath: format) ?? Data()) : nil
        try PrivateFile.write(Array(Self.underWay.utf8), to: draft)
        let names = try FolderFiles.names(in: folder).filter {
            !["lock", Self.formatName, Self.formatName + ".new", Self.stageName].contains($0)
                && !$0.hasPrefix("replaced-")
        }
        try move(draft, to: format)
        try PrivateFile.sync(folder)
        var replaced: String?
        if !names.isEmpty {
            let aside = try newFolder()
            replaced = aside
            for name in names { try move(folder + "/" + name, to: aside + "/" + name) }
            if let former { try PrivateFile.write(former, to: aside + "/" + Self.formatName) }
            try PrivateFile.sync(aside)
        }
        for name in try FolderFiles.names(in: stage) where name != Self.formatName {
            try move(stage + "/" + name, to: folder + "/" + name)
        }
        try PrivateFile.sync(folder)
        try move(stage + "/" + Self.formatName, to: format)
        try Self.remove(stage)
        try PrivateFile.sync(folder)
        return replaced
    }

    private func newFolder() throws -> String {
        let date = Date(timeIntervalSince1970: Double(nowMilliseconds) / 1_000)
        let time = date.formatted(.iso8601).replacingOccurrences(of: ":", with: "-")
        for attempt in 0..<1_000 {
            let path = folder + "/replaced-" + time + (attempt == 0 ? "" : "-\(attempt)")
            if mkdir(path, 0o700) == 0 { return path }
            guard errno == EEXIST else { throw BackupRefusal.unwritable(path) }
        }
        throw BackupRefusal("\(folder) has too many replaced folders. Remove some.")
    }

    private func move(_ from: String, to: String) throws {
        guard rename(from, to) == 0 else { throw BackupRefusal.unwritable(to) }
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
