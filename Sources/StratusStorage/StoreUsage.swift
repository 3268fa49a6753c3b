/// What a database holds, in bytes, as quotas count it.
public struct StoreUsage: Hashable, Sendable {
    /// The living records: their names and stored fields (``RecordRow/sizeBytes``).
    public var recordBytes: Int64
    /// The assets of the living records, counted once for each record that has one.
    public var assetBytes: Int64

    public init(recordBytes: Int64 = 0, assetBytes: Int64 = 0) {
        self.recordBytes = recordBytes
        self.assetBytes = assetBytes
    }

    public static func + (left: StoreUsage, right: StoreUsage) -> StoreUsage {
        StoreUsage(
            recordBytes: left.recordBytes + right.recordBytes,
            assetBytes: left.assetBytes + right.assetBytes)
    }

    public static func - (left: StoreUsage, right: StoreUsage) -> StoreUsage {
        StoreUsage(
            recordBytes: left.recordBytes - right.recordBytes,
            assetBytes: left.assetBytes - right.assetBytes)
    }
}

extension RecordRow {
    /// What the record counts towards its database's quota; a tombstone counts nothing.
    public var sizeBytes: Int64 {
        isDeleted ? 0 : Int64(name.utf8.count + payload.count)
    }
}

/// The part of a store that knows how much it holds.
public protocol UsageReader {
    /// The counters as they are kept.
    var usage: StoreUsage { get throws }

    /// What a zone counts for: record bytes by its rows, asset bytes by its counter.
    func usage(of zone: ZoneRow.Key) throws -> StoreUsage

    /// The record bytes of all zones, counted anew from the rows: `stratus doctor` compares them with
    /// ``usage``. Reads the whole database.
    func countRecordBytes() throws -> Int64
}

/// The part of a transaction that counts.
public protocol UsageWriter {
    /// Adds to a zone's counters what a transaction's records grew by; negative when they shrank.
    ///
    /// Whoever puts records says so here, in the same transaction. ``StoreWriter/deleteZone(_:reason:)``
    /// does so itself.
    func addUsage(_ growth: StoreUsage, in zone: ZoneRow.Key) throws
}
