/// The numbers of a zone's rows.
public struct ZoneCounts: Hashable, Sendable {
    /// Rows of records, tombstones included.
    public var records: Int
    /// Rows of deleted records that are not purged yet; also counted in ``records``.
    public var tombstones: Int

    /// Makes the counts of a zone.
    public init(records: Int, tombstones: Int) {
        self.records = records
        self.tombstones = tombstones
    }
}

/// Reads tombstones.
public protocol TombstoneReader {
    /// Counts a zone's rows. Reads an index entry for each.
    func counts(of zone: ZoneRow.Key) throws -> ZoneCounts

    /// The numbers of tombstones of the zones that have any. Reads an index entry for each tombstone.
    func tombstoneCounts() throws -> [ZoneRow.Key: Int]

    /// The version through which tombstones can be purged: that of the last of the zone's oldest tombstones from before
    /// a time, at most `limit` of them. Nil when there are none.
    func oldTombstones(
        before milliseconds: Int64, in zone: ZoneRow.Key, limit: Int
    ) throws -> Int64?
}
