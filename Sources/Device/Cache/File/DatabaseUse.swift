import Foundation
import StratusClient
import Synchronization

/// Whether SQLite has a database open, in this process or another.
///
/// In WAL mode every connection keeps a shared lock on the file until it is closed, and the last one removes the log by
/// its name. So closing a file that was moved while it was open would remove the log of its successor.
enum DatabaseUse {
    /// SQLite's bytes for shared locks: https://sqlite.org/src/doc/trunk/src/os.h
    private static let firstSharedByte = 0x4000_0002
    private static let sharedByteCount = 510
    /// `F_OFD_GETLK`, which Swift does not import from the system's headers.
    #if canImport(Darwin)
        private static let queryCommand: Int32 = 92
    #else
        private static let queryCommand: Int32 = 36
    #endif
    /// How long to wait, which is as long as SQLite itself waits for a lock here.
    private static let waitSeconds = 5.0

    /// The descriptors of files that stayed open elsewhere, by path; closing one would release all of this process's
    /// locks on its file.
    private static let kept = Mutex<[String: Int32]>([:])

    /// Waits until a database is not open anywhere, so that it can be moved.
    ///
    /// - Throws: ``CacheError`` `inUse` if it stays open.
    static func waitUntilClosed(_ path: String) throws {
        let descriptor = kept(path) ?? open(path, O_RDWR | O_CLOEXEC)
        // A file that does not exist is not open.
        guard descriptor >= 0 else { return }
        let pauseSeconds = 0.01
        for _ in 0..<Int(waitSeconds / pauseSeconds) {
            if !isLocked(descriptor) {
                close(descriptor)
                return
            }
            // SQLite does not report the release of a lock, and itself waits for locks in this way.
            Thread.sleep(forTimeInterval: pauseSeconds)
        }
        kept.withLock { $0[path] = descriptor }
        throw CacheError(
            .inUse,
            "The cache's file \(path) is open elsewhere. Close it there, then try again.")
    }

    /// The descriptor kept by an earlier wait, if the path still names the same file.
    private static func kept(_ path: String) -> Int32? {
        guard let descriptor = kept.withLock({ $0.removeValue(forKey: path) }) else { return nil }
        var (ours, found) = (stat(), stat())
        if fstat(descriptor, &ours) == 0, stat(path, &found) == 0, ours.st_ino == found.st_ino,
            ours.st_dev == found.st_dev
        {
            return descriptor
        }
        close(descriptor)
        return nil
    }

    private static func isLocked(_ descriptor: Int32) -> Bool {
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = off_t(firstSharedByte)
        lock.l_len = off_t(sharedByteCount)
        // The lock of an open file description also conflicts with this process's own locks.
        return fcntl(descriptor, queryCommand, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
    }
}
