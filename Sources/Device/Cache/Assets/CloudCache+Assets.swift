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
/// asset is the path of the copy as soon as that is here.
///
/// ```swift
/// photo["image"] = CKAsset(fileURL: picture)
/// try await cache.save(photo)
/// try await cache.sync()
/// let image = try await elsewhere.asset("image", of: photo.recordID)
/// show(image.fileURL)
/// ```
extension CloudCache {
    /// The asset of a field with its file, which is downloaded if it is not on this device.
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
            throw CacheError(.assetNotHere, "The field has no asset. Name one that has.")
        }
        return asset
    }

    /// The assets of a field that has a list of them, with their files; see ``asset(_:of:in:)``.
    public func assets(
        _ key: CKRecord.FieldKey, of id: CKRecord.ID, in scope: CKDatabase.Scope = .private
    ) async throws -> [CKAsset] {
        let (store, recordID) = (try database(scope).store, RecordID(id))
        guard let record = try await file.disk.read({ try store.record(recordID) }) else {
            throw CacheError(.assetNotHere, "The record is not on this device. Name one that is.")
        }
        let assets = file.withFiles(try record.record()).assetFields.first { $0.key == key }
        for asset in assets?.assets ?? [] where asset.fileURL == nil {
            guard let value = asset.knownValue, let checksum = value.fileChecksum else { continue }
            try await keeper.fetch(
                AssetKeeper.Wanted(
                    scope: scope, id: recordID, field: key, key: checksum,
                    sizeBytes: value.sizeBytes))
            guard asset.fileURL != nil else {
                throw CacheError(
                    .assetNotHere,
                    "The asset's file was removed from this device. Ask for the asset again.")
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
        try await keeper.evict(downTo: bytes)
    }

    /// Copies the new files of records, and runs a body before the copies could be removed as
    /// orphans.
    ///
    /// - Parameter body: called with the rows of the copies.
    func keepingAssets(
        of records: [CKRecord], _ body: ([CacheFile.KeptFile]) throws -> Void
    ) throws {
        let wanted = records.flatMap { assetsToKeep(of: $0) }
        guard !wanted.isEmpty else { return try body([]) }
        // Removes copies that were not saved in the end.
        defer { keeper.noteChange() }
        try file.assets.making {
            var made: [CacheFile.KeptFile] = []
            for asset in wanted {
                if let kept = try knownFile(of: asset) {
                    made.append(kept)
                    continue
                }
                guard let url = asset.fileURL else {
                    throw CacheError(
                        .assetNotHere,
                        "The asset's file is not on this device. Download it before you save it in another record."
                    )
                }
                let (name, sizeBytes) = try file.assets.take(url)
                // An asset of another record keeps its value, and its file is uploaded again for
                // this one.
                let value =
                    asset.knownValue.flatMap { $0.isLocal ? nil : $0 }
                    ?? AssetReceipt(
                        fileChecksum: AssetReceipt.localPrefix + name, sizeBytes: sizeBytes)
                made.append(
                    CacheFile.KeptFile(
                        key: value.fileChecksum ?? "", file: name, sizeBytes: sizeBytes))
                asset.keep(file.copy(of: value))
            }
            do {
                try body(made)
            } catch {
                // Copies without a row may have been written; the search for orphans finds them.
                keeper.noteOrphans()
                throw error
            }
        }
    }

    /// The assets of a record whose files must be here: new files, and assets of other records. The
    /// file of an asset that was saved before and is unchanged may have been removed since.
    private func assetsToKeep(of record: CKRecord) -> [CKAsset] {
        let changed = Set(record.changedKeys())
        return record.assetFields.flatMap { key, assets in
            assets.filter { asset in
                !asset.isHeld(by: record.recordID)
                    && (changed.contains(key) || asset.knownValue == nil)
            }
        }
    }

    /// Throws if records have new files, where files cannot be copied.
    func refuseNewFiles(of records: [CKRecord], _ sentence: String) throws {
        if records.contains(where: { !assetsToKeep(of: $0).isEmpty }) {
            throw CacheError(.unsupportedValue, sentence)
        }
    }

    /// The file of an asset in this cache, also by the checksum that the service gave it since.
    private func knownFile(of asset: CKAsset) throws -> CacheFile.KeptFile? {
        guard let key = asset.knownValue?.fileChecksum else { return nil }
        return try file.read { database in
            if let kept = try file.keptFile(key, database) { return kept }
            guard key.hasPrefix(AssetReceipt.localPrefix) else { return nil }
            let name = String(key.dropFirst(AssetReceipt.localPrefix.count))
            let size = try Int64.fetchOne(
                database, sql: "SELECT sizeBytes FROM asset WHERE file = ?", arguments: [name])
            return size.map { CacheFile.KeptFile(key: key, file: name, sizeBytes: $0) }
        }
    }
}
