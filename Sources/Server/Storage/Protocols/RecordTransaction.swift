/// Changes the rows that are derived from records, in the transaction that writes the records.
///
/// Code that maintains derived rows gets only this protocol, so that it cannot change the records from which they are
/// derived.
public protocol DerivedRowWriter:
    StoreWriter, AncestorWriter, AssetHoldWriter, ReferenceWriter, ShareWriter
{}

/// Writes records. Valid only inside the closure that it is given to.
///
/// A store keeps no derived rows by itself, except that it deletes those of a deleted zone and a purged tombstone.
/// Therefore one part of a service should write all records and keep the derived rows: in StratusService it is
/// `RecordWriter`.
public protocol RecordTransaction: DerivedRowWriter {
    /// Takes the next `count` versions of a zone that is not deleted, and marks the zone as changed.
    func takeVersions(_ count: Int, in zone: ZoneRow.Key) throws -> ClosedRange<Int64>

    /// Inserts a record or replaces the one with its name; a tombstone is a row marked as deleted.
    func put(_ row: RecordRow) throws

    /// Deletes a zone with its records and what is derived from them; its row stays, with the reason.
    func deleteZone(_ zone: ZoneRow.Key, reason: ZoneRow.Deletion) throws

    /// Deletes a zone whose rows are removed in steps: its shares end and its row is marked as deleted; nothing else
    /// changes yet.
    func hideZone(_ zone: ZoneRow.Key, reason: ZoneRow.Deletion) throws

    /// Removes some of the rows of a hidden zone, those that are derived from records before the records.
    ///
    /// - Returns: Whether there were any.
    func removeRows(ofHiddenZone zone: ZoneRow.Key, limit: Int) throws -> Bool

    /// Removes tombstones up to a version and raises the zone's purge horizon to it, at most to the zone's own
    /// version.
    ///
    /// - Returns: How many were removed.
    @discardableResult
    func purgeTombstones(through version: Int64, in zone: ZoneRow.Key) throws -> Int
}
