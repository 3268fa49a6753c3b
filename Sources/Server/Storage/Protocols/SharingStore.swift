/// What can be asked about shares at one moment.
public protocol SharingReader {
    /// Whether anything of a zone is shared.
    func hasShares(in zone: ZoneRow.Key) throws -> Bool

    /// The shares of a zone, by name in byte order.
    func shares(in zone: ZoneRow.Key, limit: Int) throws -> [ShareRow]

    /// The share of a link; nil when it is no longer shared.
    func share(shortGUID: String) throws -> ShareRow?

    /// What a user may do in a zone of somebody else, by share; empty when nothing.
    func access(of user: String, in zone: ZoneRow.Key) throws -> [ShareAccessRow]

    /// Everybody who may read something of a zone.
    func audience(of zone: ZoneRow.Key) throws -> [ShareAccessRow]

    /// The living records below a record in the hierarchy of parents, itself left out; `limit` at most.
    func descendants(of name: String, in zone: ZoneRow.Key, limit: Int) throws -> [RecordRow]

    /// The changes of a zone in the view of the shares of these roots: records that are in it, and
    /// records that left it, as tombstones. As `changes(in:after:limit:payloadBytes:)`, but the
    /// cursor's device counts for nothing.
    func sharedChanges(
        in zone: ZoneRow.Key, roots: [String], after cursor: ChangeCursor, limit: Int,
        payloadBytes: Int
    ) throws -> ChangePage

    /// The newest version in the view of the shares of these roots; 0 when there never was one.
    func sharedVersion(of zone: ZoneRow.Key, roots: [String]) throws -> Int64

    /// The zones of others in the shared database of this database's owner, gone ones left out, by owner
    /// and name in byte order.
    func sharedZones() throws -> [SharedZoneRow]

    /// The same with gone ones, of those that changed after a database version, oldest change first.
    func sharedZones(changedAfter databaseVersion: Int64, limit: Int) throws -> [SharedZoneRow]

    /// The zone of somebody else, gone or not.
    func sharedZone(owner: String, name: String) throws -> SharedZoneRow?
}

/// What can be done about shares in a transaction.
public protocol SharingWriter: SharingReader {
    /// Stores a share and who has access by it, in place of who had.
    func put(_ row: ShareRow, access: [ShareAccessRow]) throws

    /// Removes a share, all access by it and what is remembered of its view.
    func deleteShare(_ name: String, in zone: ZoneRow.Key) throws

    /// Remembers that a record left a view; of one name and root the last time.
    func put(_ row: ShareEventRow) throws

    /// Forgets that a record left a view: it is back.
    func deleteShareEvent(of name: String, root: String, in zone: ZoneRow.Key) throws

    /// Stores a zone of somebody else as changed now.
    ///
    /// - Returns: The row with its database version.
    @discardableResult
    func put(_ row: SharedZoneRow) throws -> SharedZoneRow
}

/// Where the shares of links are to be looked for.
public protocol SharingDirectory: Sendable {
    func shortGUID(_ shortGUID: String) async throws -> ShortGUIDRow?
    func put(_ rows: [ShortGUIDRow]) async throws
    func deleteShortGUIDs(_ shortGUIDs: [String]) async throws
}
