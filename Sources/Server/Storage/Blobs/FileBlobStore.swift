import CStorage
import Foundation
import StratusRecords
import StratusRuntime
import Synchronization

/// The blobs of one database as files: `aa/bb/<digest>.<generation>` in the folder beside its file.
///
/// A blob is written under another name in the data folder's `incoming`, flushed, renamed, and its new folder flushed:
/// so a file in its final place is complete, and a crash leaves incomplete files only in `incoming`.
struct FileBlobStore: BlobStore {
    let folder: String
    /// The folder of blobs that are being written; on the same file system.
    let incoming: String
    /// The folder of resumable uploads, with a folder for each of their owners.
    let partials: String
    let world: World
    let reserve: DiskReserve?

    func begin() async throws -> any BlobWriter {
        if let reserve, reserve.isReadOnly { throw StorageError.assetDiskFull(path: incoming) }
        let path = incoming + "/" + String(world.randomNumber(), radix: 16)
        return try await WorkThread(world).run { [folder, incoming, world] in
            try DataFolder.makeFolder(incoming)
            let file = Foundation.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw StorageError.blob(errno: errno, path: path) }
            do {
                try FileRights.setMode(file, path)
            } catch {
                close(file)
                throw error
            }
            return FileBlobWriter(file: file, path: path, folder: folder, world: world)
        }
    }

    func open(_ name: BlobName) async throws -> (any BlobReader)? {
        let path = Self.path(of: name, in: folder)
        return try await WorkThread(world).run { [world] in
            let file = Foundation.open(path, O_RDONLY | O_CLOEXEC)
            guard file >= 0 else {
                if errno == ENOENT { return nil }
                throw StorageError.blob(errno: errno, path: path)
            }
            let sizeBytes = try Self.sizeBytes(of: file, path)
            return FileBlobReader(file: file, path: path, sizeBytes: sizeBytes, world: world)
        }
    }

    func delete(_ name: BlobName) async throws {
        let path = Self.path(of: name, in: folder)
        try await WorkThread(world).run {
            guard unlink(path) == 0 || errno == ENOENT else {
                throw StorageError.blob(errno: errno, path: path)
            }
        }
    }

    func blobs(beginningWith byte: UInt8) async throws -> [StoredBlob] {
        let part = folder + "/" + Hexadecimal.text([byte])
        return try await WorkThread(world).run {
            var blobs: [StoredBlob] = []
            for second in try Self.inAssetFolder({ try DataFolder.names(in: part) }) {
                let folder = part + "/" + second
                for file in try Self.inAssetFolder({ try DataFolder.names(in: folder) }) {
                    guard let name = BlobName(fileName: file) else { continue }
                    var status = stat()
                    // Deleted since the listing.
                    guard stat(folder + "/" + file, &status) == 0 else { continue }
                    blobs.append(
                        StoredBlob(name: name, keptMilliseconds: status.modifiedMilliseconds))
                }
            }
            return blobs
        }
    }

    /// The size of an open file, which is closed if the system does not report it.
    static func sizeBytes(of file: Int32, _ path: String) throws -> Int64 {
        var status = stat()
        guard fstat(file, &status) == 0 else {
            let code = errno
            close(file)
            throw StorageError.blob(errno: code, path: path)
        }
        return Int64(status.st_size)
    }

    /// Runs work on a folder of assets. A refusal by the system concerns these assets only, not the whole data folder,
    /// so the error does not stop the service.
    static func inAssetFolder<Outcome>(_ body: () throws -> Outcome) throws -> Outcome {
        do {
            return try body()
        } catch let error as StorageError where error.code == .notWritable {
            throw StorageError.assetUnusable(path: error.path, underlying: error.underlying)
        }
    }

    static func path(of name: BlobName, in folder: String) -> String {
        let (first, second) = name.folders
        return "\(folder)/\(first)/\(second)/\(name.fileName)"
    }
}

/// A file in `incoming`.
final class FileBlobWriter: BlobWriter {
    private let path: String
    private let folder: String
    private let world: World
    /// Nil once the blob was kept, left or discarded.
    private let file: Mutex<Int32?>

    init(file: Int32, path: String, folder: String, world: World) {
        self.path = path
        self.folder = folder
        self.world = world
        self.file = Mutex(file)
    }

    deinit {
        remove()
    }

    func write(_ bytes: [UInt8]) async throws {
        try await WorkThread.blobs(in: world).run { [self] in
            let file = try openFile()
            try bytes.withUnsafeBytes { buffer in
                var rest = buffer[...]
                while !rest.isEmpty {
                    let count = Foundation.write(
                        file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { throw StorageError.blob(errno: errno, path: path) }
                    rest = rest.dropFirst(count)
                }
            }
            do {
                try writeBack(bytes.count, of: file)
            } catch {
                // Writing cannot continue in this file: some of its bytes are not on the disk.
                remove()
                throw error
            }
        }
    }

    /// Bytes after which waiting commits come first.
    private static let pieceBytes: Int64 = 131_072

    /// Writes the newest bytes to the disk, a piece at a time. Otherwise the commits of other databases would wait for
    /// the whole file, since all files of a file system share its journal.
    ///
    /// - Throws: ``StorageError`` when the disk did not accept them. A later `fsync` would not report that.
    private func writeBack(_ count: Int, of file: Int32) throws {
        let end = Int64(lseek(file, 0, SEEK_CUR))
        var start = end - Int64(count)
        while start < end {
            let length = min(Self.pieceBytes, end - start)
            CommitTurn.waitForCommits()
            let code = stratus_write_back(file, start, length)
            guard code == 0 else { throw StorageError.blob(errno: code, path: path) }
            start += length
        }
    }

    func keep(as name: BlobName, atMilliseconds milliseconds: Int64) async throws {
        try await WorkThread.blobs(in: world).run { [self] in
            let file = try openFile()
            try Self.setTime(of: file, milliseconds, path)
            CommitTurn.waitForCommits()
            guard fsync(file) == 0 else {
                throw StorageError.blob(errno: errno, path: path)
            }
            let target = FileBlobStore.path(of: name, in: folder)
            let targetFolder = URL(fileURLWithPath: target).deletingLastPathComponent().path
            try FileBlobStore.inAssetFolder { try DataFolder.makeFolder(targetFolder) }
            guard rename(path, target) == 0 else {
                throw StorageError.blob(errno: errno, path: target)
            }
            self.file.withLock { $0 = nil }
            close(file)
            try FileBlobStore.inAssetFolder { try DataFolder.sync(targetFolder) }
        }
    }

    func discard() async {
        remove()
    }

    /// Closes the file and leaves it as it is.
    func leave(atMilliseconds milliseconds: Int64) async throws {
        try await WorkThread(world).run { [self] in
            let file = try openFile()
            try Self.setTime(of: file, milliseconds, path)
            self.file.withLock { $0 = nil }
            close(file)
        }
    }

    static func setTime(of file: Int32, _ milliseconds: Int64, _ path: String) throws {
        let time = timespec(
            tv_sec: Int(milliseconds / 1_000), tv_nsec: Int(milliseconds % 1_000) * 1_000_000)
        guard futimens(file, [time, time]) == 0 else {
            throw StorageError.blob(errno: errno, path: path)
        }
    }

    func openFile() throws -> Int32 {
        guard let file = file.withLock({ $0 }) else { throw StorageError.closed(path: path) }
        return file
    }

    private func remove() {
        file.withLock { file in
            guard let open = file else { return }
            close(open)
            // A file that cannot be removed now is removed at the next start.
            unlink(path)
            file = nil
        }
    }
}

/// An open file, read from any place.
final class FileBlobReader: BlobReader {
    let sizeBytes: Int64
    private let file: Int32
    private let path: String
    private let world: World

    init(file: Int32, path: String, sizeBytes: Int64, world: World) {
        self.file = file
        self.path = path
        self.sizeBytes = sizeBytes
        self.world = world
    }

    deinit {
        close(file)
    }

    func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        try await WorkThread(world).run { [self] in
            try Self.bytes(of: file, at: offset, count: count, path)
        }
    }

    static func bytes(
        of file: Int32, at offset: Int64, count: Int, _ path: String
    ) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let read = pread(
                    file, buffer.baseAddress.map { $0 + filled }, count - filled,
                    off_t(offset) + off_t(filled))
                if read < 0, errno == EINTR { continue }
                guard read >= 0 else { throw StorageError.blob(errno: errno, path: path) }
                if read == 0 { break }
                filled += read
            }
        }
    }
}

extension StorageError {
    /// Translates a failed call on a blob. The error ends the upload or download, not the service: if the disk is full,
    /// removing the part that was written makes room again, and other files may be intact.
    static func blob(errno code: Int32, path: String) -> StorageError {
        let underlying = POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
        return switch code {
        case ENOSPC, EDQUOT, EFBIG: assetDiskFull(path: path, underlying: underlying)
        case EMFILE, ENFILE: translating(errno: code, path: path)
        default: assetUnusable(path: path, underlying: underlying)
        }
    }

    static func assetUnusable(path: String?, underlying: (any Error)?) -> StorageError {
        StorageError(
            .other,
            "The system does not allow an asset's file to be read or written. Make the service's user the "
                + "owner of it and of its folders, and check the disk.", path: path,
            underlying: underlying)
    }

    static func assetDiskFull(path: String, underlying: (any Error)? = nil) -> StorageError {
        StorageError(
            .assetDiskFull,
            "The disk has no room for this asset. Free some space and upload it again.",
            path: path, underlying: underlying)
    }
}

extension stat {
    var modifiedMilliseconds: Int64 {
        #if canImport(Darwin)
            let time = st_mtimespec
        #else
            let time = st_mtim
        #endif
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
