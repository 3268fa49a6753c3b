import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization

/// A local copy of a user's private and shared databases, which can be read and written without a
/// network and is synced with the service.
///
/// One object and one file hold both databases with any number of zones; a record is identified by
/// its database and its ID. Saving writes the record and its pending change in one transaction and
/// returns; ``start()`` or ``sync()`` send it to the service. All reads and writes work offline,
/// from any thread, and take as long as SQLite takes. Each has a blocking form, `try
/// cache.save(item)`, and an async form, `try await cache.save(item)`, which waits on one of the
/// cache's own threads.
///
/// Several processes may have the file open. The first that starts to sync a database syncs it for
/// all; the others read and write, and each observes the others' changes. When the syncing process
/// ends, even by a crash, or its file halts it, the next one takes over.
///
/// ```swift
/// let cache = try CloudCache(path: path, container: .default())
/// let item = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "milk", zoneID: zone))
/// item["title"] = "Milk"
/// try await cache.save(item)
/// for zone in try await cache.zoneIDs(in: .shared) {
///     let records = try await cache.records(inZoneWith: zone, in: .shared)
///     print(records.count, "shared by", zone.ownerName)
/// }
/// try await cache.sync()
/// ```
public final class CloudCache: Sendable {
    let file: CacheFile
    /// Private before shared.
    let databases: [CachedDatabase]
    let observers = Observers()
    /// The public database, of which only answers are stored; nil in tests without one.
    let publicDatabase: CKDatabase?
    let world: World
    let cachedAssets: CachedAssets
    /// The number of records that another process has changed since this one opened the file.
    let foreignCount = Mutex(0)
    private let watchKey = Mutex<UInt64?>(nil)
    /// The number of the last call of `start()` or `stop()`.
    let orderCount = Atomic<Int>(0)

    /// Opens or creates the file of one user.
    ///
    /// The file belongs to the user who is signed in at its first sync; give each user a file of
    /// their own. A file of an earlier release with one database keeps it and gets the other one
    /// too.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - container: whose databases to keep.
    ///   - scopes: which of them: private, shared, or both.
    ///   - settings: how fast each database syncs, and how much at once.
    ///   - resolver: decides conflicts; `FieldWise` by default, or `LatestEditWins` where there is an
    ///     `editDateKey`.
    ///   - editDateKey: a date field that every local edit sets to its time, for `LatestEditWins`
    ///     or a resolver of the app; nil sets no field.
    ///   - versions: which records are too new for this app, and how older ones are migrated.
    ///   - types: which fields queries find by index; nil keeps the last declaration. Records of a
    ///     new or changed type are read once when the file is opened.
    ///   - assets: which files are downloaded automatically, and how much space they may take.
    ///   - world: the source of time and randomness; replaced in tests.
    /// - Throws: ``CacheError`` when the file cannot be opened, when a newer app wrote it, or
    ///   `invalidDatabase` for the public database, which is not kept on the device.
    public convenience init(
        path: String, container: CKContainer, scopes: Set<CKDatabase.Scope> = [.private, .shared],
        settings: SyncSettings = SyncSettings(), resolver: (any ConflictResolver)? = nil,
        editDateKey: String? = nil, versions: RecordVersions = RecordVersions(),
        types: [CachedType]? = nil, assets: AssetSettings = AssetSettings(),
        world: World = .live
    ) throws {
        let remotes = scopes.sorted { $0.rawValue < $1.rawValue }.map {
            CloudKitDatabase(database: container.database(with: $0))
        }
        try self.init(
            path: path, remotes: remotes, settings: settings, resolver: resolver,
            editDateKey: editDateKey, versions: versions, types: types, assets: assets,
            publicDatabase: container.publicCloudDatabase, world: world)
    }

    /// - Parameter remotes: one for each database.
    package convenience init(
        path: String, remotes: [any RemoteDatabase], settings: SyncSettings = SyncSettings(),
        resolver: (any ConflictResolver)? = nil, editDateKey: String? = nil,
        versions: RecordVersions = RecordVersions(), types: [CachedType]? = nil,
        assets: AssetSettings = AssetSettings(), publicDatabase: CKDatabase? = nil,
        world: World = .live
    ) throws {
        try self.init(
            remotes: remotes, settings: settings, resolver: resolver, editDateKey: editDateKey,
            versions: versions, types: types, assets: assets, publicDatabase: publicDatabase,
            world: world
        ) { try CacheFile.opened(path: path, for: remotes, world: world, $0) }
    }

    /// - Parameter open: opens the file, and makes a `CachedDatabase` for each remote.
    init(
        remotes: [any RemoteDatabase], settings: SyncSettings, resolver: (any ConflictResolver)?,
        editDateKey: String?, versions: RecordVersions, types: [CachedType]?,
        assets: AssetSettings, publicDatabase: CKDatabase?, world: World,
        open: ((CacheFile, any RemoteDatabase) throws -> CachedDatabase) throws -> (
            CacheFile, [CachedDatabase]
        )
    ) throws {
        guard !remotes.isEmpty, !remotes.contains(where: { $0.scope == .public }) else {
            throw CacheError(
                .invalidDatabase,
                "The cache was opened with \(remotes.isEmpty ? "no database" : "the public database")."
                    + " Open it with the private one, the shared one or both.")
        }
        self.world = world
        self.publicDatabase = publicDatabase
        let resolver =
            resolver
            ?? (editDateKey == nil ? FieldWise() : LatestEditWins(editDateKey: editDateKey))
        let (file, databases) = try open { [observers] file, remote in
            let store = try CacheStore(
                file: file, scope: remote.scope, settings: settings, resolver: resolver,
                editDateKey: editDateKey, versions: versions, world: world,
                hasAccount: { remote.hasAccount })
            return CachedDatabase(
                store: store,
                driver: try SyncDriver(
                    store: store, remote: remote, settings: settings, world: world,
                    observers: observers))
        }
        if let types { try file.declare(types) }
        self.file = file
        self.databases = databases
        let cachedAssets = CachedAssets(
            file: file, databases: databases, settings: assets, observers: observers)
        self.cachedAssets = cachedAssets
        observers.afterwards { [weak cachedAssets] in cachedAssets?.noteChange() }
        file.assets.whenReleased { [weak cachedAssets] in
            // The file may have no row any more.
            cachedAssets?.noteOrphans()
        }
        observers.atRest { [weak cachedAssets] hasChanges in
            cachedAssets?.noteRest(hasChanges: hasChanges)
        }
        if file.lock.path.isEmpty {
            // In a task, so that it does not run within the other cache's write.
            file.lock.watchMemory { [weak self, world] in
                _ = world.startTask("file in memory") { [weak self] in self?.hearOthers() }
            }
        } else if world.runOnDisk == nil {
            // In a simulated world each file has one process, so there is nothing to watch.
            let key = CacheWatches.shared.watch(file.lock.path) { [weak self] in
                self?.hearOthers()
            }
            watchKey.withLock { $0 = key }
        }
        // Removes files that a killed process left behind.
        cachedAssets.noteChange()
    }

    /// Closes the cache, even while its loop runs; unsent changes are sent after the next start.
    deinit {
        endWatching()
        cachedAssets.end()
        observers.finish()
        _ = world.startTask("dropped cache") { [databases, order = nextOrder()] in
            for database in databases { await database.turn.stop(order) }
        }
        file.close()
    }

    /// Ends all observation and closes the file. Stop a running loop first.
    ///
    /// Waits for reads and writes of other threads. Then the file can be copied, moved or replaced, unless another cache
    /// or process has it open. A call from within a read or write does not wait; the file is closed when that one ends.
    /// Do not call it on a thread for which a read or write of yours waits, such as the main thread for a resolver that
    /// runs a part of its work there: both would wait for each other.
    public func close() throws {
        endWatching()
        cachedAssets.end()
        observers.finish()
        file.close()
        file.waitUntilClosed()
    }

    private func endWatching() {
        if let key = watchKey.withLock({ $0.take() }) { CacheWatches.shared.end(key) }
    }

    /// Handles a write into the file by this process or another.
    private func hearOthers() {
        let changes: [CacheFile.ForeignChange]?
        do {
            changes = try file.takeForeignChanges()
        } catch {
            // The changes stay unread in the file, and are read after the next commit. Until then
            // observers are not notified; the app's own reads throw the error of a file that stays
            // unreadable.
            return
        }
        for change in changes ?? [] {
            foreignCount.withLock { $0 += change.ids.count }
            observers.notify(outcome(of: change))
        }
        if changes != nil { observers.wakeReportReaders() }
        _ = world.startTask("other process") { [databases] in
            for database in databases {
                await database.turn.observeOtherProcess(hasChanges: changes != nil)
                database.store.wakeEngines()
            }
        }
    }

    /// The maximum number of records of another process's transaction that are read once for all
    /// observers.
    private static let foreignRowsRead = 1_000

    private func outcome(of change: CacheFile.ForeignChange) -> CacheOutcome {
        var outcome = CacheOutcome(
            scope: change.scope, changedIDs: change.isOfSystem ? [] : change.ids)
        outcome.isOfOtherProcess = true
        guard observers.rowObserverCount > 0 else { return outcome }
        let store = databases.first { $0.scope == change.scope }?.store
        guard change.ids.count <= Self.foreignRowsRead, let store else {
            outcome.isWhole = true
            return outcome
        }
        do {
            let rows = try store.read { try store.rows(of: Array(change.ids), $0) }
            outcome.rows = Dictionary(uniqueKeysWithValues: change.ids.map { ($0, .removed) })
            for (record, _) in rows {
                outcome.rows[record.id] = change.isOfSystem ? .system : .put(record)
            }
        } catch {
            // The observers read the file themselves, and throw its error.
            outcome.isWhole = true
        }
        return outcome
    }

    // MARK: Plain values

    package func save(
        _ edits: [LocalEdit], deleting deletions: [RecordID] = [],
        in scope: CKDatabase.Scope = .private
    ) throws {
        try save(edits, deleting: deletions, in: scope, assets: [])
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
