import Foundation

/// An open file or folder that is locked against other processes (`flock`) while this object exists. The system
/// releases the lock when the process ends.
package final class FileLock: Sendable {
    /// Open while this object exists.
    package let descriptor: Int32

    /// Opens a file or folder, and waits until it can be locked.
    ///
    /// - Parameters:
    ///   - flags: As for `open`. A file that is created is for its owner only.
    ///   - isShared: Whether other processes may have a shared lock at the same time.
    ///   - failure: The error to throw for the system's error number.
    package init<Failure: Error>(
        waitingFor path: String, _ flags: Int32, isShared: Bool = false,
        failure: (_ code: Int32) -> Failure
    ) throws(Failure) {
        let (descriptor, code) = Self.lock(path, flags, isShared ? LOCK_SH : LOCK_EX)
        guard code == 0 else { throw failure(code) }
        self.descriptor = descriptor
    }

    /// Opens a file or folder, and locks it unless another process has it locked.
    ///
    /// - Parameter failure: The error to throw for the system's error number.
    /// - Returns: Nil while another process has the lock.
    package init?<Failure: Error>(
        ifFree path: String, _ flags: Int32, failure: (_ code: Int32) -> Failure
    ) throws(Failure) {
        let (descriptor, code) = Self.lock(path, flags, LOCK_EX | LOCK_NB)
        if code == EWOULDBLOCK { return nil }
        guard code == 0 else { throw failure(code) }
        self.descriptor = descriptor
    }

    /// Opens a file or folder, and locks it unless another process has it locked.
    ///
    /// - Returns: Nil while another process has the lock, and for a file that cannot be opened or locked.
    package init?(ifFree path: String, _ flags: Int32) {
        let (descriptor, code) = Self.lock(path, flags, LOCK_EX | LOCK_NB)
        guard code == 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit {
        // A program that this process is just starting may still have the file open too.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Whether a path still names the locked file or folder. Another process may have renamed or removed it since it was
    /// opened, also before it was locked.
    package func isAt(_ path: String) -> Bool {
        var (ours, found) = (stat(), stat())
        guard fstat(descriptor, &ours) == 0, stat(path, &found) == 0 else { return false }
        return ours.st_ino == found.st_ino && ours.st_dev == found.st_dev
    }

    /// Runs a body, and keeps the lock until its end.
    package func whileLocked<Value>(
        _ body: (_ descriptor: Int32) throws -> Value
    ) rethrows -> Value {
        defer { withExtendedLifetime(self) {} }
        return try body(descriptor)
    }

    /// - Returns: The descriptor and 0, or -1 and the system's error number.
    private static func lock(
        _ path: String, _ flags: Int32, _ operation: Int32
    ) -> (descriptor: Int32, code: Int32) {
        let descriptor = open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return (-1, errno) }
        while flock(descriptor, operation) != 0 {
            let code = errno
            if code == EINTR { continue }
            close(descriptor)
            return (-1, code)
        }
        return (descriptor, 0)
    }
}
