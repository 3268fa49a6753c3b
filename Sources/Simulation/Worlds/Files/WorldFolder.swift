import Foundation
import StratusRuntime
import Synchronization

/// Where the files of a world are, made when it is asked for first; gone with the world.
final class WorldFolder: Sendable {
    private let made = Mutex<URL?>(nil)

    deinit {
        if let folder = made.withLock({ $0 }) {
            // What is left goes with the system's folder.
            try? FileManager.default.removeItem(at: folder)
        }
    }

    /// In memory, where the system has files there, since every file is synced.
    ///
    /// - Throws: what the disk says.
    func url() throws -> URL {
        if let folder = made.withLock({ $0 }) { return folder }
        let memory = URL(fileURLWithPath: "/dev/shm", isDirectory: true)
        let parent =
            FileManager.default.isWritableFile(atPath: memory.path)
            ? memory : FileManager.default.temporaryDirectory
        // Two runs of one seed may be under way at once; nothing of a run depends on the name.
        let folder = parent.appendingPathComponent(
            "stratus-world-\(World.live.makeUUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        made.withLock { $0 = folder }
        return folder
    }

    /// A text that is the same in each run: the folder's name is not.
    func without(_ text: String) -> String {
        guard let folder = made.withLock({ $0 }) else { return text }
        return text.replacingOccurrences(of: folder.path, with: "photos")
    }
}
