import Foundation
import StratusRuntime
import Synchronization

/// An incomplete file, locked by the process that writes it.
///
/// After a power failure the file may have its length but not the bytes written since it was last
/// synced. It is therefore synced before a byte is written beyond a multiple of `bytesPerSync`: the
/// bytes up to the last multiple that is below its length are durable. This process also trusts the
/// rest once it has opened the part, because there was no power failure since; a failed sync ends that trust.
final class AssetPart: Sendable {
    private static let bytesPerSync = AssetFiles.bytesPerSync
    let name: String
    private let assets: AssetFiles
    private let lock: FileLock
    private let sizeBytes: Int64?
    private let state: Mutex<(count: Int64, failure: CacheError?)>

    var count: Int64 { state.withLock { $0.count } }
    /// Why the last bytes could not be written.
    var failure: CacheError? { state.withLock { $0.failure } }
    var descriptor: Int32 { lock.descriptor }
    /// Whether the folder still has the part under its name.
    var isInPlace: Bool { lock.isAt(assets.path + "/" + name) }

    /// - Returns: nil while another process writes it.
    init?(_ name: String, in assets: AssetFiles, sizeBytes: Int64?) throws {
        let path = assets.path + "/" + name
        guard
            let lock = try FileLock(
                ifFree: path, O_CREAT | O_RDWR, failure: { AssetFiles.error($0, at: path) })
        else { return nil }
        // The other process has just renamed it: it is the complete file now, and must not be cut.
        guard lock.isAt(path) else { return nil }
        self.name = name
        self.assets = assets
        self.lock = lock
        self.sizeBytes = sizeBytes
        let end = Int64(lseek(lock.descriptor, 0, SEEK_END))
        let isTrusted = assets.trustsPart(name)
        let trusted = isTrusted ? end : max(0, end - 1) / Self.bytesPerSync * Self.bytesPerSync
        state = Mutex((trusted, nil))
        guard ftruncate(lock.descriptor, off_t(trusted)) == 0,
            lseek(lock.descriptor, off_t(trusted), SEEK_SET) >= 0
        else { throw AssetFiles.error(errno, at: path) }
        assets.trustPart(name)
        // The part is longer than the asset, so it belongs to something else.
        if let sizeBytes, end > sizeBytes { restart() }
    }

    /// Starts again from the first byte.
    func restart() {
        ftruncate(descriptor, 0)
        lseek(descriptor, 0, SEEK_SET)
        state.withLock { $0.count = 0 }
    }

    /// - Returns: the number of bytes written so far.
    func append(_ piece: [UInt8]) throws -> Int64 {
        do {
            let after = count + Int64(piece.count)
            guard after <= sizeBytes ?? after else {
                restart()
                throw CacheError(
                    .notSynced,
                    "The asset has more than the \(sizeBytes ?? after) bytes that the service"
                        + " announced. Request it again.")
            }
            var rest = piece[...]
            while !rest.isEmpty {
                let written = count % Self.bytesPerSync
                if written == 0, count > 0 { try sync() }
                let next = rest.prefix(Int(Self.bytesPerSync - written))
                try AssetFiles.write(next, to: descriptor)
                state.withLock { $0.count += Int64(next.count) }
                rest = rest.dropFirst(next.count)
            }
            return after
        } catch let error as CacheError {
            // Kept for `failure`, which the download throws. The bytes of the piece that were
            // written are counted when the part is opened again.
            state.withLock { $0.failure = error }
            throw error
        }
    }

    /// After an error the system may have dropped bytes that it could not write, and the next sync does not report
    /// that: they are downloaded again.
    func sync() throws {
        do {
            try AssetFiles.sync(descriptor)
        } catch {
            assets.distrustPart(name)
            throw error
        }
    }
}
