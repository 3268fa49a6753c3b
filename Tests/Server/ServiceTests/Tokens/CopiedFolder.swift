import Foundation
import StratusRuntime
import StratusStorage

/// A data folder that is copied and replaced by its copies, as by backups.
final class CopiedFolder {
    struct Opened {
        let storage: SQLiteStorageEngine
        let world: World
    }

    let path: String
    private var copies = 0

    init() throws {
        path =
            FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-copied-\(UUID().uuidString)").path
    }

    deinit {
        for folder in [path] + (0..<copies).map({ "\(path)-\($0)" }) {
            // Failing to remove a temporary folder must not fail the test.
            try? FileManager.default.removeItem(atPath: folder)
        }
    }

    /// Starts a service on the folder, or on a copy of it.
    func open(
        _ copy: String? = nil, _ access: SQLiteStorageEngine.Access = .alone,
        world: StratusRuntime.World = .live
    ) throws -> Opened {
        let storage = try SQLiteStorageEngine(folder: copy ?? path, access: access, world: world)
        return Opened(storage: storage, world: World(storage))
    }

    /// Copies the folder as it is now.
    func copy() throws -> String {
        let copy = "\(path)-\(copies)"
        copies += 1
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        return copy
    }

    /// Replaces the folder by a copy.
    func replace(by copy: String) throws {
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(atPath: copy, toPath: path)
    }
}
