import Foundation

/// The lock of a data folder, held until it is released: by a ``DataFolder``, or alone by commands that need the folder
/// without opening it.
package final class FolderLock: Sendable {
    /// The lock file, and the folder itself, which cannot be unlinked while it has files. The system releases the locks
    /// when the process ends.
    private let files: [Int32]

    /// - Throws: ``StorageError`` with ``StorageError/Code/inUse`` when a process has the folder.
    package init(_ folder: String) throws {
        files = try Self.lock(folder: folder)
    }

    deinit {
        for file in files {
            // A program that this process is just starting may still have the file open too.
            flock(file, LOCK_UN)
            close(file)
        }
    }

    private static func lock(folder: String) throws -> [Int32] {
        let path = folder + "/lock"
        let locked = try lock(folder, O_RDONLY | O_DIRECTORY, namedBy: path)
        do {
            let file = try lock(path, O_RDWR | O_CREAT, namedBy: path)
            do {
                try FileRights.setMode(file, path)
            } catch {
                close(file)
                throw error
            }
            return [locked, file]
        } catch {
            close(locked)
            throw error
        }
    }

    /// - Parameter name: The path in errors.
    private static func lock(_ path: String, _ flags: Int32, namedBy name: String) throws -> Int32 {
        let file = open(path, flags | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw StorageError.translating(errno: errno, path: name) }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(file)
            throw StorageError.translating(errno: code, path: name)
        }
        // A lock on a file that was unlinked in the meantime excludes no process.
        var opened = stat()
        var named = stat()
        guard fstat(file, &opened) == 0, stat(path, &named) == 0, opened.st_ino == named.st_ino,
            opened.st_dev == named.st_dev
        else {
            close(file)
            throw StorageError.translating(errno: EWOULDBLOCK, path: name)
        }
        return file
    }
}
