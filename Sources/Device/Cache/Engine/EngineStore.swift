import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import StratusSyncEngine
import Synchronization

/// A `CloudCache` as the store of an app that has a `CKSyncEngine` of its own.
///
/// The engine decides when to sync, and the app's delegate receives every event first. The store keeps the records, the
/// pending changes and the engine's state in the cache's file, and resolves conflicts. Use the cache for reading,
/// queries, observation, reports and diagnostics. Do not call `start()` or `sync()` of that cache.
///
/// A file is synced by one engine at a time. A store that is made while another process or cache syncs the file waits
/// for its end, as ``failure`` says; a second store of the same cache replaces the first one.
///
/// A new record and a deletion whose answer was lost are held back until the engine has fetched their zone's changes,
/// which the store requests: another device may have deleted the record since, or created it again. A change that was
/// refused because its record is missing is held back too: a restore of the service may have lost the record. Lost
/// records are sent again and reported; a deleted zone that a restore brought back stays, empty. A record that is
/// created with the name of a deleted one is saved only after that deletion was sent and fetched. Changes of records in
/// a missing zone are held back too, until the database's changes show whether the zone was deleted. An engine that is
/// not automatic fetches with its next `fetchChanges()`.
///
/// ```swift
/// func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
///     await store.handleEvent(event, syncEngine: syncEngine)
///     // … what the app does with the event
/// }
///
/// func nextRecordZoneChangeBatch(
///     _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
/// ) async -> CKSyncEngine.RecordZoneChangeBatch? {
///     await store.nextRecordZoneChangeBatch(context, syncEngine: syncEngine)
/// }
/// ```
///
/// The store is itself a `CKSyncEngineDelegate`, for an app that has nothing to add.
public final class EngineStore: CKSyncEngineDelegate {
    /// The cache that stores the records and the engine's state; read, query and observe it.
    public let cache: CloudCache
    let store: CacheStore
    let state = Mutex(State())
    /// Wakes this store while it waits for the lock.
    let lockSignal = WakeSignal()

    struct State {
        /// The changes that the engine is sending, by record.
        var sent: [RecordID: OutgoingChange] = [:]
        /// The fetches from the beginning that were begun here, by zone.
        var fetches: [ZoneID: Int] = [:]
        /// Zones that were missing, with the number of database fetches before that.
        var unconfirmedZones: [ZoneID: Int] = [:]
        /// Why data from the service could not be written; then no newer state of the engine is kept, and nothing is
        /// sent, until the data is fetched again.
        var failure: (any Error)?
        /// Whether another engine syncs the file, so that nothing is fetched either.
        var isLockedOut = false
        /// The engine that waits for the lock, and whether a task waits for it.
        weak var waitingEngine: CKSyncEngine?
        var isWaitingForLock = false
        /// The pause before what could not be written is fetched again, and whether that is planned.
        var recoveryPause = Backoff(firstSeconds: 1, longestSeconds: 300)
        var isRecoveryPlanned = false
        /// The user who is signed in, as far as the engine has reported.
        var userRecordName: String?
        /// Why nothing is synced with this user.
        var halt: CacheError?
    }

    /// - Parameters:
    ///   - cache: a cache that does not sync by itself.
    ///   - scope: the engine's database.
    /// - Throws: ``CacheError`` `invalidDatabase`.
    public init(_ cache: CloudCache, in scope: CKDatabase.Scope = .private) throws {
        self.cache = cache
        store = try cache.database(scope).store
        takeLockFromEarlierStores()
    }

    deinit { giveLockBack() }

    /// The engine's state as of the last event that was written. Pass it to the engine's configuration.
    ///
    /// - Throws: SQLite's error.
    public func stateSerialization() throws -> CKSyncEngine.State.Serialization? {
        try store.engineState()
    }

    /// Why something could not be written, for example because the disk is full. Nothing is lost: what was not written
    /// is fetched again with the engine's next fetch, or by a new engine with ``stateSerialization()``, and until then
    /// nothing is sent. `CacheError.inUse` while another engine syncs the file: this one goes on when that one has ended.
    /// `CacheError.halted` with the reason `otherAccount` while another user than the file's is signed
    /// in: then nothing is sent or written.
    public var failure: (any Error)? { state.withLock { $0.failure ?? $0.halt } }

    /// Saves records and deletes others, here at once, and has the engine send them.
    ///
    /// - Throws: as `CloudCache.save(_:deleting:in:)`; `unsupportedValue` for a new file of an asset, which only the
    ///   cache's own syncing uploads.
    public func save(
        _ records: [CKRecord], deleting ids: [CKRecord.ID] = [], _ engine: CKSyncEngine
    ) throws {
        try cache.refuseNewFiles(
            of: records,
            "An EngineStore uploads none. Save the record with the engine's database.")
        try cache.save(records, deleting: ids, in: store.scope)
        try refresh(records.map { RecordID($0.recordID) } + ids.map { RecordID($0) }, engine)
    }

    /// Tells the engine about all pending changes in the cache. Call it after opening both, after creating, deleting or
    /// attaching zones with the cache, and after adopting its records.
    ///
    /// - Throws: SQLite's error.
    public func resume(_ engine: CKSyncEngine) throws {
        try claim()
        guard !isHalted else { return try withdraw(from: engine) }
        try cache.migrateRecords()
        engine.state.add(
            pendingDatabaseChanges: try store.backlog().zonesToDelete.map {
                .deleteZone(CKRecordZone.ID($0))
            })
        try refresh(try store.pendingIDs(limit: .max), engine)
        fetchAttached(engine)
    }

    /// Has the engine fetch what changed in zones while they were detached.
    private func fetchAttached(_ engine: CKSyncEngine) {
        let zones = engine.state.zoneIDsWithUnfetchedServerChanges.map { ZoneID($0) }
            .filter { keepsChanges(of: $0) }
        guard !zones.isEmpty else { return }
        _ = store.world.startTask("fetch attached zones") { [weak engine] in
            for zone in zones { await engine?.fetchSoon(zone) }
        }
    }

    // MARK: The delegate

    public func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        // An automatic engine may begin before `resume(_:)`; each fetch begins with an event.
        syncEngine.state.history = self
        do {
            // Also without the lock: the store may get it later, and must know whose file it is then.
            if case .accountChange(let change) = event {
                try accountChanged(change.changeType, syncEngine)
            }
            if failure == nil { try takeLock() }
            guard !isHalted else { return }
            try await handle(event, syncEngine)
            if case .willFetchChanges = event {
                try await recover(syncEngine)
                try await askForChanges(syncEngine)
                // The service may have lost saves that it acknowledged and that were not fetched since.
                for zone in try store.zonesWithSentTags() { await syncEngine.fetchSoon(zone) }
            }
        } catch {
            failed(error)
        }
        recoverLater(syncEngine)
    }

    /// Takes the engine back to the state that was stored last, so that what could not be written is fetched again.
    private func recover(_ engine: CKSyncEngine) async throws {
        let isNeeded = state.withLock { state in
            // The planned fetch has begun; one that fails here plans the next.
            state.isRecoveryPlanned = false
            return state.failure != nil
        }
        guard isNeeded else { return }
        try takeLock()
        let zones = engine.state.rewind(to: try store.engineState())
        state.withLock { state in
            state.failure = nil
            state.fetches = [:]
        }
        try resume(engine)
        // Each call writes the session's list of zones into the engine's state.
        for zone in zones { await engine.fetchSoon(zone) }
        await engine.fetchSoon(nil)
    }

    /// Has an engine that is automatic fetch again: once the store has the lock, or else after a pause, which doubles
    /// while the file cannot be written.
    private func recoverLater(_ engine: CKSyncEngine) {
        if state.withLock({ $0.isLockedOut }) { return waitForLock(engine) }
        let pauseSeconds: Double? = state.withLock { state in
            guard state.failure != nil, !state.isRecoveryPlanned else { return nil }
            state.isRecoveryPlanned = true
            return state.recoveryPause.nextSeconds()
        }
        guard let pauseSeconds else { return }
        let world = store.world
        _ = world.startTask("fetch what was not written") { [weak engine] in
            // The sleep ends early only when the process ends.
            try? await world.sleep(pauseSeconds)
            await engine?.fetchSoon(nil)
        }
    }

    /// Notes that data of the engine could not be written.
    func failed(_ error: any Error) {
        store.file.noteDamage(error)
        CacheLog(file: store.file, scope: store.scope, world: store.world)
            .note(.error, "engineEventNotWritten", ["error": "\(error)"])
        state.withLock { $0.failure = error }
    }

    public func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let wanted = syncEngine.state.pendingRecordZoneChanges
            .filter { context.options.scope.contains($0) }
        do {
            // Nothing is sent to another user, or before what could not be written was fetched again.
            guard failure == nil else { return nil }
            try takeLock()
            try noteUnsent()
            try await askForChanges(syncEngine)
            let unconfirmed = state.withLock { $0.unconfirmedZones }
            let batchLimits = CKSyncEngine.RecordZoneChangeBatch.batchLimits
            let (batch, stale, outcome) = try store.outgoing(
                wanted.map { RecordID($0.recordID) }.filter { unconfirmed[$0.zoneID] == nil },
                itemLimit: batchLimits.itemLimit,
                bytesLimit: batchLimits.bytesLimit)
            if !outcome.events.isEmpty { cache.observers.notify(outcome) }
            let gone = Set(stale.map { CKRecord.ID($0) })
            syncEngine.state.remove(
                pendingRecordZoneChanges: wanted.filter { gone.contains($0.recordID) })
            guard !batch.isEmpty else { return nil }
            state.withLock { state in
                for item in batch { state.sent[item.change.id] = item }
            }
            let deletions = batch.filter { $0.client == nil }
            var answer = CKSyncEngine.RecordZoneChangeBatch(
                recordsToSave: try batch.compactMap {
                    try $0.client?.record(changedSince: $0.sentBase)
                },
                recordIDsToDelete: deletions.map { CKRecord.ID($0.change.id) })
            // A tag keeps records that were edited or created again elsewhere since: the conflict is resolved first, as
            // by the cache alone.
            for item in deletions {
                answer.deletionTags[CKRecord.ID(item.change.id)] = item.base?.system?.changeTag
            }
            return answer
        } catch {
            failed(error)
            recoverLater(syncEngine)
            return nil
        }
    }

    /// Notes that the last batch was too large and did not arrive: the engine reports no event for it, and requests a
    /// smaller one.
    private func noteUnsent() throws {
        let unsent = state.withLock { state in
            defer { state.sent = [:] }
            return Array(state.sent.values)
        }
        try store.noteFailure(of: unsent, SyncFailure(.limitExceeded))
    }

    /// Has the engine fetch changes that pending ones wait for. A change that may have arrived is not sent again before
    /// the zone's changes were fetched, because the record may have been deleted since; nothing is sent into a missing
    /// zone before the database's changes were fetched. The cache has the same rules.
    private func askForChanges(_ engine: CKSyncEngine) async throws {
        if state.withLock({ !$0.unconfirmedZones.isEmpty }) { await engine.fetchSoon(nil) }
        for zone in try store.zonesAwaited() { await engine.fetchSoon(zone) }
    }

    /// Brings the engine's list of pending changes in line with the cache's.
    func refresh(_ ids: [RecordID], _ engine: CKSyncEngine) throws {
        guard !isHalted else { return }
        let pending = try store.pendingKinds(ids)
        engine.state.add(
            pendingDatabaseChanges: pending.wantedZones.map {
                .saveZone(CKRecordZone(zoneID: CKRecordZone.ID($0)))
            })
        for id in ids {
            let recordID = CKRecord.ID(id)
            switch pending.kinds[id] {
            case .save: engine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
            case .delete: engine.state.add(pendingRecordZoneChanges: [.deleteRecord(recordID)])
            case nil:
                engine.state.remove(
                    pendingRecordZoneChanges: [.saveRecord(recordID), .deleteRecord(recordID)])
            }
        }
    }
}

extension CKSyncEngine.PendingRecordZoneChange {
    fileprivate var recordID: CKRecord.ID {
        switch self {
        case .saveRecord(let id), .deleteRecord(let id): id
        }
    }
}
