/// Reads shares and the zones of other owners.
public protocol SharingReader {
    /// Whether anything of a zone is shared.
    func hasShares(in zone: ZoneRow.Key) throws -> Bool

    /// The shares of a zone, by name in byte order.
    func shares(in zone: ZoneRow.Key, limit: Int) throws -> [ShareRow]

    /// The share of a link; nil when it is no longer shared.
    func share(shortGUID: String) throws -> ShareRow?

    /// The access of a user to a zone of this database, by share; empty when there is none.
    func access(of user: String, in zone: ZoneRow.Key) throws -> [ShareAccessRow]

    /// The access of all users to a zone, by user and share.
    func audience(of zone: ZoneRow.Key) throws -> [ShareAccessRow]

    /// The living records below a record in the hierarchy of parents, itself left out; `limit` at most, and no more
    /// after the one with which their payloads reach `payloadBytes`.
    func descendants(
        of name: String, in zone: ZoneRow.Key, limit: Int, payloadBytes: Int
    ) throws -> [RecordRow]

    /// The names of these records, read from an index alone.
    func descendantNames(of name: String, in zone: ZoneRow.Key, limit: Int) throws -> [String]

    /// The changes of a zone in the view of the shares of these roots: records that are in it, and records that left
    /// it, as tombstones. Works like `changes(in:after:limit:payloadBytes:)`, but ignores the cursor's device.
    func sharedChanges(
        in zone: ZoneRow.Key, roots: [String], after cursor: ChangeCursor, limit: Int,
        payloadBytes: Int
    ) throws -> ChangePage

    /// The newest version in the view of the shares of these roots; 0 when there never was one.
    func sharedVersion(of zone: ZoneRow.Key, roots: [String]) throws -> Int64

    /// The zones of other owners in the shared database of this database's owner, without removed ones, by
    /// owner and name in byte order.
    func sharedZones() throws -> [SharedZoneRow]

    /// The zones of other owners that changed after a database version, removed ones included, oldest change first.
    func sharedZones(changedAfter databaseVersion: Int64, limit: Int) throws -> [SharedZoneRow]

    /// A zone of another owner, whether it is still in the shared database or not.
    func sharedZone(owner: String, name: String) throws -> SharedZoneRow?
}

/// Changes shares in a transaction.
public protocol ShareWriter: SharingReader {
    /// Stores a share with the access that it gives, in place of what was stored of both.
    func put(_ row: ShareRow, access: [ShareAccessRow]) throws

    /// Removes a share, all access by it and the rows about its view.
    func deleteShare(_ name: String, in zone: ZoneRow.Key) throws

    /// Stores that a record left a view, replacing an earlier row for the same name and root.
    func put(_ row: ShareEventRow) throws

    /// Removes the row of a record that left a view, because it is back.
    func deleteShareEvent(of name: String, root: String, in zone: ZoneRow.Key) throws
}

/// Changes the list of the zones of other owners in a transaction.
public protocol SharedZoneWriter: SharingReader {
    /// Stores another owner's zone as changed now.
    ///
    /// - Returns: The row with its database version.
    @discardableResult
    func put(_ row: SharedZoneRow) throws -> SharedZoneRow
}

/// Finds the database of a share by its link.
public protocol SharingDirectory: Sendable {
    /// The database in which to look for a link's share; nil when no link has this short GUID.
    func shortGUID(_ shortGUID: String) async throws -> ShortGUIDRow?
    /// Stores short GUIDs in one transaction, replacing the rows of those that exist.
    func put(_ rows: [ShortGUIDRow]) async throws
    /// Removes short GUIDs in one transaction; those that do not exist are ignored.
    func deleteShortGUIDs(_ shortGUIDs: [String]) async throws
}
