import Foundation
import StratusStorage
import Synchronization
import Testing

@testable import StratusService

/// Which data folders are backed up.
@Suite struct FolderBackupTests {
    private struct Ended: Error {}

    /// Begins to put the staged content in its place, and ends after the first folder was moved.
    private static func interruptRestore(of path: String) throws {
        let steps = Mutex(0)
        try FolderExchange(path) {
            try steps.withLock { steps in
                steps += 1
                if steps == 5 { throw Ended() }
            }
        }.begin(aside: "replaced-then")
    }

    /// Some of the files are in other folders then, and a backup would lack them without saying so.
    @Test func folderOfAnInterruptedRestoreIsRefused() async throws {
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
        #expect(throws: Ended.self) { try Self.interruptRestore(of: path) }
        // The databases were moved, the directory was not.
        let names = try FileManager.default.contentsOfDirectory(atPath: path)
        #expect(names.contains("directory.sqlite") && !names.contains("databases"))
        let backup = path + "/backup"
        #expect(throws: BackupRefusal.self) {
            var taking = FolderBackup(of: path, to: backup)
            _ = try taking.take()
        }
        #expect(!FileManager.default.fileExists(atPath: backup))

        // A service completes the restore.
        let opened = try folder.open()
        try await opened.storage.close()
        var taking = FolderBackup(of: path, to: backup)
        let manifest = try taking.take()
        #expect(manifest.files.contains { $0.path.hasPrefix("databases/") })
    }
}
