/// What a zone holds, in numbers.
public struct ZoneCounts: Hashable, Sendable {
    /// Rows of records, tombstones included.
    public var records: Int
    public var tombstones: Int

    public init(records: Int, tombstones: Int) {
        self.records = records
        self.tombstones = tombstones
    }
}

/// Reads tombstones.
public protocol TombstoneReader {
    /// Counts a zone's rows. Reads an entry of an index for each.
    func counts(of zone: ZoneRow.Key) throws -> ZoneCounts

    /// The version through which tombstones can be purged: that of the last of the zone's oldest ones
    /// which were made before a moment, `limit` of them at the most. Nil where there is none.
    func oldTombstones(
        before milliseconds: Int64, in zone: ZoneRow.Key, limit: Int
    ) throws -> Int64?
}
