import Foundation
import StratusRuntime
import Synchronization

/// The folder for the files of fetched assets and for the copies of files that are being uploaded.
///
/// Each process has one, created at first use and readable by its user alone. A lock on a file in
/// it shows that the process is alive: a process that creates a folder removes those whose lock is
/// free. Within a process a file is removed when another is created and its asset was released at
/// least ten minutes before.
final class AssetFolder: Sendable {
    /// Seconds that a file is kept after its asset was released: an app may still hold its URL.
    static let graceSeconds: Double = 600
    private static let prefix = "stratus-assets-"
    private static let lockName = "lock"

    /// The folder of this process, in the system's folder for temporary files.
    static let shared = AssetFolder(parent: FileManager.default.temporaryDirectory)

    private struct State {
        var folder: URL?
        var lock: FileLock?
        var released: [(url: URL, date: Date)] = []
    }

    private let parent: URL
    private let world: World
    private let state = Mutex(State())

    init(parent: URL, world: World = .live) {
        self.parent = parent
        self.world = world
    }

    /// Makes an empty file, and removes those that are no longer used.
    ///
    /// - Throws: `CKError.assetNotAvailable` when the disk has no room for it.
    func makeFile() throws -> AssetFile {
        let date = world.now
        state.withLock { state in
            state.released.removeAll { released in
                guard date.timeIntervalSince(released.date) >= Self.graceSeconds else {
                    return false
                }
                Self.remove(released.url)
                return true
            }
        }
        // A cleaner of temporary files may have removed the folder: then create a new one.
        guard let url = try emptyFile() ?? emptyFile() else { throw storageFull() }
        return AssetFile(url, in: self)
    }

    /// - Returns: nil when no file can be created in the folder. If the folder no longer exists, the next call creates
    ///   another one.
    private func emptyFile() throws -> URL? {
        guard let folder = try state.withLock({ try self.folder(&$0) }) else { return nil }
        let url = folder.appendingPathComponent(world.makeUUID().uuidString)
        let isMade = FileManager.default.createFile(
            atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600])
        if isMade { return url }
        if !FileManager.default.fileExists(atPath: folder.path) {
            state.withLock { state in
                guard state.folder == folder else { return }
                (state.folder, state.lock) = (nil, nil)
            }
        }
        return nil
    }

    fileprivate func release(_ url: URL) {
        let date = world.now
        state.withLock { $0.released.append((url, date)) }
    }

    fileprivate static func remove(_ url: URL) {
        do {
            try FileManager.default.removeItem(at: url)
        } catch {
            // Usually the app or the system has moved or removed the file already. A file that is
            // left is removed with its folder by the next process.
        }
    }

    private func storageFull(_ cause: (any Error)? = nil) -> CKError {
        CKError(
            .assetNotAvailable,
            "An asset could not be written into the folder for temporary files, \(parent.path); make"
                + " room there.",
            cause: cause)
    }

    // MARK: The folder

    /// - Returns: nil when another process mistook the new folder for an orphan.
    private func folder(_ state: inout State) throws -> URL? {
        if let folder = state.folder { return folder }
        removeOrphans()
        let folder = parent.appendingPathComponent(Self.prefix + world.makeUUID().uuidString)
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw storageFull(error)
        }
        let path = folder.appendingPathComponent(Self.lockName).path
        guard let lock = FileLock(ifFree: path, O_CREAT | O_RDWR) else { return nil }
        state.folder = folder
        state.lock = lock
        return folder
    }

    /// Removes the folders of processes that ended.
    private func removeOrphans() {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: parent.path)
        } catch {
            // Without the parent folder there are no orphans; creating our own folder reports the
            // problem.
            return
        }
        for name in names where name.hasPrefix(Self.prefix) {
            let folder = parent.appendingPathComponent(name)
            // A folder without a lock file is just being created.
            let lock = FileLock(ifFree: folder.appendingPathComponent(Self.lockName).path, O_RDWR)
            lock?.whileLocked { _ in Self.remove(folder) }
        }
    }
}

/// A file of an ``AssetFolder``, which may be removed some time after this object is released.
final class AssetFile: Sendable {
    let url: URL
    private let folder: AssetFolder

    fileprivate init(_ url: URL, in folder: AssetFolder) {
        self.url = url
        self.folder = folder
    }

    deinit {
        folder.release(url)
    }

    /// Removes the file at once: its URL was not given out.
    func remove() {
        AssetFolder.remove(url)
    }
}
