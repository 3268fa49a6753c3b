import HashTreeCollections

extension MemoryState {
    /// A record by its place.
    struct Holder: Hashable, Sendable {
        var zone: ZoneRow.Key
        var record: String
    }
}

/// The assets of a database and who holds them.
extension MemoryTransaction {
    func asset(_ sha256: [UInt8]) -> AssetRow? { state.assets[sha256] }

    var assetBytes: Int64 { state.assets.values.reduce(0) { $0 + $1.sizeBytes } }

    func admit(_ row: AssetRow) -> AssetRow {
        var stored = state.assets[row.blob.sha256] ?? row
        stored.touchedMilliseconds = row.touchedMilliseconds ?? 0
        state.assets[row.blob.sha256] = stored
        return stored
    }

    func setAssets(_ digests: Set<[UInt8]>, of record: String, in zone: ZoneRow.Key) throws {
        let holder = MemoryState.Holder(zone: zone, record: record)
        let held = state.assetReferences[holder] ?? []
        for digest in held.subtracting(digests) { try count(digest, by: -1) }
        for digest in digests.subtracting(held) { try count(digest, by: 1) }
        state.assetReferences[holder] = digests.isEmpty ? nil : digests
    }

    /// Lets go of the assets of all records of a zone.
    func releaseAssets(in zone: ZoneRow.Key) throws {
        for holder in state.assetReferences.keys where holder.zone == zone {
            try setAssets([], of: holder.record, in: zone)
        }
    }

    func touchUnreferencedAssets(atMilliseconds milliseconds: Int64) {
        for (digest, row) in state.assets
        where row.references == 0 && row.touchedMilliseconds == nil {
            state.assets[digest]?.touchedMilliseconds = milliseconds
        }
    }

    func takeUnreferencedAssets(touchedBefore milliseconds: Int64, limit: Int) -> [AssetRow] {
        let taken = state.assets.values
            .filter { $0.references == 0 && ($0.touchedMilliseconds ?? .max) < milliseconds }
            .sorted { ($0.touchedMilliseconds ?? 0) < ($1.touchedMilliseconds ?? 0) }
            .prefix(max(limit, 1))
        for row in taken { state.assets[row.blob.sha256] = nil }
        return Array(taken)
    }

    private func count(_ digest: [UInt8], by difference: Int64) throws {
        guard var row = state.assets[digest] else { throw StorageError.assetMissing() }
        row.references += difference
        row.touchedMilliseconds = nil
        state.assets[digest] = row
    }
}
