import StratusRecords
import StratusRuntime
import StratusStorage

/// What a collection of assets removed.
public struct AssetCollection: Hashable, Sendable {
    /// Assets that no record had held for long enough.
    public var unreferencedAssets = 0
    /// Their bytes.
    public var sizeBytes: Int64 = 0
    /// Files without a row, which a crash left behind.
    public var strayBlobs = 0
    /// Databases that could not be searched; the log says why.
    public var failedDatabases = 0

    /// Makes the result of a collection that removed nothing.
    public init() {}
}

/// Removes assets that no record holds.
struct AssetCollector: Sendable {
    let limits: Limits
    let world: World
    let databases: Databases
    let errors: ErrorTranslation

    /// Collects assets at intervals, until its task is cancelled.
    func run() async {
        while true {
            do {
                try await world.sleep(limits.assetCollectionSeconds)
            } catch {
                // The sleep throws only when the task is cancelled: then the work ends.
                return
            }
            await collect()
        }
    }

    /// Removes the assets that no record has held for `Limits.unreferencedAssetSeconds`, and what
    /// crashed uploads left behind.
    ///
    /// Never removes an asset that a record holds or that a valid receipt names. Databases are searched one after the
    /// other, in short transactions; one that fails is counted, logged and left for the next collection.
    @discardableResult
    func collect() async -> AssetCollection {
        var collection = AssetCollection()
        do {
            for database in try await databases.withBlobs() {
                if Task.isCancelled { break }
                do {
                    try await collect(database, into: &collection)
                } catch {
                    collection.failedDatabases += 1
                    _ = errors.failure(from: error)
                }
            }
        } catch {
            collection.failedDatabases += 1
            _ = errors.failure(from: error)
        }
        return collection
    }

    private func collect(
        _ database: DatabaseAddress, into collection: inout AssetCollection
    ) async throws {
        let store = try await databases.store(for: database)
        let blobs = try await databases.blobs(for: database)
        let now = world.nowMilliseconds()
        let limit = limits.assetsPerCollection
        // For assets that were released since the last collection, the time counts from now.
        try await store.write {
            try $0.touchUnreferencedAssets(
                atMilliseconds: AssetRow.releaseMilliseconds(at: now))
        }
        let cutoff = now - Int64(limits.unreferencedAssetSeconds * 1_000)
        while !Task.isCancelled {
            // Rows first: a crash in between leaves a blob without a row, never a row without its blob.
            let taken = try await store.write {
                try $0.takeUnreferencedAssets(touchedBefore: cutoff, limit: limit)
            }
            for row in taken {
                try await blobs.delete(row.blob)
                collection.unreferencedAssets += 1
                collection.sizeBytes += row.sizeBytes
            }
            guard taken.count == limit else { break }
        }
        // Even when assets are kept for a short time only: the row of a new blob may not be written yet.
        let uploadSeconds = limits.assetUploadSeconds
        // Uploads that were not continued. Their address has expired.
        let left = max(uploadSeconds, limits.uploadAddressSeconds)
        try await blobs.removePartials(leftBefore: now - Int64(left * 1_000))
        try await collectOrphans(
            blobs, store, keptBefore: min(cutoff, now - Int64(uploadSeconds * 1_000)),
            into: &collection)
    }

    /// Removes blobs without a row. New ones stay: their row may not be written yet.
    private func collectOrphans(
        _ blobs: any BlobStore, _ store: any RecordStore, keptBefore cutoff: Int64,
        into collection: inout AssetCollection
    ) async throws {
        for byte in UInt8.min ... .max where !Task.isCancelled {
            let old = try await blobs.blobs(beginningWith: byte)
                .filter { $0.keptMilliseconds < cutoff }.map(\.name)
            guard !old.isEmpty else { continue }
            let strays = try await store.read { reader in
                try old.filter { try reader.asset($0.sha256)?.blob != $0 }
            }
            for stray in strays {
                try await blobs.delete(stray)
                collection.strayBlobs += 1
            }
        }
    }
}
