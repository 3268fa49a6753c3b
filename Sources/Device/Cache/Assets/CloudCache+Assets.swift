import Foundation
import StratusClient
import StratusRecords
import StratusSync

/// The files of assets: saved with their records, uploaded automatically, and downloaded when they
/// are requested.
///
/// A file that is given to ``save(_:deleting:in:)`` is copied into the folder beside the cache's
/// file and is durable before the record is queued; the app may remove its own. It is uploaded
/// before the record is sent, and not again while it stays the same. The `fileURL` of a record's
/// asset is the path of the copy as soon as that is here. `CloudCache+Records.swift` makes the copies.
///
/// ```swift
/// photo["image"] = CKAsset(fileURL: picture)
/// try await cache.save(photo)
/// try await cache.sync()
/// let image = try await elsewhere.asset("image", of: photo.recordID)
/// show(image.fileURL)
/// ```
extension CloudCache {
    /// Returns the asset of a field with its file, which is downloaded if it is not on this device.
    ///
    /// A download that was interrupted, by the network or by the end of the process, continues where it
    /// stopped. The file stays as long as the asset is held.
    ///
    /// - Throws: ``CacheError``: `assetNotHere` if the record or the field has no asset, or the service no
    ///   longer has it; `notSynced` without network; `storageFull`; `CancellationError`.
    public func asset(
        _ key: CKRecord.FieldKey, of id: CKRecord.ID, in scope: CKDatabase.Scope = .private
    ) async throws -> CKAsset {
        guard let asset = try await assets(key, of: id, in: scope).first else {
            throw CacheError(
                .assetNotHere,
                "The field \(key) of the record \(id.recordName) has no asset. Pass a field that has one."
            )
        }
        return asset
    }

    /// The assets of a field that has a list of them, with their files; see ``asset(_:of:in:)``.
    public func assets(
        _ key: CKRecord.FieldKey, of id: CKRecord.ID, in scope: CKDatabase.Scope = .private
    ) async throws -> [CKAsset] {
        let (store, recordID) = (try database(scope).store, RecordID(id))
        guard let record = try await file.disk.read({ try store.record(recordID) }) else {
            throw CacheError(
                .assetNotHere,
                "The record \(id.recordName) is not on this device. Sync to fetch it, or pass another one."
            )
        }
        let assets = file.withFiles(try record.record()).assetFields.first { $0.key == key }
        for asset in assets?.assets ?? [] where asset.fileURL == nil {
            guard let value = asset.knownValue, let checksum = value.fileChecksum else { continue }
            try await cachedAssets.fetch(
                CachedAssets.Wanted(
                    scope: scope, id: recordID, field: key, key: checksum,
                    sizeBytes: value.sizeBytes))
            guard asset.fileURL != nil else {
                throw CacheError(
                    .assetNotHere,
                    "The asset \(key) of the record \(id.recordName) was removed from this device"
                        + " meanwhile. Request it again.")
            }
        }
        return assets?.assets ?? []
    }

    /// The progress of uploads and downloads, from now on.
    public func assetTransfers() -> AsyncStream<AssetTransfer> { file.assets.transfers.observe() }

    /// The bytes of all files that are here.
    public func assetBytes() throws -> Int64 { try file.assetBytes() }

    /// Removes files of assets that can be downloaded again, the least recently used first, until
    /// this many bytes are left.
    ///
    /// Files that are not at the service, that a policy keeps or that this process uses stay. Above
    /// ``AssetSettings/limitBytes`` the cache does this automatically.
    ///
    /// - Throws: ``CacheError`` `inUse` while a file is being saved, or SQLite's error.
    public func removeDownloadedAssets(downTo bytes: Int64 = 0) async throws {
        try await cachedAssets.evict(downTo: bytes)
    }
}
