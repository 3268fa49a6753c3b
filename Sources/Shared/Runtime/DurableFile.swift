import Foundation

/// Writes small files for their owner alone, so that they are complete after a crash or a loss of power.
package enum DurableFile {
    /// Replaces a file in one step, or creates it: afterwards, and after a crash at any time, it has either its old or
    /// its new content.
    ///
    /// Writes a draft beside it, whose name ends in `.new`. One process at a time may replace a file.
    ///
    /// - Parameter failure: The error to throw for the system's error number.
    package static func replace<Failure: Error>(
        _ path: String, with bytes: [UInt8], failure: (_ code: Int32) -> Failure
    ) throws(Failure) {
        let draft = path + ".new"
        try write(bytes, to: draft, failure: failure)
        guard rename(draft, path) == 0 else {
            let code = errno
            unlink(draft)
            throw failure(code)
        }
        let code = sync(URL(fileURLWithPath: path).deletingLastPathComponent().path)
        // A file system that cannot flush folders returns EINVAL.
        guard code == 0 || code == EINVAL else { throw failure(code) }
    }

    /// Writes a file, instead of one that may exist, and flushes its content, but not its name, to the disk.
    ///
    /// - Parameter failure: The error to throw for the system's error number. The file is removed then.
    package static func write<Failure: Error>(
        _ bytes: [UInt8], to path: String, failure: (_ code: Int32) -> Failure
    ) throws(Failure) {
        // A draft that a crash left may have any permissions.
        unlink(path)
        let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(errno) }
        defer { close(descriptor) }
        let code = fill(descriptor, with: bytes)
        guard code == 0 else {
            unlink(path)
            throw failure(code)
        }
    }

    /// Flushes the content of a file, or the names in a folder, to the disk.
    ///
    /// - Returns: 0, or the system's error number.
    package static func sync(_ path: String) -> Int32 {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        return fsync(descriptor) == 0 ? 0 : errno
    }

    /// - Returns: 0, or the system's error number.
    private static func fill(_ descriptor: Int32, with bytes: [UInt8]) -> Int32 {
        // `open` leaves out the permissions that the umask removes.
        guard fchmod(descriptor, 0o600) == 0 else { return errno }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count < 0 ? errno : EIO }
            rest = rest.dropFirst(count)
        }
        return fsync(descriptor) == 0 ? 0 : errno
    }
}
