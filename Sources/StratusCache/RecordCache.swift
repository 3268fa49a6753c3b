import Foundation
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

    /// Opens or creates the file of a cloud database.
    ///
    /// - Parameters:
    ///   - editDateKey: the date field in which every local edit leaves its time, so that the latest
    ///     edit can win; nil leaves records alone.
    /// - Throws: ``CacheError`` when the file cannot be opened, or when a newer app wrote it.
    package init(
        path: String, remote: any RemoteDatabase, settings: SyncSettings = SyncSettings(),
        resolver: (any ConflictResolver)? = nil, editDateKey: String? = "editedAt",
        clock: SyncClock = SyncClock()
    ) throws {
        self.clock = clock
        store = try CacheStore(
            path: path, settings: settings,
            resolver: resolver ?? LatestEditWins(editDateKey: editDateKey),
            editDateKey: editDateKey, clock: clock)
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
        let (news, wantedZones) = try store.commit(edits: edits, deletions: deletions)
        guard !news.changedIDs.isEmpty else { return }
        observers.tell(news)
        Task { await driver.localChange(wantedZones: wantedZones) }
    }

    package func delete(_ ids: [RecordID]) throws {
        try save([], deleting: ids)
    }

    package func snapshot(_ id: RecordID) throws -> RecordSnapshot? {
        try store.record(id)
    }

    package func snapshots(ofType type: String?, in zone: ZoneID) throws -> [RecordSnapshot] {
        try store.records(type: type, zone: zone)
    }

    // MARK: Zones

    /// The zones on this device, in the order in which it learned of them.
    package func zones() throws -> [ZoneID] { try store.zones() }

    /// Makes a zone, here at once and on the service with the next sync. Saving a record does so too.
    package func createZone(_ zone: ZoneID) throws {
        guard try store.wantZone(zone) else { return }
        Task { await driver.change { session, _ in session.zoneWanted(zone) } }
    }

    /// Deletes a zone with all its records, here at once and on the service with the next sync.
    package func deleteZone(_ zone: ZoneID) throws {
        observers.tell(try store.unwantZone(zone))
        Task { await driver.change { session, _ in session.zoneUnwanted(zone) } }
    }

    // MARK: Looking

    /// The identities of records as they change, by the app or by the service, from now on.
    package func changes() -> RecordChanges { observers.changes() }

    /// What happens while syncing, from now on.
    public func events() -> AsyncStream<CacheEvent> { observers.events() }

    /// Changes that the service refused for good, oldest first.
    public func attentionItems() throws -> [AttentionItem] { try store.attentionItems() }

    /// Gives changes that were set aside another chance; all of them when no identity is named.
    public func retryAttentionItems(_ ids: [RecordID]? = nil) throws {
        try store.retrySetAside(ids)
        Task { await driver.localChange(wantedZones: []) }
    }

    /// The records whose changes the service has not confirmed, oldest first, 1,000 at the most unless
    /// asked for more.
    public func pendingIDs(limit: Int = 1_000) throws -> [RecordID] {
        try store.pendingIDs(limit: limit)
    }
}
