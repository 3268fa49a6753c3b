import Foundation
import StratusStorage
import Synchronization
import Testing

@testable import StratusService

/// Which data folders are backed up.
@Suite struct FolderBackupTests {
    private struct Ended: Error {}

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
        let steps = Mutex(0)
        #expect(throws: Ended.self) {
            try FolderExchange(folder.path) {
                try steps.withLock { steps in
                    steps += 1
                    if steps == 5 { throw Ended() }
                }
            }.begin(aside: "replaced-then")
        }
        // The databases were moved, the directory was not.
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.contains("directory.sqlite") && !names.contains("databases"))
        let backup = folder.path + "/backup"
        #expect(throws: BackupRefusal.self) {
            var taking = FolderBackup(of: folder.path, to: backup)
            _ = try taking.take()
        }
        #expect(!FileManager.default.fileExists(atPath: backup))

        // A service completes the restore.
        let opened = try folder.open()
        try await opened.storage.close()
        var taking = FolderBackup(of: folder.path, to: backup)
        let manifest = try taking.take()
        #expect(manifest.files.contains { $0.path.hasPrefix("databases/") })
    }
}
