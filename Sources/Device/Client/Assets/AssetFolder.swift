import Foundation
import StratusRuntime
import Synchronization

/// Where the files of fetched assets are, and the copies of those that are on their way to the
/// service.
///
/// One folder for each process, made at first use and readable by its user alone. A lock on a file
/// in it says that the process lives: the next process that makes one removes those that no one
/// holds. Within a process a file goes ten minutes after its asset did, when another is
/// made.
final class AssetFolder: Sendable {
    /// Seconds from the end of an asset to that of its file: an app may still hold the URL alone.
    static let graceSeconds: Double = 600
    private static let prefix = "stratus-assets-"
    private static let lockName = "lock"

    /// The process's own, in the system's folder for temporary files.
    static let shared = AssetFolder(parent: FileManager.default.temporaryDirectory)

    private struct State {
        var folder: URL?
        var lock: FileHandle?
        var released: [(url: URL, date: Date)] = []
    }

    private let parent: URL
    private let world: World
    private let state = Mutex(State())

    init(parent: URL, world: World = .live) {
        self.parent = parent
        self.world = world
    }

    /// Makes an empty file, and removes those that nobody uses any more.
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
        // Who cleans up temporary files may have taken the folder away: then in a new one.
        guard let url = try emptyFile() ?? emptyFile() else { throw Self.noRoom() }
        return AssetFile(url, in: self)
    }

    /// - Returns: nil when the folder, which is forgotten if it is gone, takes no file.
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
            // The app moved it away, or the system did: either way it is not here.
        }
    }

    private static func noRoom(_ cause: (any Error)? = nil) -> CKError {
        CKError(
            .assetNotAvailable,
            "An asset could not be written into the folder for temporary files; make"
                + " room there.",
            cause: cause)
    }

    // MARK: The folder

    /// - Returns: nil when another process took the new folder for an orphan.
    private func folder(_ state: inout State) throws -> URL? {
        if let folder = state.folder { return folder }
        removeOrphans()
        let folder = parent.appendingPathComponent(Self.prefix + world.makeUUID().uuidString)
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw Self.noRoom(error)
        }
        let lock = folder.appendingPathComponent(Self.lockName)
        guard let handle = Self.locked(lock, isNew: true) else { return nil }
        state.folder = folder
        state.lock = handle
        return folder
    }

    /// Removes the folders of processes that ended.
    private func removeOrphans() {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: parent.path)
        } catch {
            // No folder, no orphans; making ours will tell what is wrong.
            return
        }
        for name in names where name.hasPrefix(Self.prefix) {
            let folder = parent.appendingPathComponent(name)
            // Without a lock file it is being made at this moment.
            guard let lock = Self.locked(folder.appendingPathComponent(Self.lockName), isNew: false)
            else { continue }
            Self.remove(folder)
            withExtendedLifetime(lock) {}
        }
    }

    /// Locks a file for this process; nil when another has it, or it is not there.
    private static func locked(_ url: URL, isNew: Bool) -> FileHandle? {
        let descriptor = open(
            url.path, isNew ? O_CREAT | O_RDWR | O_CLOEXEC : O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            return nil
        }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}

/// A file of an ``AssetFolder``, which may be removed some time after nobody holds this.
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

    /// Removes the file now, as nobody was told of it.
    func remove() {
        AssetFolder.remove(url)
    }
}
