import Foundation
import GRDB

extension CacheError {
    /// The device's storage is full.
    static func storageFull(cause: (any Error)? = nil) -> CacheError {
        CacheError(
            .storageFull,
            "This device is full; nothing was written, and nothing is lost. Make room, then try again.",
            cause: cause)
    }

    /// The error for the caller of a sync if an error of the file, or of the files of assets, will
    /// pass: the disk is full, another process writes for long, or the system cannot open, read or
    /// write the file now. Nil for any other error.
    static func passing(_ error: any Error) -> CacheError? {
        if let error = error as? CacheError {
            if error.code == .storageFull { return error }
            return error.code == .unwritable ? error.cause.flatMap { passing($0) } : nil
        }
        guard isFull(error) || isPassing(error) else { return nil }
        if isFull(error) { return .storageFull(cause: error) }
        return CacheError(
            .notSynced,
            "The cache's file cannot be used now (\(error)); nothing is lost. Sync again later.",
            cause: error)
    }

    private static func isFull(_ error: any Error) -> Bool {
        if let error = error as? DatabaseError { return error.resultCode == .SQLITE_FULL }
        guard let error = error as? POSIXError else { return false }
        return [.ENOSPC, .EDQUOT].contains(error.code)
    }

    private static func isPassing(_ error: any Error) -> Bool {
        if let error = error as? DatabaseError { return passingResults.contains(error.resultCode) }
        guard let error = error as? POSIXError else { return false }
        return passingCodes.contains(error.code)
    }

    /// `SQLITE_AUTH` is the answer for a file that iOS protects while the device is locked; the
    /// statements of syncing are never refused by `AppStatements`.
    private static let passingResults: [ResultCode] = [
        .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_NOMEM,
        .SQLITE_PROTOCOL, .SQLITE_AUTH,
    ]

    private static let passingCodes: Set<POSIXErrorCode> = [
        .EAGAIN, .EBUSY, .EINTR, .EIO, .EMFILE, .ENFILE, .ENOMEM,
    ]
}
