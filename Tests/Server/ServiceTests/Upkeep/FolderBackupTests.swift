import Foundation
import StratusStorage
import Testing

@testable import StratusService

/// Which data folders are backed up.
@Suite struct FolderBackupTests {
    private struct Ended: Error {}

    /// Begins to put the staged content in its place, and ends after a file or folder was moved.
    private static func interruptRestore(of path: String, afterMoving name: String) throws {
        try FolderExchange(path) {
            if !FileManager.default.fileExists(atPath: path + "/" + name) { throw Ended() }
        }.begin(aside: "replaced-then")
    }

    /// Some of the files are in other folders then, and a backup would lack them without saying so.
    @Test(arguments: ["databases", "directory.sqlite"])
    func folderOfAnInterruptedRestoreIsRefused(moved: String) async throws {
        let folder = try CopiedFolder()
        // Its end removes the files.
        defer { withExtendedLifetime(folder) {} }
        for path in [folder.path, folder.path + "/restoring"] {
            let opened = try folder.open(path)
            _ = try await opened.world.person("alice", with: "Trips")
            try await opened.storage.close()
        }
        try FileManager.default.removeItem(atPath: folder.path + "/restoring/lock")
        let path = folder.path
        #expect(throws: Ended.self) { try Self.interruptRestore(of: path, afterMoving: moved) }
        let backup = path + "/backup"
        let refused = #expect(throws: BackupRefusal.self) {
            var taking = FolderBackup(of: path, to: backup)
            _ = try taking.take()
        }
        #expect(refused?.description.contains("was interrupted") == true)
        #expect(!FileManager.default.fileExists(atPath: backup))

        // A service completes the restore.
        let opened = try folder.open()
        try await opened.storage.close()
        var taking = FolderBackup(of: path, to: backup)
        let manifest = try taking.take()
        #expect(manifest.files.contains { $0.path.hasPrefix("databases/") })
    }

    /// The folder above may belong to another user, as at a start of the service.
    @Test(.enabled(if: geteuid() != 0, "Root can read every folder."))
    func folderBelowAnUnreadableOneIsRestored() async throws {
        let folder = try CopiedFolder()
        defer { withExtendedLifetime(folder) {} }
        let opened = try folder.open()
        _ = try await opened.world.person("alice", with: "Trips")
        try await opened.storage.close()
        let backup = folder.path + "/backup"
        var taking = FolderBackup(of: folder.path, to: backup)
        let manifest = try taking.take()
        let above = folder.path + "/above"
        try FileManager.default.createDirectory(
            atPath: above, withIntermediateDirectories: true)
        chmod(above, 0o300)
        defer { chmod(above, 0o700) }
        let outcome = try await FolderRestore(of: backup, to: above + "/data").put { _ in }
        #expect(outcome.files == manifest.files.count)
    }
}
