import Foundation
import StratusRuntime

/// The lock of a data folder, held until it is released: by a ``DataFolder``, or alone by commands that need the folder
/// without opening it.
package final class FolderLock: Sendable {
    /// Of the folder itself, which cannot be unlinked while it has files, and of the lock file.
    private let locks: [FileLock]

    /// - Throws: ``StorageError`` with ``StorageError/Code/inUse`` when a process has the folder.
    package init(_ folder: String) throws {
        let path = folder + "/lock"
        let locked = try Self.lock(folder, O_RDONLY | O_DIRECTORY, namedBy: path)
        let file = try Self.lock(path, O_RDWR | O_CREAT, namedBy: path)
        try file.whileLocked { try FileRights.setMode($0, path) }
        locks = [locked, file]
    }

    /// - Parameter name: The path in errors.
    private static func lock(
        _ path: String, _ flags: Int32, namedBy name: String
    ) throws -> FileLock {
        var opened = stat()
        var named = stat()
        // A lock on a file that was unlinked in the meantime excludes no process.
        guard
            let lock = try FileLock(
                ifFree: path, flags,
                failure: { StorageError.translating(errno: $0, path: name) }),
            fstat(lock.descriptor, &opened) == 0, stat(path, &named) == 0,
            opened.st_ino == named.st_ino, opened.st_dev == named.st_dev
        else { throw StorageError.translating(errno: EWOULDBLOCK, path: name) }
        return lock
    }
}
