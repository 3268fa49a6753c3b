import Foundation
import StratusRuntime
import Synchronization

/// The folder of a world's files, created when it is first requested, and removed with the world.
final class WorldFolder: Sendable {
    private let made = Mutex<URL?>(nil)

    deinit {
        if let folder = made.withLock({ $0 }) {
            // The system removes what is left in its temporary folder.
            try? FileManager.default.removeItem(at: folder)
        }
    }

    /// In memory, if the system can have files there, since every file is synchronised.
    ///
    /// - Throws: the file system's error.
    func url() throws -> URL {
        if let folder = made.withLock({ $0 }) { return folder }
        let memory = URL(fileURLWithPath: "/dev/shm", isDirectory: true)
        let parent =
            FileManager.default.isWritableFile(atPath: memory.path)
            ? memory : FileManager.default.temporaryDirectory
        // Two runs of one seed may run at the same time; nothing of a run depends on the name.
        let folder = parent.appendingPathComponent(
            "stratus-world-\(World.live.makeUUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        made.withLock { $0 = folder }
        return folder
    }

    /// The text without the folder's name, which differs in each run.
    func without(_ text: String) -> String {
        guard let folder = made.withLock({ $0 }) else { return text }
        return text.replacingOccurrences(of: folder.path, with: "photos")
    }
}
