import StratusRecords

/// The records of one database.
///
/// A store keeps rows and their versions. StratusService decides who may save what, inside the closures given to
/// ``read(_:)``, ``write(_:)`` and ``writeRecords(_:)``.
///
/// What every implementation promises (the conformance suite in StratusTesting checks it):
///
/// 1. **Durable.** When ``writeRecords(_:)`` returns, what it wrote survives a crash of the process and of
///    the machine; in memory it lives as long as the engine.
/// 2. **All or nothing.** When the closure throws, all of its writes are undone. Writes that wait for the same database
///    may share a commit; each keeps its own outcome.
/// 3. **Serial.** Writes of one database run one after the other, and each sees all before it.
/// 4. **Snapshots.** A read sees one state from beginning to end. In a folder it never waits for writers;
///    in memory reads and writes of one database take turns.
/// 5. **Dense versions.** The versions of a zone's changes are 1, 2, 3 … in the order in which they
///    become visible; no number is skipped and none is used twice, also after a rolled-back write.
/// 6. **Epochs.** Every version is taken in an epoch. Two stores that were once the same, such as copies of a file,
/// never take versions in the same epoch.
///
/// ```swift
/// let trips = try await store.write { try $0.createZone(named: "Trips", hasFeed: true) }
/// let names = try await store.read { try $0.zones().map(\.name) }
/// ```
public protocol RecordStore: Sendable {
    /// The address of the database whose records these are.
    var address: DatabaseAddress { get }

    /// Runs `body` on one snapshot.
    ///
    /// - Parameters:
    ///   - length: How much `body` reads: a long read must not block the caller's thread.
    ///   - body: Reads the snapshot.
    /// - Throws: what `body` throws, or ``StorageError``.
    func read<Outcome: Sendable>(
        _ length: ReadLength,
        _ body: @escaping @Sendable (any StoreReader) throws -> Outcome
    ) async throws -> Outcome

    /// Runs `body` in a transaction that may write records, and returns when it is durable.
    ///
    /// - Throws: what `body` throws, after it has been undone, or ``StorageError``.
    func writeRecords<Outcome: Sendable>(
        _ body: @escaping @Sendable (any RecordTransaction) throws -> Outcome
    ) async throws -> Outcome
}

/// How much a read may read.
public enum ReadLength: Hashable, Sendable {
    /// About a page of rows.
    case page
    /// Possibly all rows of a zone.
    case zone
}

extension RecordStore {
    /// Runs `body`, which reads about a page, on one snapshot.
    public func read<Outcome: Sendable>(
        _ body: @escaping @Sendable (any StoreReader) throws -> Outcome
    ) async throws -> Outcome {
        try await read(.page, body)
    }

    /// Runs `body` in a transaction that writes no records, and returns when it is durable.
    ///
    /// - Throws: what `body` throws, after it has been undone, or ``StorageError``.
    public func write<Outcome: Sendable>(
        _ body: @escaping @Sendable (any StoreWriter) throws -> Outcome
    ) async throws -> Outcome {
        try await writeRecords { try body($0) }
    }
}

/// Reads a database as it is at one moment. Valid only inside the closure that it is given to.
public protocol StoreReader:
    AncestorReader, AssetReader, IndexReader, LongChangeReader, RecordUsage, ReferenceReader,
    SharingReader, TombstoneReader
{
    /// The newest epoch of the database; in a transaction that has taken a version, that of its writes.
    var epoch: Epoch { get throws }

    /// The epochs that began before a version and in which a zone (with nil, the database) was changed, the newest
    /// first. The first of them is the one in which that version was taken.
    func epochs(
        of zone: ZoneRow.Key?, before version: Int64, limit: Int
    ) throws -> [EpochRow]

    /// The epochs from a number on, the oldest first.
    func epochs(of zone: ZoneRow.Key?, from number: Int64, limit: Int) throws -> [EpochRow]

    /// Counts the changes of the database; the highest ``ZoneRow/changedAtDatabaseVersion`` of all.
    var databaseVersion: Int64 { get throws }

    /// All zones that are not deleted, by name.
    func zones() throws -> [ZoneRow]

    /// How many zones the database has had: deleted ones keep their rows. Costs one row.
    func zoneCount() throws -> Int

    /// The zone of this name, deleted or not.
    func zone(named name: String) throws -> ZoneRow?

    /// Zones that changed after a database version, oldest change first; of the deleted ones those that were deleted after
    /// another version.
    func zones(
        changedAfter databaseVersion: Int64, deletedAfter deletionVersion: Int64, limit: Int
    ) throws -> [ZoneRow]

    /// The records of these names, tombstones included; without those that do not exist.
    func records(named names: [String], in zone: ZoneRow.Key) throws -> [String: RecordRow]

    /// The changes of a zone after a cursor, oldest first; each record once, in its current state.
    ///
    /// The page ends at `limit` records, or when their payloads have that many bytes. It is longer if it would
    /// otherwise end inside the batch of one request and the cursor wants whole batches. The work depends on what
    /// changed after the cursor, not on the size of the zone.
    func changes(
        in zone: ZoneRow.Key, after cursor: ChangeCursor, limit: Int, payloadBytes: Int
    ) throws -> ChangePage

    /// Calls `body` for the live records of a type, by name after `name` in byte order, until it
    /// returns false. Reads every record of the zone up to there: there is no index by type.
    func scan(
        type: String, in zone: ZoneRow.Key, after name: String?,
        _ body: (RecordRow) throws -> Bool
    ) throws

    /// The names of live records whose parent is the record of this name, in byte order.
    func children(of parent: String, in zone: ZoneRow.Key, limit: Int) throws -> [String]

    /// All subscriptions of all users, or of one, by user and identifier.
    func subscriptions(of user: String?) throws -> [SubscriptionRow]

    /// The outcome stored under a device's operation identifier.
    func outcome(of operation: OperationKey) throws -> [UInt8]?

    /// The events that wait to be dispatched to subscribers, after an identifier, oldest first.
    func outbox(after identifier: Int64, limit: Int) throws -> [OutboxRow]
}

extension StoreReader {
    /// The changes of a zone after a cursor, of any size.
    public func changes(
        in zone: ZoneRow.Key, after cursor: ChangeCursor, limit: Int
    ) throws -> ChangePage {
        try changes(in: zone, after: cursor, limit: limit, payloadBytes: .max)
    }

    /// The events that wait to be dispatched to subscribers, oldest first.
    public func outbox(limit: Int) throws -> [OutboxRow] {
        try outbox(after: 0, limit: limit)
    }

    /// Calls `body` for all records of a zone, tombstones included, the oldest change first and a page at a time, until
    /// it returns false. The memory of a page is limited, whatever the size of the records.
    package func recordPages(
        in zone: ZoneRow.Key, _ body: ([RecordRow]) throws -> Bool
    ) throws {
        var cursor = ChangeCursor(
            version: 0, skipTombstonesThrough: 0, device: "", wantsWholeBatches: false)
        var page: ChangePage
        repeat {
            page = try changes(
                in: zone, after: cursor, limit: PageOfAll.records, payloadBytes: PageOfAll.bytes)
            guard try body(page.rows) else { return }
            cursor.version = page.version
        } while page.moreComing
    }
}

/// The size of a page when all records are read.
private enum PageOfAll {
    static let records = 500
    static let bytes = 8_000_000
}

/// Changes everything but records in a transaction. Valid only inside the closure that it is given to.
///
/// A record's row, and the rows that are derived from it, are written through ``RecordTransaction``.
public protocol StoreWriter: StoreReader, AssetWriter, IndexWriter, LongChangeWriter,
    SharedZoneWriter
{
    /// Creates a zone, or a deleted one again with a new generation; one that exists stays as it is.
    func createZone(
        named name: String, hasFeed: Bool, encryptionScope: ZoneEncryptionScope
    ) throws -> ZoneRow

    /// Stores a subscription, replacing the user's one with the same identifier.
    func put(_ row: SubscriptionRow) throws
    /// Removes a user's subscription; does nothing when there is none.
    func deleteSubscription(_ identifier: String, of user: String) throws

    /// Stores the outcome of an operation, replacing an earlier one.
    ///
    /// - Parameter expiresMilliseconds: When it may be removed, in milliseconds since 1970. Until it is,
    ///   `outcome(of:)` returns it.
    func put(outcome: [UInt8], of operation: OperationKey, expiresMilliseconds: Int64) throws
    /// Removes the outcomes that expire at or before this time: in a call the earliest 1,000, and others only if they
    /// expire in the same millisecond as the last of them.
    func deleteOutcomes(expiredAt milliseconds: Int64) throws

    /// Adds an event to the outbox; the store assigns the identifier.
    func enqueue(_ body: [UInt8]) throws
    /// Removes the events that were dispatched, up to and including an identifier.
    func dequeue(through identifier: Int64) throws

    /// Begins a new epoch at the current version of the database.
    ///
    /// A normal write does not need it: the first write of a process begins an epoch by itself. Call it if the
    /// following changes must not count as a continuation of the earlier ones, as after an accepted loss.
    @discardableResult
    func beginEpoch() throws -> Epoch

    /// Merges the epochs that ended before a time, in milliseconds since 1970, with the epoch after them. Change tokens
    /// that name one of them expire.
    ///
    /// - Returns: How many epochs were removed, including those of zones.
    @discardableResult
    func mergeEpochs(endedBefore milliseconds: Int64) throws -> Int
}

extension StoreWriter {
    /// Creates a zone in which single hierarchies can be shared.
    public func createZone(named name: String, hasFeed: Bool) throws -> ZoneRow {
        try createZone(named: name, hasFeed: hasFeed, encryptionScope: .perRecord)
    }
}
