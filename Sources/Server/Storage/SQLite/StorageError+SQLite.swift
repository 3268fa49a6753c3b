import Foundation
import GRDB
import StratusSQLite

/// Translates errors of SQLite and the file system into ``StorageError``; no other code does.
extension StorageError {
    /// Translates errors of SQLite; all others, such as those that a closure threw on purpose, are returned unchanged.
    static func translating(_ error: any Error, path: String) -> any Error {
        if let refusal = error as? DatabaseRefusal { return StorageError(refusal) }
        if let refusal = error as? LossRefusal { return StorageError(refusal, path: path) }
        if let error = error as? StorageError { return error.located(at: path) }
        guard let error = error as? DatabaseError else { return error }
        return switch error.resultCode {
        case .SQLITE_FULL: diskFull(path: path, underlying: error)
        case .SQLITE_IOERR where isStorageFull(error): diskFull(path: path, underlying: error)
        case .SQLITE_IOERR: unreadable.caused(by: error, at: path)
        case .SQLITE_CANTOPEN where isWritable(path): tooManyFiles.caused(by: error, at: path)
        case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH:
            isFolderWritable(path)
                ? unreadable.caused(by: error, at: path)
                : notWritable(path: path, underlying: error)
        case .SQLITE_CORRUPT:
            StorageError(
                .corrupt, "The database file is damaged. Restore it from a backup.",
                path: path, underlying: error)
        case .SQLITE_NOTADB:
            otherKind(path: path, underlying: error)
        default:
            StorageError(
                .other,
                "SQLite failed with code \(error.extendedResultCode.rawValue): "
                    + "\(error.message ?? "no text"). Check the file with stratus doctor.",
                path: path, underlying: error)
        }
    }

    /// Translates a failed call of the operating system.
    static func translating(errno code: Int32, path: String) -> StorageError {
        let underlying = POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
        return switch code {
        case ENOSPC, EDQUOT: diskFull(path: path, underlying: underlying)
        case EMFILE, ENFILE: tooManyFiles.caused(by: underlying, at: path)
        case EISDIR: unreadable.caused(by: underlying, at: path)
        case EWOULDBLOCK:
            StorageError(
                .inUse, "Another process uses this data folder. Stop it, or name another folder.",
                path: path, underlying: underlying)
        default:
            notWritable(path: path, underlying: underlying)
        }
    }

    /// Whether only a lack of file descriptors can keep a file from being opened. SQLite has the same
    /// code for that and for a folder that cannot be written, and only the latter stops the service.
    private static func isWritable(_ path: String) -> Bool {
        guard isFolderWritable(path) else { return false }
        var status = stat()
        guard stat(path, &status) == 0 else { return errno == ENOENT }
        return status.st_mode & S_IFMT == S_IFREG && access(path, R_OK | W_OK) == 0
    }

    private static func isFolderWritable(_ path: String) -> Bool {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        return access(folder, W_OK | X_OK) == 0
    }

    /// SQLite reports "full" when a write finds no space, but not when the index of the write-ahead log cannot grow, or
    /// when a quota is used up.
    private static func isStorageFull(_ error: DatabaseError) -> Bool {
        [.SQLITE_IOERR_WRITE, .SQLITE_IOERR_SHMSIZE].contains(error.extendedResultCode)
    }

    static func diskFull(path: String, underlying: (any Error)? = nil) -> StorageError {
        StorageError(
            .diskFull, "The disk is full. Free some space; deleting records helps too.",
            path: path, underlying: underlying)
    }

    private static let unreadable = StorageError(
        .unreadable,
        "The system does not allow the database file to be read and written. Make the service's user its owner, "
            + "set its mode to 600, and check the disk.")

    /// The shortage ends by itself when clients disconnect, so the service continues.
    private static let tooManyFiles = StorageError(
        .busy,
        "Too many files and connections are open. Try again later, or raise the process's limit of "
            + "open files.")

    private func caused(by underlying: any Error, at path: String) -> StorageError {
        StorageError(code, message, path: path, underlying: underlying)
    }

    static func notWritable(path: String, underlying: (any Error)?) -> StorageError {
        StorageError(
            .notWritable, "The data folder cannot be written. Give the service write permission.",
            path: path, underlying: underlying)
    }

    private init(_ refusal: DatabaseRefusal) {
        switch refusal {
        case .otherKind(let path): self = .otherKind(path: path)
        case .newerFormat(let path, let found, let newestKnown):
            self = .newerFormat(path: path, found: found, newestKnown: newestKnown)
        case .notDurable(let path):
            self.init(
                .other,
                "SQLite does not wait for the disk here, so a power cut could undo what was saved. "
                    + "Use a build of SQLite that supports PRAGMA synchronous = FULL.", path: path)
        }
    }

    static func otherKind(path: String, underlying: (any Error)? = nil) -> StorageError {
        StorageError(
            .unknownFormat,
            "The file is not one of Stratus's. Move it away, or name another data folder.",
            path: path, underlying: underlying)
    }

    static func newerFormat(path: String, found: Int, newestKnown: Int) -> StorageError {
        StorageError(
            .unknownFormat,
            "The file has format \(found), and the newest that this version of Stratus knows is "
                + "\(newestKnown). Update Stratus.", path: path)
    }

    static func closed(path: String? = nil) -> StorageError {
        StorageError(.closed, "The store was closed. Open it again.", path: path)
    }

    static func noVersions() -> StorageError {
        StorageError(.other, "A change asked for no version of its zone. Take at least one.")
    }

    static func assetMissing() -> StorageError {
        StorageError(
            .other, "The asset does not exist. Upload it before a record refers to it.")
    }

    static func zoneMissing() -> StorageError {
        StorageError(
            .other, "The zone does not exist. Create it before changing its records.")
    }
}
