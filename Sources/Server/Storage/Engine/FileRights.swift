import Foundation

/// The rights on the files of the data folder: only the service's user may read and write them, with any umask.
enum FileRights {
    private static let file: mode_t = 0o600
    private static let folder: mode_t = 0o700
    private static let others: mode_t = 0o077

    /// Creates an empty file if there is none. An existing one is not opened: closing it would release SQLite's locks
    /// in this process.
    ///
    /// - Throws: ``StorageError`` with ``StorageError/Code/exposed`` when others have rights on it.
    static func prepareFile(_ path: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, file)
        guard descriptor >= 0 else {
            if errno != EEXIST { throw StorageError.translating(errno: errno, path: path) }
            return try check(path)
        }
        defer { close(descriptor) }
        try setMode(descriptor, path)
    }

    /// Sets the rights of a file that was just created: `open` leaves out those that the umask removes.
    static func setMode(_ descriptor: Int32, _ path: String) throws {
        guard fchmod(descriptor, file) == 0 else {
            throw StorageError.translating(errno: errno, path: path)
        }
    }

    /// Creates a folder, and those above it that are missing.
    ///
    /// - Returns: How many were missing: the folder itself and those right above it.
    static func makeFolder(_ path: String) throws -> Int {
        if mkdir(path, folder) == 0 {
            guard chmod(path, folder) == 0 else {
                throw StorageError.notWritable(path: path, underlying: POSIXError(.EPERM))
            }
            return 1
        }
        let code = errno
        switch code {
        case EEXIST where isFolder(path): return 0
        case ENOENT:
            let above = URL(fileURLWithPath: path).deletingLastPathComponent().path
            guard above != path else { break }
            let count = try makeFolder(above)
            guard count > 0 || isFolder(above) else { break }
            return try count + makeFolder(path)
        case ENOSPC, EDQUOT: throw StorageError.diskFull(path: path)
        default: break
        }
        throw StorageError.notWritable(
            path: path, underlying: POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO))
    }

    /// Refuses a file or folder that users other than its owner may read or write. One that does not exist is not
    /// refused.
    ///
    /// - Parameter command: The file or folder in the command that repairs it; nil for `path`.
    static func check(_ path: String, mendedBy command: String? = nil) throws {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & others != 0 else { return }
        throw StorageError(
            .exposed,
            "Users other than the service's own may read or write the data. Run: chmod -R go-rwx "
                + quoted(command ?? path),
            path: path)
    }

    /// Refuses a folder that contains, at any depth, a file or folder that users other than its owner may read or
    /// write. Takes some microseconds for each.
    static func checkAll(below path: String, mendedBy command: String) throws {
        try check(path, mendedBy: command)
        guard let folder = opendir(path) else { return }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            if Int(entry.pointee.d_type) == Int(DT_REG) {
                try check(path + "/" + name, mendedBy: command)
            } else {
                try checkAll(below: path + "/" + name, mendedBy: command)
            }
        }
    }

    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// The path quoted for a shell.
    private static func quoted(_ path: String) -> String {
        let plain = path.allSatisfy {
            $0.isASCII && ($0.isLetter || $0.isNumber || "/._-".contains($0))
        }
        return plain ? path : "'" + path.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}
