import Foundation
import StratusRuntime

/// Partial blobs are files `<owner>/<name>.<boot>` in the data folder's `partial`.
///
/// They are flushed only when they are kept. If the process is killed, the system still writes their bytes to the disk.
/// If the machine goes down, bytes may be missing, even in the middle of a file: so files of an earlier boot are
/// ignored.
extension FileBlobStore {
    func partial(_ name: PartialBlobName) async throws -> any PartialBlob {
        if let reserve, reserve.isReadOnly { throw StorageError.assetDiskFull(path: partials) }
        let owner = partials + "/" + name.owner
        let path = owner + "/" + name.name + "." + Self.boot
        return try await WorkThread(world).run { [folder, partials, world] in
            try DataFolder.makeFolder(partials)
            try DataFolder.makeFolder(owner)
            // This folder marks the database as one with blobs, so that garbage collection searches it.
            try Self.inAssetFolder { try DataFolder.makeFolder(folder) }
            let file = Foundation.open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw StorageError.blob(errno: errno, path: path) }
            // Not left any more: its age must not remove it while bytes arrive.
            try FileBlobWriter.setTime(of: file, world.nowMilliseconds(), path)
            let sizeBytes = try Self.sizeBytes(of: file, path)
            return FilePartialBlob(
                FileBlobWriter(file: file, path: path, folder: folder, world: world), path: path,
                sizeBytes: sizeBytes, world: world)
        }
    }

    func partialBytes(of owner: PartialBlobName) async throws -> [String: Int64] {
        let owner = partials + "/" + owner.owner
        return try await WorkThread(world).run {
            var sizes: [String: Int64] = [:]
            for name in try DataFolder.names(in: owner) where name.hasSuffix("." + Self.boot) {
                var status = stat()
                // Kept or removed since the listing.
                guard stat(owner + "/" + name, &status) == 0 else { continue }
                sizes[String(name.dropLast(Self.boot.utf8.count + 1))] = Int64(status.st_size)
            }
            return sizes
        }
    }

    func removePartials(leftBefore milliseconds: Int64) async throws {
        try await WorkThread(world).run { [partials] in
            for owner in try DataFolder.names(in: partials) {
                let folder = partials + "/" + owner
                for name in try DataFolder.names(in: folder) {
                    let path = folder + "/" + name
                    var status = stat()
                    guard stat(path, &status) == 0,
                        !name.hasSuffix("." + Self.boot)
                            || status.modifiedMilliseconds < milliseconds
                    else { continue }
                    guard unlink(path) == 0 || errno == ENOENT else {
                        throw StorageError.blob(errno: errno, path: path)
                    }
                }
                // Fails while there is something in it, which then stays.
                rmdir(folder)
            }
        }
    }

    /// Identifies the boot of the machine; a constant where the system does not report it.
    private static let boot: String = {
        let path = "/proc/sys/kernel/random/boot_id"
        // Only Linux has this file; elsewhere files of earlier boots cannot be distinguished.
        let text = try? String(contentsOfFile: path, encoding: .utf8)
        return text.map { String($0.prefix(8)) } ?? "0"
    }()
}

/// A file that is appended to.
private final class FilePartialBlob: PartialBlob {
    let sizeBytes: Int64
    private let writer: FileBlobWriter
    private let path: String
    private let world: World

    /// - Parameter sizeBytes: The bytes that were there before.
    init(_ writer: FileBlobWriter, path: String, sizeBytes: Int64, world: World) {
        self.writer = writer
        self.path = path
        self.sizeBytes = sizeBytes
        self.world = world
    }

    func write(_ bytes: [UInt8]) async throws { try await writer.write(bytes) }

    func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        try await WorkThread(world).run { [self] in
            try FileBlobReader.bytes(
                of: writer.openFile(), at: offset, count: count, path)
        }
    }

    func leave(atMilliseconds milliseconds: Int64) async throws {
        try await writer.leave(atMilliseconds: milliseconds)
    }

    func keep(as name: BlobName, atMilliseconds milliseconds: Int64) async throws {
        try await writer.keep(as: name, atMilliseconds: milliseconds)
    }

    func discard() async { await writer.discard() }
}
