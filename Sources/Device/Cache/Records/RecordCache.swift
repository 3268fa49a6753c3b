import Foundation
import StratusClient
import StratusRecords
import StratusSync

/// A cloud database on this device: readable and writable without a network, in step with the service
/// whenever there is one.
///
/// Saving writes the record and its pending change in one transaction and returns; ``start()`` or
/// ``sync()`` bring it to the service. All reads and writes work offline, from any thread, and take as
/// long as SQLite takes.
///
/// ```swift
/// let cache = try RecordCache(path: path, database: CKContainer.default().privateCloudDatabase)
/// let item = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "milk", zoneID: zone))
/// item["title"] = "Milk"
/// try cache.save(item)
/// try await cache.sync()
/// ```
public final class RecordCache: Sendable {
    let store: CacheStore
    let driver: SyncDriver
    let observers = Observers()
    let clock: SyncClock

    /// Opens or creates the file of a cloud database, private or shared, of one user.
    ///
    /// The file becomes that of the user who is signed in at the first sync; give each user a file of
    /// their own. It holds no assets' files.
    ///
    /// - Parameters:
    ///   - resolver: decides conflicts; `LatestEditWins` by default.
    ///   - editDateKey: the date field in which every local edit leaves its time, so that the latest
    ///     edit can win; nil leaves records alone.
    ///   - clock: the time; another one in tests.
    ///   - database: a private or shared database.
    ///   - path: where the file is, or will be.
    ///   - settings: how fast to sync, and how much at once.
    /// - Throws: ``CacheError`` when the file cannot be opened, or when a newer app wrote it.
    public convenience init(
        path: String, database: CKDatabase, settings: SyncSettings = SyncSettings(),
        resolver: (any ConflictResolver)? = nil, editDateKey: String? = "editedAt",
        clock: SyncClock = SyncClock()
    ) throws {
        try self.init(
            path: path, remote: CloudKitDatabase(database: database), settings: settings,
            resolver: resolver, editDateKey: editDateKey, clock: clock)
    }

    package init(
        path: String, remote: any RemoteDatabase, settings: SyncSettings = SyncSettings(),
        resolver: (any ConflictResolver)? = nil, editDateKey: String? = "editedAt",
        clock: SyncClock = SyncClock()
    ) throws {
        self.clock = clock
        store = try CacheStore(
            path: path, settings: settings,
            resolver: resolver ?? LatestEditWins(editDateKey: editDateKey),
            editDateKey: editDateKey, createsZones: remote.createsZones, clock: clock)
        driver = try SyncDriver(
            store: store, remote: remote, settings: settings, clock: clock, observers: observers)
    }

    /// Ends all observation and closes the file. Stop a running loop first.
    public func close() throws {
        observers.finish()
        try store.close()
    }

    // MARK: Plain values

    package func save(_ edits: [LocalEdit], deleting deletions: [RecordID] = []) throws {
        let (outcome, wantedZones) = try store.commit(edits: edits, deletions: deletions)
        observers.tell(outcome)
        guard !outcome.changedIDs.isEmpty else { return }
        Task { await driver.localChange(wantedZones: wantedZones) }
    }

    package func delete(_ ids: [RecordID]) throws {
        try save([], deleting: ids)
    }

    /// A record as a plain value; nil when it is not here.
    package func snapshot(_ id: RecordID) throws -> RecordSnapshot? {
        try store.record(id)
    }

    package func snapshots(ofType type: String?, in zone: ZoneID) throws -> [RecordSnapshot] {
        try store.records(type: type, zone: zone)
    }

    package func changedIDs() -> RecordChanges<RecordID> { observers.changes { $0 } }
}
