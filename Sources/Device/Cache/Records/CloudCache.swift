import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization

/// A user's private and shared databases on this device: readable and writable without a network, in step
/// with the service whenever there is one.
///
/// One object and one file have both databases with any number of zones; a record is named by its database
/// and its identity. Saving writes the record and its pending change in one transaction and returns;
/// ``start()`` or ``sync()`` bring it to the service. All reads and writes work offline, from any
/// thread, and take as long as SQLite takes.
///
/// Several processes may have the file open. One of them syncs, the first that starts to; the others read and
/// write, what they save is sent by that one, and each hears of the others' changes. When it ends, however it
/// does, the next one takes over.
///
/// ```swift
/// let cache = try CloudCache(path: path, container: .default())
/// let item = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "milk", zoneID: zone))
/// item["title"] = "Milk"
/// try cache.save(item)
/// for zone in try cache.zoneIDs(in: .shared) {
///     print(try cache.records(inZoneWith: zone, in: .shared).count, "shared by", zone.ownerName)
/// }
/// try await cache.sync()
/// ```
public final class CloudCache: Sendable {
    let file: CacheFile
    /// Private before shared.
    let databases: [CachedDatabase]
    let observers = Observers()
    let world: World
    let turn: SyncTurn
    private let watchKey = Mutex<UInt64?>(nil)

    /// Opens or creates the file of one user.
    ///
    /// The file becomes that of the user who is signed in at the first sync; give each user a file of
    /// their own. It holds no assets' files. A file of an earlier release, which had one database,
    /// keeps it, and has the other one too.
    ///
    /// - Parameters:
    ///   - path: where the file is, or will be.
    ///   - container: whose databases to keep.
    ///   - scopes: which of them: private, shared, or both.
    ///   - settings: how fast to sync, and how much at once; for each database.
    ///   - resolver: decides conflicts; `FieldWise` by default, or `LatestEditWins` where there is an
    ///     `editDateKey`.
    ///   - editDateKey: a date field in which every local edit leaves its time, for `LatestEditWins` or a
    ///     resolver of the app; nil leaves records alone.
    ///   - world: time and chance; others in tests.
    /// - Throws: ``CacheError`` when the file cannot be opened, when a newer app wrote it, or
    ///   `invalidDatabase` for the public database, which is asked and not kept.
    public convenience init(
        path: String, container: CKContainer, scopes: Set<CKDatabase.Scope> = [.private, .shared],
        settings: SyncSettings = SyncSettings(), resolver: (any ConflictResolver)? = nil,
        editDateKey: String? = nil, world: World = .live
    ) throws {
        let remotes = scopes.sorted { $0.rawValue < $1.rawValue }.map {
            CloudKitDatabase(database: container.database(with: $0))
        }
        try self.init(
            path: path, remotes: remotes, settings: settings, resolver: resolver,
            editDateKey: editDateKey, world: world)
    }

    /// - Parameter remotes: one for each database.
    package init(
        path: String, remotes: [any RemoteDatabase], settings: SyncSettings = SyncSettings(),
        resolver: (any ConflictResolver)? = nil, editDateKey: String? = nil,
        world: World = .live
    ) throws {
        guard !remotes.isEmpty, !remotes.contains(where: { $0.scope == .public }) else {
            throw CacheError.unkeptDatabase
        }
        self.world = world
        let file = try CacheFile(path: path, world: world)
        self.file = file
        let resolver =
            resolver
            ?? (editDateKey == nil ? FieldWise() : LatestEditWins(editDateKey: editDateKey))
        let databases = try remotes.map { [observers] remote in
            let store = try CacheStore(
                file: file, scope: remote.scope, settings: settings, resolver: resolver,
                editDateKey: editDateKey, world: world)
            return CachedDatabase(
                store: store,
                driver: try SyncDriver(
                    store: store, remote: remote, settings: settings, world: world,
                    observers: observers))
        }
        self.databases = databases
        turn = SyncTurn(file: file, drivers: databases.map(\.driver), world: world)
        let key = CacheWatches.shared.watch(file.lock.path) { [weak self] in self?.hearOthers() }
        watchKey.withLock { $0 = key }
    }

    /// Whoever drops a cache closes it, running or not; what was not sent is sent after the next start.
    deinit {
        endWatching()
        observers.finish()
        _ = world.startTask("dropped cache") { [turn] in await turn.stop() }
        file.close()
    }

    /// Ends all observation and closes the file. Stop a running loop first.
    public func close() throws {
        endWatching()
        observers.finish()
        file.close()
    }

    private func endWatching() {
        if let key = watchKey.withLock({ $0.take() }) { CacheWatches.shared.end(key) }
    }

    /// A process wrote into the file, this one or another.
    private func hearOthers() {
        let changes: [CacheFile.ForeignChange]?
        do {
            changes = try file.takeForeignChanges()
        } catch {
            // The next commit wakes again, and nothing of what it missed is forgotten.
            return
        }
        for change in changes ?? [] {
            observers.tell(CacheOutcome(scope: change.scope, changedIDs: change.ids))
        }
        if changes != nil { observers.wakeReportReaders() }
        _ = world.startTask("other process") { [turn] in
            await turn.heardOfOthers(hasChanges: changes != nil)
        }
    }

    /// - Throws: ``CacheError`` `invalidDatabase` for a database that this cache does not keep.
    func database(_ scope: CKDatabase.Scope) throws -> CachedDatabase {
        guard let database = databases.first(where: { $0.scope == scope }) else {
            throw CacheError.unkeptDatabase
        }
        return database
    }

    // MARK: Plain values

    package func save(
        _ edits: [LocalEdit], deleting deletions: [RecordID] = [],
        in scope: CKDatabase.Scope = .private
    ) throws {
        let database = try database(scope)
        let (outcome, wantedZones) = try database.store.commit(edits: edits, deletions: deletions)
        observers.tell(outcome)
        guard !outcome.changedIDs.isEmpty else { return }
        _ = world.startTask("local change") {
            await database.driver.localChange(wantedZones: wantedZones)
        }
    }

    package func delete(_ ids: [RecordID], in scope: CKDatabase.Scope = .private) throws {
        try save([], deleting: ids, in: scope)
    }

    /// A record as a plain value; nil when it is not here.
    package func snapshot(
        _ id: RecordID, in scope: CKDatabase.Scope = .private
    ) throws -> RecordSnapshot? {
        try database(scope).store.record(id)
    }

    package func snapshots(
        ofType type: String?, in zone: ZoneID, of scope: CKDatabase.Scope = .private
    ) throws -> [RecordSnapshot] {
        try database(scope).store.records(type: type, zone: zone)
    }

    package func changedIDs(in scope: CKDatabase.Scope = .private) -> RecordChanges<RecordID> {
        observers.changes(in: scope) { $0 }
    }
}

extension CacheError {
    static let unkeptDatabase = CacheError(
        .invalidDatabase,
        "Name a database that the cache keeps: private or shared. The public one is asked directly."
    )
}
