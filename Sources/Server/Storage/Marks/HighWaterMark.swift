import Foundation
import StratusRuntime

/// The number of a database's acknowledged commits, in a small file beside it.
///
/// The number is raised after each commit has reached the disk. It is not synchronised itself, so that a commit need
/// not wait for it. If the process is killed, the system keeps the page, and the number is exact. After a power cut it
/// may be too low. It is never higher than the number of durable commits, so a database that has fewer commits has lost
/// some.
///
/// The file has 64 bytes: 16 that name the format, the database's identifier, the commits, and zeros. Several processes
/// may raise it, each while it has the file's lock. No descriptor stays open, and the file is not mapped: if a mapped
/// file is truncated, the process that touches it is killed.
struct HighWaterMark: Hashable, Sendable {
    static let fileEnding = ".mark"

    private static let format = Array("stratus mark 1\n\0".utf8)
    private static let identifierOffset = 16
    private static let commitsOffset = 24
    private static let size = 64

    private let path: String
    let identifier: UInt64
    /// The number of commits in the file when it was read.
    let commits: UInt64

    /// The path of the mark of a database's file.
    static func path(ofDatabase path: String) -> String {
        path.dropLast(DataFolder.fileEnding.utf8.count) + fileEnding
    }

    /// Stores the number of commits that are on the disk.
    ///
    /// A file that was emptied or removed is created again.
    ///
    /// - Returns: Nil, or the system's error number. The mark is then too low, as after a power cut, and the next
    ///   commit tries again.
    func raise(to commits: UInt64) -> Int32? {
        guard commits > 0 else { return nil }
        do {
            let lock = try FileLock(waitingFor: path, O_RDWR | O_CREAT) { NoLock(code: $0) }
            return lock.whileLocked { raise(to: commits, in: $0) }
        } catch {
            return error.code
        }
    }

    private struct NoLock: Error {
        var code: Int32
    }

    private func raise(to commits: UInt64, in file: Int32) -> Int32? {
        withUnsafeTemporaryAllocation(byteCount: Self.size, alignment: 8) { bytes in
            let found = pread(file, bytes.baseAddress, Self.size, 0)
            guard found == Self.size, bytes.starts(with: Self.format) else {
                // A damaged mark is written again as a whole.
                Self.fill(bytes, identifier, commits)
                guard pwrite(file, bytes.baseAddress, Self.size, 0) == Self.size else {
                    return errno
                }
                return fsync(file) == 0 ? nil : errno
            }
            let before = Self.number(in: bytes, at: Self.commitsOffset)
            // An operator accepted a loss, and another mark replaced this one.
            guard Self.number(in: bytes, at: Self.identifierOffset) == identifier,
                before < commits
            else { return nil }
            var number = commits
            let written = pwrite(
                file, &number, MemoryLayout<UInt64>.size, off_t(Self.commitsOffset))
            // The first raise in a database's life waits for the disk: from then on, a missing database is noticed
            // after a power cut too.
            guard written == MemoryLayout<UInt64>.size else { return errno }
            return before > 0 || fsync(file) == 0 ? nil : errno
        }
    }

    /// Reads the mark of a database.
    ///
    /// - Returns: Nil when there is none, or one whose creation a power cut interrupted.
    /// - Throws: ``LossRefusal/Reason/damagedMark`` and ``StorageError``.
    static func existing(at path: String) throws -> HighWaterMark? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        if file < 0, errno == ENOENT { return nil }
        guard file >= 0 else { throw StorageError.translating(errno: errno, path: path) }
        defer { close(file) }
        return try read(file, path)
    }

    /// Creates a mark, or reads the one that another process has created, and returns when its directory entry is on
    /// the disk.
    static func make(
        at path: String, identifier: UInt64, commits: UInt64
    ) throws -> HighWaterMark {
        try write(path, identifier, commits, replaces: false)
    }

    /// Replaces the mark, because a loss was accepted.
    static func replace(at path: String, identifier: UInt64, commits: UInt64) throws {
        _ = try write(path, identifier, commits, replaces: true)
    }

    private static func write(
        _ path: String, _ identifier: UInt64, _ commits: UInt64, replaces: Bool
    ) throws -> HighWaterMark {
        // Another process may create it at the same time.
        let lock = try FileLock(waitingFor: path, O_RDWR | O_CREAT) {
            StorageError.translating(errno: $0, path: path)
        }
        return try lock.whileLocked { file -> HighWaterMark in
            if !replaces, let made = try read(file, path) { return made }
            let isWritten = withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { bytes in
                fill(bytes, identifier, commits)
                return pwrite(file, bytes.baseAddress, size, 0) == size
            }
            guard isWritten, ftruncate(file, off_t(size)) == 0, fsync(file) == 0
            else { throw StorageError.translating(errno: errno, path: path) }
            try DataFolder.sync(URL(fileURLWithPath: path).deletingLastPathComponent().path)
            return HighWaterMark(path: path, identifier: identifier, commits: commits)
        }
    }

    /// - Returns: Nil for an empty file.
    private static func read(_ file: Int32, _ path: String) throws -> HighWaterMark? {
        try withUnsafeTemporaryAllocation(byteCount: size + 1, alignment: 8) { bytes in
            let count = pread(file, bytes.baseAddress, size + 1, 0)
            guard count >= 0 else { throw StorageError.translating(errno: errno, path: path) }
            if !bytes[..<count].contains(where: { $0 != 0 }) { return nil }
            guard count == size, bytes.starts(with: format) else {
                throw LossRefusal(.damagedMark)
            }
            return HighWaterMark(
                path: path, identifier: number(in: bytes, at: identifierOffset),
                commits: number(in: bytes, at: commitsOffset))
        }
    }

    private static func number(in bytes: UnsafeMutableRawBufferPointer, at offset: Int) -> UInt64 {
        bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    private static func fill(
        _ bytes: UnsafeMutableRawBufferPointer, _ identifier: UInt64, _ commits: UInt64
    ) {
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
        bytes.copyBytes(from: format)
        bytes.storeBytes(of: identifier, toByteOffset: identifierOffset, as: UInt64.self)
        bytes.storeBytes(of: commits, toByteOffset: commitsOffset, as: UInt64.self)
    }
}

extension HighWaterMark {
    /// Refuses a database that is not the mark's, or has fewer commits than were acknowledged when the mark was read.
    ///
    /// - Throws: ``LossRefusal``.
    func check(_ stamp: FileStamp) throws {
        guard stamp.identity.identifier == identifier else { throw LossRefusal(.replaced) }
        guard stamp.commits >= commits else {
            throw LossRefusal(.behind(acknowledged: commits, found: stamp.commits))
        }
    }
}
