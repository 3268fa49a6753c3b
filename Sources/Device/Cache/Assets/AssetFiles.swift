import Crypto
import Foundation
import StratusClient
import StratusRecords
import StratusRuntime
import Synchronization

/// The folder beside a cache's file with the files of its assets.
///
/// A file is named by its content, its SHA-256 or the service's checksum, and is never changed: a
/// file with such a name is complete and durable. Rows of the table `asset` name files. A process
/// that creates a file holds the folder's lock shared until the row exists; a process that removes
/// files without rows holds it exclusively. The kernel releases the lock when a process ends, so a
/// killed process leaves at worst a file without a row.
final class AssetFiles: Sendable {
    /// Bytes of a file that are copied at a time.
    private static let pieceBytes = 1 << 20
    /// After how many bytes a download is synced; see `AssetPart`.
    static let bytesPerSync: Int64 = 1 << 18
    /// The suffix of the folder's path after the path of the cache's file.
    static let folderSuffix = "-assets"
    /// The suffix of the names of incomplete files.
    static let partSuffix = ".part"
    static let newSuffix = ".new"

    /// The folder, created with the first file. Empty for a cache in memory without a folder.
    let path: String
    let isInMemory: Bool
    let world: World
    let transfers = AssetTransfers()
    private let leases: AssetLeases
    /// The names of the incomplete files whose bytes were all written since the system started, or synced.
    private let trustedParts = Mutex<Set<String>>([])

    /// - Parameter path: the path of the folder; nil for a cache in memory without one.
    init(path: String?, world: World) {
        isInMemory = path == nil
        self.path = path ?? ""
        self.world = world
        // In a simulated world each file has one process, and the leases of a process end with it.
        let isShared = world.runOnDisk == nil
        leases = path.flatMap { isShared ? AssetLeases.of($0) : nil } ?? AssetLeases()
    }

    deinit { leases.forget(ObjectIdentifier(self)) }

    func url(_ file: String) -> URL { URL(fileURLWithPath: path + "/" + file) }

    var isMade: Bool { !isInMemory && FileManager.default.fileExists(atPath: path) }

    // MARK: The lock

    /// Runs a body that creates files and their rows; meanwhile no process removes the files as
    /// orphans.
    ///
    /// - Throws: ``CacheError`` `unwritable` or `storageFull`, `unsupportedValue` in memory, and what the body throws.
    func making<Value>(_ body: () throws -> Value) throws -> Value {
        guard !isInMemory else {
            throw CacheError(
                .unsupportedValue,
                "The record has an asset, and a cache in memory without a folder keeps none. Open it with MemoryCacheFile(assetFolder:), or on the disk."
            )
        }
        if mkdir(path, 0o700) == 0 {
            try Self.syncFolder((path as NSString).deletingLastPathComponent)
        }
        // Waits, because removing files takes only a short time.
        let lock = try FileLock(
            waitingFor: path, O_RDONLY | O_DIRECTORY, isShared: true,
            failure: { Self.error($0, at: path) })
        return try lock.whileLocked { _ in
            DeviceFile.tighten(path, isFolder: true)
            return try body()
        }
    }

    /// Runs a body that removes files, while no process creates one.
    ///
    /// - Returns: false, without running the body, while a process creates files.
    func removing(_ body: () throws -> Void) throws -> Bool {
        guard isMade else {
            try body()
            return true
        }
        guard
            let lock = try FileLock(
                ifFree: path, O_RDONLY | O_DIRECTORY, failure: { Self.error($0, at: path) })
        else { return false }
        try lock.whileLocked { _ in
            DeviceFile.tighten(path, isFolder: true)
            try body()
        }
        return true
    }

    // MARK: Making

    /// Copies an app's file into the folder, on disk when this returns. Inside ``making(_:)``.
    ///
    /// - Returns: its name, the SHA-256 of its content, and its length.
    /// - Throws: ``CacheError`` `assetUnreadable`, `storageFull` or `unwritable`.
    func take(_ source: URL) throws -> (file: String, sizeBytes: Int64) {
        // Nonblocking, so that opening a pipe does not wait for a writer.
        let from = open(source.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard from >= 0 else { throw CacheError.assetUnreadable(source, errno) }
        defer { close(from) }
        let before = try Self.state(of: from, source)
        let temporary = path + "/" + world.makeUUID().uuidString + Self.newSuffix
        let to = open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard to >= 0 else { throw Self.error(errno, at: path) }
        var isTaken = false
        defer {
            close(to)
            if !isTaken { unlink(temporary) }
        }
        let digest = try Self.copy(from, source, to: to)
        let after = try Self.state(of: from, source)
        guard after == before else {
            throw CacheError(
                .assetUnreadable,
                "The asset's file \(source.path) changed while it was saved. Save the record again."
            )
        }
        try Self.sync(to)
        let file = Hexadecimal.text(digest)
        guard rename(temporary, path + "/" + file) == 0 else { throw Self.error(errno, at: path) }
        isTaken = true
        touch(file)
        try Self.syncFolder(path)
        return (file, before.sizeBytes)
    }

    /// Renames a complete download to its final name. Inside ``making(_:)``.
    func finish(_ part: AssetPart, as file: String) throws {
        // The part may have been removed while no record had the asset, and another process may have begun a new part
        // with the same name.
        guard part.isInPlace else {
            throw CacheError(
                .notSynced,
                "The download \(part.name) in \(path) was removed before it ended. Request the asset again."
            )
        }
        guard rename(path + "/" + part.name, path + "/" + file) == 0 else {
            throw Self.error(errno, at: path)
        }
        distrustPart(part.name)
        touch(file)
        try Self.syncFolder(path)
    }

    /// Whether this process has opened a part before, and every sync of it succeeded, so that none of its bytes can be
    /// lost.
    func trustsPart(_ name: String) -> Bool { trustedParts.withLock { $0.contains(name) } }

    func trustPart(_ name: String) { trustedParts.withLock { _ = $0.insert(name) } }

    func distrustPart(_ name: String) { trustedParts.withLock { _ = $0.remove(name) } }

    private static func copy(_ from: Int32, _ source: URL, to: Int32) throws -> SHA256.Digest {
        var digest = SHA256()
        var piece = [UInt8](repeating: 0, count: pieceBytes)
        while true {
            let count = read(from, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw CacheError.assetUnreadable(source, errno) }
            if count == 0 { return digest.finalize() }
            digest.update(data: piece[..<count])
            try write(piece[..<count], to: to)
        }
    }

    /// Writes all bytes at the descriptor's position.
    static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) throws {
        try bytes.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let count = Foundation.write(
                    descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw Self.error(errno) }
                done += count
            }
        }
    }

    static func sync(_ descriptor: Int32) throws {
        guard fsync(descriptor) == 0 else { throw error(errno) }
    }

    private static func syncFolder(_ path: String) throws {
        let code = DurableFile.sync(path.isEmpty ? "." : path)
        guard code == 0 else { throw error(code, at: path) }
    }

    private struct FileState: Equatable {
        var sizeBytes: Int64
        var seconds: Int
        var nanoseconds: Int
    }

    private static func state(of descriptor: Int32, _ url: URL) throws -> FileState {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw CacheError.assetUnreadable(url, errno)
        }
        #if os(Linux)
            let time = status.st_mtim
        #else
            let time = status.st_mtimespec
        #endif
        return FileState(
            sizeBytes: Int64(status.st_size), seconds: time.tv_sec, nanoseconds: time.tv_nsec)
    }

    /// - Parameter path: the folder that was written, if it is known.
    static func error(_ code: Int32, at path: String = "the file of an asset") -> CacheError {
        if code == ENOSPC || code == EDQUOT {
            return .storageFull()
        }
        return .unwritable(path, cause: POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO))
    }

    // MARK: Using

    /// Sets a body that runs whenever the last lease of a file has ended that was not removed because of it.
    func whenReleased(_ body: @escaping @Sendable () -> Void) {
        leases.whenReleased(for: ObjectIdentifier(self), body)
    }

    /// Leases a file, which is kept until the lease ends; nil if it is not here.
    func lease(_ file: String) -> AssetLease? {
        guard !isInMemory else { return nil }
        let lease = AssetLease(file, of: leases)
        guard access(path + "/" + file, R_OK) == 0 else { return nil }
        touch(file)
        return lease
    }

    /// Whether a file that is to be removed is leased: then the body of ``whenReleased(_:)`` runs when it no longer is.
    func isKept(_ file: String) -> Bool { leases.isKept(file, by: ObjectIdentifier(self)) }

    /// Notes the use of a file: the least recently used files are evicted first.
    private func touch(_ file: String) {
        let now = world.nowMilliseconds()
        let time = timespec(
            tv_sec: Int(now / 1_000), tv_nsec: Int(now % 1_000) * 1_000_000)
        // If the time cannot be set, the file's former time decides when it is evicted.
        _ = utimensat(AT_FDCWD, path + "/" + file, [time, time], 0)
    }

    /// When a file was last used, in milliseconds since 1970; nil if it is not here.
    func lastUse(of file: String) -> Int64? {
        var status = stat()
        guard stat(path + "/" + file, &status) == 0 else { return nil }
        #if os(Linux)
            let time = status.st_mtim
        #else
            let time = status.st_mtimespec
        #endif
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec / 1_000_000)
    }

    // MARK: Removing

    /// Removes a file unless it is leased; then it is one of those of ``whenReleased(_:)``. Inside ``removing(_:)``.
    ///
    /// - Returns: whether it no longer exists.
    @discardableResult
    func remove(_ file: String) -> Bool {
        leases.ifFree(file, for: ObjectIdentifier(self)) {
            unlink(path + "/" + file) == 0 || errno == ENOENT
        }
    }

    /// All names in the folder.
    func names() throws -> [String] {
        guard isMade else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: path)
    }

    /// Whether there are incomplete files.
    func hasParts() throws -> Bool {
        try names().contains { $0.hasSuffix(Self.partSuffix) }
    }
}

extension CacheError {
    fileprivate static func assetUnreadable(_ url: URL, _ code: Int32) -> CacheError {
        CacheError(
            .assetUnreadable,
            "The asset's file \(url.path) cannot be read. Save the record while the file is there.",
            cause: POSIXError(
                POSIXErrorCode(rawValue: code) ?? .EIO, userInfo: [NSFilePathErrorKey: url.path]))
    }
}
