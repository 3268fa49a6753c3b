import StratusClient
import StratusRecords
import StratusSync
import StratusSyncEngine
import Synchronization

/// A `CloudCache` as the store of an app that has a `CKSyncEngine` of its own.
///
/// The engine decides when to sync, the app's delegate hears of everything first; the store keeps the records,
/// the pending changes and the engine's state in the cache's file, and decides conflicts. Reading, queries,
/// observation, reports and diagnostics are the cache's. Do not call `start()` or `sync()` of that cache.
///
/// ```swift
/// func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
///     await store.handleEvent(event, syncEngine: syncEngine)
///     // … what the app wants of it
/// }
///
/// func nextRecordZoneChangeBatch(
///     _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
/// ) async -> CKSyncEngine.RecordZoneChangeBatch? {
///     await store.nextRecordZoneChangeBatch(context, syncEngine: syncEngine)
/// }
/// ```
///
/// It is a `CKSyncEngineDelegate` itself, for an app that has nothing to add.
public final class EngineStore: CKSyncEngineDelegate {
    public let cache: CloudCache
    let store: CacheStore
    private let state = Mutex(State())

    struct State {
        /// What the engine is sending, by record.
        var sent: [RecordID: OutgoingChange] = [:]
        /// Why something of the service's could not be written: then no newer state of the engine is kept,
        /// so that the next start fetches it again.
        var failure: (any Error)?
    }

    /// - Parameters:
    ///   - cache: one that is not syncing by itself.
    ///   - scope: the engine's database.
    /// - Throws: ``CacheError`` `invalidDatabase`.
    public init(_ cache: CloudCache, in scope: CKDatabase.Scope = .private) throws {
        self.cache = cache
        store = try cache.database(scope).store
    }

    /// The engine's state as of the last event that was written: give it to its configuration.
    ///
    /// - Throws: SQLite's error.
    public func stateSerialization() throws -> CKSyncEngine.State.Serialization? {
        try store.engineState()
    }

    /// Why something could not be written, as with a full disk. Until the app makes a new engine with
    /// ``stateSerialization()``, what came since may be missing here; nothing is lost.
    public var failure: (any Error)? { state.withLock { $0.failure } }

    /// Saves records and deletes others, here at once, and lets the engine send them.
    ///
    /// - Throws: as ``CloudCache/save(_:deleting:in:)``; `unsupportedValue` for a new file of an asset, which only the
    ///   cache's own syncing uploads.
    public func save(
        _ records: [CKRecord], deleting ids: [CKRecord.ID] = [], _ engine: CKSyncEngine
    ) throws {
        try cache.refuseNewFiles(
            of: records, "Save new files with the engine's database: the store uploads none.")
        try cache.save(records, deleting: ids, in: store.scope)
        try refresh(records.map { RecordID($0.recordID) } + ids.map { RecordID($0) }, engine)
    }

    /// Lets the engine know all that waits in the cache, after both were opened.
    ///
    /// - Throws: SQLite's error.
    public func resume(_ engine: CKSyncEngine) throws {
        try refresh(try store.pendingIDs(limit: .max), engine)
    }

    // MARK: The delegate

    public func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        do {
            try handle(event, syncEngine)
        } catch {
            store.file.noteDamage(error)
            CacheLog(file: store.file, scope: store.scope, world: store.world)
                .note(.error, "engineEventNotWritten", ["error": "\(error)"])
            state.withLock { $0.failure = error }
        }
    }

    public func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let wanted = syncEngine.state.pendingRecordZoneChanges
            .filter { context.options.scope.contains($0) }
        do {
            let (batch, stale) = try store.outgoing(wanted.map { RecordID($0.recordID) })
            let gone = Set(stale.map { CKRecord.ID($0) })
            syncEngine.state.remove(
                pendingRecordZoneChanges: wanted.filter { gone.contains($0.recordID) })
            guard !batch.isEmpty else { return nil }
            state.withLock { state in
                for item in batch { state.sent[item.change.id] = item }
            }
            return CKSyncEngine.RecordZoneChangeBatch(
                recordsToSave: try batch.compactMap {
                    try $0.client?.record(changedSince: $0.base)
                },
                recordIDsToDelete: batch.filter { $0.client == nil }
                    .map { CKRecord.ID($0.change.id) },
                atomicByZone: false)
        } catch {
            state.withLock { $0.failure = error }
            return nil
        }
    }

    // MARK: Events

    private func handle(_ event: CKSyncEngine.Event, _ engine: CKSyncEngine) throws {
        switch event {
        case .stateUpdate(let update):
            guard failure == nil else { return }
            try store.setEngineState(update.stateSerialization)
        case .fetchedDatabaseChanges(let changes):
            cache.observers.tell(
                try store.applyFromEngine(
                    changed: changes.modifications.map { ZoneID($0.zoneID) },
                    deleted: changes.deletions.map {
                        (ZoneID($0.zoneID), ZoneDeletionReason($0.reason))
                    }))
        case .fetchedRecordZoneChanges(let changes): try fetched(changes, engine)
        case .sentDatabaseChanges(let sent):
            cache.observers.tell(
                try store.zonesModified(
                    created: sent.savedZones.map { ZoneID($0.zoneID) },
                    deleted: sent.deletedZoneIDs.map { ZoneID($0) }))
        case .sentRecordZoneChanges(let sent): try self.sent(sent, engine)
        default: break
        }
    }

    private func fetched(
        _ changes: CKSyncEngine.Event.FetchedRecordZoneChanges, _ engine: CKSyncEngine
    ) throws {
        let records = Dictionary(
            grouping: try changes.modifications.map { try RecordSnapshot($0.record) },
            by: \.id.zoneID)
        let deletions = Dictionary(
            grouping: changes.deletions.map { RecordID($0.recordID) }, by: \.zoneID)
        for zone in Set(records.keys).union(deletions.keys) {
            let page = ZonePage(
                records: records[zone] ?? [], deletedNames: (deletions[zone] ?? []).map(\.name),
                token: "", moreComing: true)
            cache.observers.tell(try store.applyFromEngine(page, of: zone))
            try refresh((records[zone] ?? []).map(\.id) + (deletions[zone] ?? []), engine)
        }
    }

    private func sent(
        _ sent: CKSyncEngine.Event.SentRecordZoneChanges, _ engine: CKSyncEngine
    ) throws {
        var batch: [OutgoingChange] = []
        var answers: [OutgoingAnswer] = []
        var verdicts: [ItemVerdict] = []
        func add(_ id: RecordID, _ answer: OutgoingAnswer, _ verdict: ItemVerdict) {
            guard let item = state.withLock({ $0.sent.removeValue(forKey: id) }) else { return }
            batch.append(item)
            answers.append(answer)
            verdicts.append(verdict)
        }
        for record in sent.savedRecords {
            guard let system = try RecordSnapshot(record).system else { continue }
            add(RecordID(record.recordID), .saved(system), .confirmed)
        }
        for id in sent.deletedRecordIDs { add(RecordID(id), .deleted(tag: nil), .confirmed) }
        for failed in sent.failedRecordSaves {
            let failure = SyncFailure(failed.error)
            let server = try failed.error.serverRecord.map { try RecordSnapshot($0) }
            add(
                RecordID(failed.record.recordID), .failed(failure, server: server),
                verdict(on: .forSave(failure.code), failure))
            if [.zoneNotFound, .userDeletedZone].contains(failure.code) {
                engine.state.add(
                    pendingDatabaseChanges: [
                        .saveZone(CKRecordZone(zoneID: failed.record.recordID.zoneID))
                    ])
            }
        }
        for (id, error) in sent.failedRecordDeletes {
            let failure = SyncFailure(error)
            add(
                RecordID(id), .failed(failure, server: nil),
                verdict(on: .forDelete(failure.code), failure))
        }
        let ids = batch.map(\.change.id)
        cache.observers.tell(try store.confirm(batch, answers, verdicts))
        try refresh(ids, engine)
    }

    /// What becomes of an item that failed; what may pass waits in the queue.
    private func verdict(on action: RecoveryAction, _ failure: SyncFailure) -> ItemVerdict {
        switch action {
        case .resolveConflict: .conflict
        case .decideDeletion: .deletedElsewhere
        case .confirm: .confirmed
        case .setAside, .split, .report, .halt: .setAside(failure)
        case .refetch, .retryWithinBound: .countAttempt
        default: .pending
        }
    }

    /// Brings the engine's list of pending changes in line with the cache's.
    private func refresh(_ ids: [RecordID], _ engine: CKSyncEngine) throws {
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
