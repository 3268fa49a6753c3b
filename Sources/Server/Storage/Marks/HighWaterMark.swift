import CStorage
import Foundation

/// How many commits of a database were acknowledged, in a small file beside it that is mapped into memory.
///
/// The number is raised after each commit has reached the disk, and is never itself synchronised, so that it
/// costs no wait. The system keeps the page when the process is killed: then the number is exact. After a
/// power cut it may be behind. It is never ahead of what is durable, so a database that has fewer commits
/// has lost some.
///
/// The file has 64 bytes: 16 that name the format, the database's identifier, the commits, and zeros.
/// Several processes may have it mapped; the number is raised by an atomic maximum.
///
/// `@unchecked`: the memory is read and written atomically alone.
final class HighWaterMark: @unchecked Sendable {
    static let fileEnding = ".mark"

    private static let format = Array("stratus mark 1\n\0".utf8)
    private static let identifierOffset = 16
    private static let commitsOffset = 24
    private static let size = 64

    private let memory: UnsafeMutableRawPointer

    private init(_ memory: UnsafeMutableRawPointer) {
        self.memory = memory
    }

    deinit {
        munmap(memory, Self.size)
    }

    /// The path of the mark of a database's file.
    static func path(ofDatabase path: String) -> String {
        path.dropLast(DataFolder.fileEnding.utf8.count) + fileEnding
    }

    var identifier: UInt64 { stratus_mapped_load(memory + Self.identifierOffset) }

    var commits: UInt64 { stratus_mapped_load(memory + Self.commitsOffset) }

    /// Says that so many commits are on the disk.
    func raise(to commits: UInt64) {
        guard commits > 0 else { return }
        // Once in a database's life it waits for the disk: from then on a database that is missing is
        // noticed after a power cut too. When the disk refuses, the mark is as good as after a power cut.
        if stratus_mapped_raise(memory + Self.commitsOffset, commits) == 0 {
            msync(memory, Self.size, MS_SYNC)
        }
    }

    /// Maps the mark of a database.
    ///
    /// - Returns: Nil when there is none, or one that was about to be made when the power went.
    /// - Throws: ``LossRefusal/Reason/damagedMark`` and ``StorageError``.
    static func existing(at path: String) throws -> HighWaterMark? {
        let file = open(path, O_RDWR | O_CLOEXEC)
        if file < 0, errno == ENOENT { return nil }
        guard file >= 0 else { throw StorageError.translating(errno: errno, path: path) }
        defer { close(file) }
        return try map(file, path)
    }

    /// Makes a mark, or maps the one that another process has made, and returns when its name is on the disk.
    static func make(
        at path: String, identifier: UInt64, commits: UInt64
    ) throws -> HighWaterMark {
        try write(path, identifier, commits, replaces: false)
    }

    /// Says something else from now on: what was lost is accepted.
    static func replace(at path: String, identifier: UInt64, commits: UInt64) throws {
        _ = try write(path, identifier, commits, replaces: true)
    }

    private static func write(
        _ path: String, _ identifier: UInt64, _ commits: UInt64, replaces: Bool
    ) throws -> HighWaterMark {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw StorageError.translating(errno: errno, path: path) }
        defer { close(file) }
        // Against another process that makes it too.
        guard flock(file, LOCK_EX) == 0 else {
            throw StorageError.translating(errno: errno, path: path)
        }
        if !replaces, let made = try map(file, path) { return made }
        var bytes = [UInt8](repeating: 0, count: size)
        bytes.replaceSubrange(0..<format.count, with: format)
        bytes.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            stratus_mapped_store(start + identifierOffset, identifier)
            stratus_mapped_store(start + commitsOffset, commits)
        }
        guard pwrite(file, bytes, size, 0) == size, ftruncate(file, off_t(size)) == 0,
            fsync(file) == 0
        else { throw StorageError.translating(errno: errno, path: path) }
        try DataFolder.sync(URL(fileURLWithPath: path).deletingLastPathComponent().path)
        guard let made = try map(file, path) else { throw LossRefusal(.damagedMark) }
        return made
    }

    /// - Returns: Nil for a file that has nothing in it yet.
    private static func map(_ file: Int32, _ path: String) throws -> HighWaterMark? {
        var bytes = [UInt8](repeating: 0, count: size + 1)
        let count = pread(file, &bytes, size + 1, 0)
        guard count >= 0 else { throw StorageError.translating(errno: errno, path: path) }
        if !bytes.contains(where: { $0 != 0 }) { return nil }
        guard count == size, bytes.starts(with: format) else { throw LossRefusal(.damagedMark) }
        guard let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0),
            memory != MAP_FAILED
        else { throw StorageError.translating(errno: errno, path: path) }
        return HighWaterMark(memory)
    }
}
