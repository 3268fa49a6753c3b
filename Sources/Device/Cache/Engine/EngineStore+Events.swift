import StratusClient
import StratusRecords
import StratusSync
import StratusSyncEngine

/// Stores the events of the engine.
extension EngineStore {
    private static let maximumConflictRounds = SyncSettings().maximumConflictRounds

    func handle(_ event: CKSyncEngine.Event, _ engine: CKSyncEngine) async throws {
        switch event {
        case .sentDatabaseChanges(let sent): try await self.sent(sent, engine)
        case .sentRecordZoneChanges(let sent): try self.sent(sent, engine)
        default:
            // If fetched data could not be written, later events are not reliable: a record that seems to be missing may be
            // in the data that was not written.
            if failure == nil { try handleFetch(event, engine) }
        }
    }

    private func handleFetch(_ event: CKSyncEngine.Event, _ engine: CKSyncEngine) throws {
        switch event {
        case .stateUpdate(let update): try store.setEngineState(update.stateSerialization)
        case .fetchedDatabaseChanges(let changes): try fetched(changes, engine)
        case .fetchedRecordZoneChanges(let changes): try fetched(changes, engine)
        case .didFetchRecordZoneChanges(let zone): try ended(zone, engine)
        case .didFetchChanges:
            try resolveUnconfirmed(engine)
            state.withLock { $0.recoveryPause.reset() }
        default: break
        }
    }

    /// Missing zones without a known deletion are created again, with their records on this device.
    private func fetched(
        _ changes: CKSyncEngine.Event.FetchedDatabaseChanges, _ engine: CKSyncEngine
    ) throws {
        let isLost = try store.isDatabaseTokenExpired()
        let missing = changes.deletions.filter { $0.isInferred && isLost }
            .map { ZoneID($0.zoneID) }
        let changed = changes.modifications.map { ZoneID($0.zoneID) }
        let deleted = changes.deletions.filter { !$0.isInferred || !isLost }
        let (outcome, recreated) = try store.applyFromEngine(
            changed: changed,
            deleted: deleted.map { (ZoneID($0.zoneID), ZoneDeletionReason($0.reason)) },
            generations: Dictionary(
                uniqueKeysWithValues: changes.generations.map { (ZoneID($0.key), $0.value) }),
            unconfirmed: missing)
        cache.observers.notify(outcome)
        forgetUnconfirmed(changed + deleted.map { ZoneID($0.zoneID) })
        try refresh(
            try Set(missing).union(recreated).inOrder.flatMap { try store.pendingIDs(in: $0) },
            engine)
    }

    private func fetched(
        _ changes: CKSyncEngine.Event.FetchedRecordZoneChanges, _ engine: CKSyncEngine
    ) throws {
        let records = Dictionary(
            grouping: try changes.modifications.map { try RecordSnapshot($0.record) },
            by: \.id.zoneID)
        let deletions = Dictionary(grouping: changes.deletions) { ZoneID($0.recordID.zoneID) }
        let unreadable = Dictionary(grouping: changes.unreadable) { ZoneID($0.key.zoneID) }
        for zone in Set(records.keys).union(deletions.keys).union(unreadable.keys).inOrder {
            let deleted = deletions[zone] ?? []
            var page = ZonePage(
                records: records[zone] ?? [], deletedNames: deleted.map(\.recordID.recordName),
                token: "", moreComing: true)
            for deletion in deleted {
                page.createdMillisecondsOfDeleted[deletion.recordID.recordName] =
                    deletion.createdMilliseconds
            }
            for (id, error) in unreadable[zone] ?? [] {
                page.unreadable[id.recordName] = SyncFailure(error)
            }
            try beginFetch(of: zone, engine)
            cache.observers.notify(try store.applyFromEngine(page, of: zone))
            try refresh(
                (records[zone] ?? []).map(\.id) + deleted.map { RecordID($0.recordID) }, engine)
        }
    }

    /// Without a token the engine reports the existing records and no deletions, so the store compares.
    private func beginFetch(of zone: ZoneID, _ engine: CKSyncEngine) throws {
        guard let fetch = engine.state.fetchFromBeginning(of: zone),
            state.withLock({ $0.fetches[zone] != fetch })
        else { return }
        try store.beginFetchFromEngine(zone)
        state.withLock { $0.fetches[zone] = fetch }
    }

    private func ended(
        _ fetch: CKSyncEngine.Event.DidFetchRecordZoneChanges, _ engine: CKSyncEngine
    ) throws {
        let zone = ZoneID(fetch.zoneID)
        guard !engine.state.zoneIDsWithUnfetchedServerChanges.contains(fetch.zoneID) else { return }
        let unanswered = try store.unansweredIDs(in: zone)
        switch fetch.error?.code {
        // A partial failure is about records that cannot be read, and that the store knows of.
        case nil, .partialFailure:
            try beginFetch(of: zone, engine)
            cache.observers.notify(try store.endFetchFromEngine(zone))
            forgetUnconfirmed([zone])
            // Lost records are sent again.
            try addMissing(in: zone, engine)
        case .zoneNotFound, .userDeletedZone:
            try store.noteMissing(zone)
            noteUnconfirmed(zone, engine)
        default: return
        }
        state.withLock { $0.fetches[zone] = nil }
        try refresh(unanswered, engine)
    }

    /// Handles a missing zone: the database's changes show whether it was deleted.
    private func noteUnconfirmed(_ zone: ZoneID, _ engine: CKSyncEngine) {
        let count = engine.state.databaseFetchCount
        state.withLock { $0.unconfirmedZones[zone] = count }
    }

    /// Forgets unconfirmed zones that exist, or that are known to be deleted.
    private func forgetUnconfirmed(_ zones: [ZoneID]) {
        state.withLock { state in
            for zone in zones { state.unconfirmedZones[zone] = nil }
        }
    }

    /// Creates each missing zone without a known deletion again, with its records on this device.
    private func resolveUnconfirmed(_ engine: CKSyncEngine) throws {
        let count = engine.state.databaseFetchCount
        let unconfirmed = state.withLock { state in
            let unconfirmed = state.unconfirmedZones.filter { $0.value < count }.map(\.key)
            for zone in unconfirmed { state.unconfirmedZones[zone] = nil }
            return unconfirmed.sorted { $0.name < $1.name }
        }
        guard !unconfirmed.isEmpty else { return }
        cache.observers.notify(
            try store.applyFromEngine(changed: [], deleted: [], unconfirmed: unconfirmed).outcome)
        // A zone that is created again is fetched from its beginning.
        for zone in unconfirmed { engine.state.forget(zone) }
        try refresh(try unconfirmed.flatMap { try store.pendingIDs(in: $0) }, engine)
    }

    /// Adds the pending changes of a zone that the engine does not have yet.
    private func addMissing(in zone: ZoneID, _ engine: CKSyncEngine) throws {
        let ids = try store.pendingIDs(in: zone)
        guard !ids.isEmpty else { return }
        let known = Set(engine.state.pendingRecordZoneChanges)
        try refresh(
            ids.filter { id in
                let recordID = CKRecord.ID(id)
                return !known.contains(.saveRecord(recordID))
                    && !known.contains(.deleteRecord(recordID))
            }, engine)
    }

    private func sent(
        _ sent: CKSyncEngine.Event.SentDatabaseChanges, _ engine: CKSyncEngine
    ) async throws {
        let created = sent.savedZones.map { ZoneID($0.zoneID) }
        var deleted = sent.deletedZoneIDs.map { ZoneID($0) }
        var refused: [ZoneID: SyncFailure] = [:]
        for failed in sent.failedZoneSaves
        where RecoveryAction.forZone(failed.error.code) == .setAside {
            refused[ZoneID(failed.zone.zoneID)] = SyncFailure(failed.error)
        }
        for (id, error) in sent.failedZoneDeletes {
            switch RecoveryAction.forZone(error.code) {
            case .setAside: refused[ZoneID(id)] = SyncFailure(error)
            case .confirm: deleted.append(ZoneID(id))
            default: break
            }
        }
        forgetUnconfirmed(created)
        let outcome = try store.zonesModified(created: created, deleted: deleted, refused: refused)
        cache.observers.notify(outcome)
        // Zones that are still there, or that others created under the name since.
        for zone in outcome.staleZones.inOrder {
            engine.state.forget(zone)
            await engine.fetchSoon(zone)
        }
        try refresh(
            (deleted + refused.keys).inOrder.flatMap { try store.pendingIDs(in: $0) }, engine)
    }

    private func sent(
        _ sent: CKSyncEngine.Event.SentRecordZoneChanges, _ engine: CKSyncEngine
    ) throws {
        var batch: [OutgoingChange] = []
        var answers: [OutgoingAnswer] = []
        var dispositions: [ItemDisposition] = []
        func add(_ id: RecordID, _ answer: OutgoingAnswer, _ disposition: ItemDisposition) {
            guard let item = state.withLock({ $0.sent.removeValue(forKey: id) }) else { return }
            batch.append(item)
            answers.append(answer)
            // A conflict with a record that cannot be read cannot be resolved.
            if disposition == .conflict, case .failed(let failure, nil) = answer,
                item.change.conflictRounds >= Self.maximumConflictRounds
            {
                dispositions.append(.setAside(failure))
            } else {
                dispositions.append(disposition)
            }
        }
        for record in sent.savedRecords {
            guard let system = try RecordSnapshot(record).system else { continue }
            add(RecordID(record.recordID), .saved(system), .confirmed)
        }
        for id in sent.deletedRecordIDs {
            add(RecordID(id), .deleted(tag: sent.tombstoneTags[id]), .confirmed)
        }
        for failed in sent.failedRecordSaves {
            let failure = SyncFailure(failed.error)
            let server = try failed.error.serverRecord.map { try RecordSnapshot($0) }
            add(
                RecordID(failed.record.recordID), .failed(failure, server: server),
                disposition(on: .forSave(failure.code), failure))
            if [.zoneNotFound, .userDeletedZone].contains(failure.code) {
                noteUnconfirmed(ZoneID(failed.record.recordID.zoneID), engine)
            }
        }
        // In one order: the changes that stay pending are sent in the order in which they are added below.
        let failedDeletes = sent.failedRecordDeletes.sorted {
            ($0.key.zoneID.zoneName, $0.key.recordName)
                < ($1.key.zoneID.zoneName, $1.key.recordName)
        }
        for (id, error) in failedDeletes {
            let failure = SyncFailure(error)
            let server = try error.serverRecord.map { try RecordSnapshot($0) }
            add(
                RecordID(id), .failed(failure, server: server),
                disposition(on: .forDelete(failure.code), failure))
        }
        let ids = batch.map(\.change.id)
        cache.observers.notify(try store.confirm(batch, answers, dispositions))
        try refresh(ids, engine)
    }

    /// Decides what happens to an item that failed; after a transient failure it waits in the queue.
    private func disposition(on action: RecoveryAction, _ failure: SyncFailure) -> ItemDisposition {
        switch action {
        case .resolveConflict: .conflict
        case .decideDeletion: .deletedElsewhere
        case .confirm: .confirmed
        case .setAside, .split, .report, .halt: .setAside(failure)
        case .refetch, .retryWithinBound: .countAttempt
        default: .pending
        }
    }
}
