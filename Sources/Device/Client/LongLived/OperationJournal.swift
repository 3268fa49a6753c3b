import Crypto
import Foundation
import StratusRuntime
import Synchronization

/// The files of one long-lived operation, in a folder of its own (0700).
///
/// * `description`: the account, device and time at which the operation began, and its arguments.
///   Locked by the process that runs the operation.
/// * `outcome`: the results it has reported so far, page by page.
/// * `end`: written last; without it the operation did not end, and `outcome` is not used.
/// * `asset-…`: the files of assets in the arguments and the outcome.
///
/// A file begins with the format's name. Pieces follow, each with its length (8 bytes, big-endian),
/// its SHA-256 and a keyed archive.
final class OperationJournal: Sendable {
    static let format = Data("stratus-operation-1\n".utf8)
    private static let digestBytes = 32

    /// The content of a description.
    struct Description {
        var author: String
        var deviceID: String
        var date: Date
        /// Reads the operation's own arguments, which follow.
        var reader: JournalReader
    }

    /// How an operation ended.
    struct End {
        var date: Date
        var error: CKError?
    }

    /// The file's content differs from what was written.
    struct Damaged: Error {}

    /// `@unchecked Sendable`: reached only through the mutex `files`.
    private struct Files: @unchecked Sendable {
        var lock: FileLock
        var outcome: FileHandle?
        /// Whether a part of the outcome is missing.
        var isIncomplete = false
        var pageCount = 0
        var isForgotten = false
    }

    let folder: URL
    /// The ID of the device that began the operation, if it is not this connection's.
    private let device = Mutex<String?>(nil)
    private let files: Mutex<Files>

    private init(_ folder: URL, lock: FileLock) {
        self.folder = folder
        files = Mutex(Files(lock: lock))
    }

    var foreignDeviceID: String? {
        get { device.withLock { $0 } }
        set { device.withLock { $0 = newValue } }
    }

    // MARK: Beginning

    /// Writes a description into a draft folder, flushes it to the disk, and then renames the
    /// folder.
    static func make(
        in draft: URL, movedTo folder: URL, _ describe: (JournalWriter) throws -> Void
    ) throws -> OperationJournal {
        let writer = JournalWriter("arguments", folder: draft)
        try describe(writer)
        let url = draft.appendingPathComponent("description")
        try write(format + piece(writer.finish()), to: url)
        guard let lock = locked(url) else { throw POSIXError(.EWOULDBLOCK) }
        guard rename(draft.path, folder.path) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        try flush(folder.deletingLastPathComponent())
        return OperationJournal(folder, lock: lock)
    }

    /// Opens and locks a journal to continue it; nil while it is locked elsewhere, or when it does
    /// not exist.
    static func opened(_ folder: URL) -> OperationJournal? {
        locked(folder.appendingPathComponent("description")).map {
            OperationJournal(folder, lock: $0)
        }
    }

    private static func locked(_ url: URL) -> FileLock? { FileLock(ifFree: url.path, O_RDWR) }

    static func description(in folder: URL) throws -> Description {
        let pieces = try PieceReader(folder.appendingPathComponent("description"))
        guard let bytes = try pieces.next() else { throw Damaged() }
        let reader = try JournalReader(bytes, folder: folder)
        guard let author = reader.coder.archivedString("author"),
            let deviceID = reader.coder.archivedString("deviceID"),
            let date = reader.coder.archivedDate("date")
        else { throw Damaged() }
        return Description(author: author, deviceID: deviceID, date: date, reader: reader)
    }

    // MARK: The outcome

    /// Discards the results that an earlier process received of an operation that did not end.
    func beginOutcome() {
        do {
            try files.withLock { files in
                let end = folder.appendingPathComponent("end")
                if FileManager.default.fileExists(atPath: end.path) {
                    try FileManager.default.removeItem(at: end)
                }
                let url = folder.appendingPathComponent("outcome")
                try Self.write(Self.format, to: url)
                let handle = try FileHandle(forWritingTo: url)
                try handle.seekToEnd()
                files.outcome = handle
            }
        } catch {
            // The results are still reported to the app; the stored part no longer counts as an outcome.
            files.withLock { $0.isIncomplete = true }
            warn(error)
        }
    }

    /// Stores the results that are reported to the app next.
    ///
    /// If the disk is full the operation continues, but its outcome is not kept.
    func keep(_ write: (JournalWriter) throws -> Void) {
        let number = files.withLock { files in
            files.pageCount += 1
            return files.isIncomplete ? nil : files.pageCount
        }
        guard let number else { return }
        do {
            let writer = JournalWriter("page\(number)", folder: folder)
            try write(writer)
            let piece = Self.piece(writer.finish())
            try files.withLock { files in
                guard let outcome = files.outcome else { throw Damaged() }
                try outcome.write(contentsOf: piece)
                try outcome.synchronize()
            }
        } catch {
            // The results are still reported to the app; the stored part no longer counts as an outcome.
            files.withLock { $0.isIncomplete = true }
            warn(error)
        }
    }

    /// Stores that the operation ended.
    func end(_ error: CKError?, at date: Date) {
        guard !files.withLock({ $0.isIncomplete || $0.isForgotten }) else { return }
        do {
            let writer = JournalWriter("end", folder: folder)
            writer.coder.archive(date, "date")
            if let error { writer.write(error, "error") }
            try DurableFile.replace(
                folder.appendingPathComponent("end").path,
                with: Array(Self.format + Self.piece(writer.finish()))
            ) { code in POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
        } catch {
            // Logged. Without an end the next process performs the operation again, with the same
            // identifier.
            warn(error)
        }
    }

    private func warn(_ error: any Error) {
        OperationFolder.warn(
            "A long-lived operation's outcome could not be written, and is not kept; make room.",
            folder, error)
    }

    /// How the operation ended; nil when it did not, or when the file cannot be read.
    static func end(in folder: URL) -> End? {
        let url = folder.appendingPathComponent("end")
        guard FileManager.default.fileExists(atPath: url.path),
            // A damaged end counts as none: the operation is performed again with the same
            // identifier, so that the service applies it once.
            let bytes = try? PieceReader(url).next(),
            let reader = try? JournalReader(bytes, folder: folder),
            let date = reader.coder.archivedDate("date")
        else { return nil }
        return End(date: date, error: reader.error("error"))
    }

    /// How the operation ended, and its outcome page by page; nil when it did not end, or when a part cannot be read.
    func ending() -> (end: End, outcome: PieceReader)? {
        guard let end = Self.end(in: folder), let outcome = self.outcome() else { return nil }
        return (end, outcome)
    }

    /// The outcome page by page; nil when a part of it cannot be read.
    private func outcome() -> PieceReader? {
        let url = folder.appendingPathComponent("outcome")
        do {
            let check = try PieceReader(url)
            while try check.next() != nil {}
            return try PieceReader(url)
        } catch {
            // The caller gets nil and performs the operation again.
            return nil
        }
    }

    /// Removes the journal; the operation is no longer listed.
    func forget() {
        guard
            files.withLock({ files in
                defer { files.isForgotten = true }
                return !files.isForgotten
            })
        else { return }
        let gone = folder.deletingLastPathComponent()
            .appendingPathComponent(".gone-" + folder.lastPathComponent)
        do {
            try FileManager.default.moveItem(at: folder, to: gone)
            try FileManager.default.removeItem(at: gone)
        } catch {
            OperationFolder.warn(
                "The folder of a long-lived operation that ended cannot be removed; remove it.",
                folder, error)
        }
    }

    // MARK: Files

    private static func write(_ bytes: Data, to url: URL) throws {
        let descriptor = open(url.path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: bytes)
        try handle.synchronize()
    }

    /// Flushes the names in a folder to the disk.
    private static func flush(_ folder: URL) throws {
        let code = DurableFile.sync(folder.path)
        guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
    }

    private static func piece(_ bytes: Data) -> Data {
        var piece = Data()
        withUnsafeBytes(of: UInt64(bytes.count).bigEndian) { piece.append(contentsOf: $0) }
        piece.append(contentsOf: SHA256.hash(data: bytes))
        return piece + bytes
    }

    /// Reads the pieces of a file in order.
    final class PieceReader {
        private let handle: FileHandle
        private var remainingBytes: UInt64

        init(_ url: URL) throws {
            handle = try FileHandle(forReadingFrom: url)
            remainingBytes = try handle.seekToEnd()
            try handle.seek(toOffset: 0)
            guard try read(UInt64(format.count)) == format else { throw Damaged() }
        }

        /// - Throws: ``Damaged`` when the content differs from what was written.
        func next() throws -> Data? {
            guard remainingBytes > 0 else { return nil }
            let length = try read(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let digest = try read(UInt64(digestBytes))
            let bytes = try read(length)
            guard Data(SHA256.hash(data: bytes)) == digest else { throw Damaged() }
            return bytes
        }

        private func read(_ count: UInt64) throws -> Data {
            guard count <= remainingBytes else { throw Damaged() }
            remainingBytes -= count
            guard count > 0 else { return Data() }
            guard let bytes = try handle.read(upToCount: Int(count)), bytes.count == Int(count)
            else { throw Damaged() }
            return bytes
        }
    }
}
