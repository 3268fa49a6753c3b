import StratusClient
import StratusRecords
import StratusSync

/// A send, from its "will" event to its "did" event.
private struct SendRound {
    let context: CKSyncEngine.SendChangesContext
    /// The error for the caller.
    private(set) var error: CKError?
    private(set) var isOver = false

    var group: CKOperationGroup { context.options.operationGroup }

    /// Ends the round with a failure; the caller gets the first one.
    mutating func fail(_ failure: CKError?) {
        guard let failure else { return }
        error = error ?? failure
        isOver = true
    }
}

extension EngineDriver {
    func sendByHand(
        _ options: CKSyncEngine.SendChangesOptions, _ engine: CKSyncEngine
    ) async throws {
        try await begin(.sending, engine)
        session.setHasPendingChanges(state.ledger.hasRecordChanges)
        let context = CKSyncEngine.SendChangesContext(reason: .manual, options: options)
        if let error = await send(context, engine) { throw error }
    }

    /// Passes the app's new changes to the session. Records wait briefly for further ones, unless a
    /// caller waits.
    func absorbChanges(_ context: CKSyncEngine.SendChangesContext? = nil) {
        let ledger = state.ledger
        setZones(ledger, context?.options.scope ?? .all)
        guard ledger.additionCount != seenAdditions else { return }
        seenAdditions = ledger.additionCount
        guard ledger.hasRecordChanges else { return }
        if context?.reason == .manual {
            session.setHasPendingChanges(true)
        } else {
            session.localChange(at: now)
        }
    }

    private func setZones(
        _ ledger: EngineLedger, _ scope: CKSyncEngine.SendChangesOptions.Scope
    ) {
        let zones = ledger.pendingZones.filter { scope.contains($0.key) }
        session.setZonesToModify(
            create: zones.filter { $0.value == .save }.map(\.key),
            delete: zones.filter { $0.value == .delete }.map(\.key))
    }

    /// Sends until the delegate has nothing more to send or an error occurs.
    ///
    /// Changes that the delegate adds after a failure are sent in the next round: the caller of
    /// this one gets the failure first. Source: the tests of Apple's sample project of the engine.
    ///
    /// - Returns: the error for a caller, if any.
    func send(
        _ context: CKSyncEngine.SendChangesContext, _ engine: CKSyncEngine
    ) async -> CKError? {
        var round = SendRound(context: context)
        setZones(state.ledger, context.options.scope)
        guard case .perform = session.preview(at: now, only: .sending) else { return nil }
        await deliver(.willSendChanges(.init(context: context)), engine)
        await deliverState(engine)
        while !isCancelled, !round.isOver, delegate != nil {
            absorbChanges(context)
            guard case .perform(let operation) = session.next(at: now, only: .sending) else {
                break
            }
            switch operation {
            case .modifyZones(let create, let delete):
                await modifyZones(create, delete, &round, engine)
            case .send(let itemLimit, let bytesLimit):
                let batchLimits = CKSyncEngine.RecordZoneChangeBatch.BatchLimits(
                    itemLimit: itemLimit, bytesLimit: bytesLimit)
                await sendBatch(batchLimits, &round, engine)
            case .fetchDatabaseChanges, .fetchZoneChanges, .saveSubscription: break
            }
            await deliverState(engine)
        }
        // Changes outside this scope must still be sent.
        if context.options.scope != .all {
            session.setHasPendingChanges(state.ledger.hasRecordChanges)
        }
        await deliver(.didSendChanges(.init(context: context)), engine)
        await deliverState(engine)
        if isCancelled { return CKError(.operationCancelled, "The send was cancelled.") }
        return round.error
    }

    // MARK: Zones

    private func modifyZones(
        _ create: [ZoneID], _ delete: [ZoneID], _ round: inout SendRound, _ engine: CKSyncEngine
    ) async {
        let limit = CKSyncEngine.RecordZoneChangeBatch.maximumItemCount
        let zones = create.prefix(limit).map { state.zone($0) }
        let zoneIDs = delete.prefix(limit - zones.count).map { CKRecordZone.ID($0) }
        var saves: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
        var deletes: [CKRecordZone.ID: Result<Void, any Error>] = [:]
        do {
            let generations = try generationsToDelete(zoneIDs)
            (saves, deletes) = try await ask(group: round.group) {
                try await $0.modifyZones(
                    saving: zones, deleting: zoneIDs, generations: generations
                ).results
            }
        } catch {
            let error = CKError(error)
            round.fail(error)
            if isGivenUp(error) { return session.cancelled() }
            // The error of the request is the result of each zone.
            for zone in zones { saves[zone.zoneID] = .failure(error) }
            for zoneID in zoneIDs { deletes[zoneID] = .failure(error) }
        }
        await recordOutcomes(zones, saves, zoneIDs, deletes, &round, engine)
    }

    /// The generations of zones to delete, so that a zone that others have created under the same name since is not
    /// deleted.
    ///
    /// - Throws: `CKError` `serviceUnavailable` if the store cannot be read: the deletions are tried again after a pause.
    private func generationsToDelete(
        _ zoneIDs: [CKRecordZone.ID]
    ) throws -> [CKRecordZone.ID: Int64] {
        guard !zoneIDs.isEmpty else { return [:] }
        guard let history else {
            let known = state.ledger.zoneGenerations
            let named = zoneIDs.compactMap { zoneID in
                known[ZoneID(zoneID)].map { (zoneID, $0) }
            }
            return Dictionary(named) { $1 }
        }
        guard let generations = history.generationsToDelete(zoneIDs.map { ZoneID($0) }) else {
            throw CKError(
                .serviceUnavailable,
                "The engine's store could not be read, so zones were not deleted"
                    + " (\(zoneIDs.map(\.zoneName).joined(separator: ", "))); the next send deletes them."
            )
        }
        return Dictionary(
            uniqueKeysWithValues: generations.map { (CKRecordZone.ID($0.key), $0.value) })
    }

    private func recordOutcomes(
        _ zones: [CKRecordZone], _ saves: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
        _ zoneIDs: [CKRecordZone.ID], _ deletes: [CKRecordZone.ID: Result<Void, any Error>],
        _ round: inout SendRound, _ engine: CKSyncEngine
    ) async {
        var created: [ZoneID: SyncFailure?] = [:]
        var deleted: [ZoneID: SyncFailure?] = [:]
        var resolved: [ZoneID: EngineLedger.ZoneChange] = [:]
        var savedZones: [CKRecordZone] = []
        var failedSaves: [CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave] = []
        var deletedZoneIDs: [CKRecordZone.ID] = []
        var failedDeletes: [CKRecordZone.ID: CKError] = [:]
        for zone in zones {
            let id = ZoneID(zone.zoneID)
            switch saves[zone.zoneID] ?? .failure(Self.unanswered) {
            case .success(let saved):
                savedZones.append(saved)
                created[id] = .some(nil)
                resolved[id] = .save
            case .failure(let error):
                let error = CKError(error)
                failedSaves.append(.init(zone: zone, error: error))
                created[id] = SyncFailure(error)
                if !session.recovery(forZone: error.code).isRetry { resolved[id] = .save }
            }
        }
        for zoneID in zoneIDs {
            let id = ZoneID(zoneID)
            switch deletes[zoneID] ?? .failure(Self.unanswered) {
            case .success:
                deletedZoneIDs.append(zoneID)
                deleted[id] = .some(nil)
                resolved[id] = .delete
            case .failure(let error):
                let error = CKError(error)
                failedDeletes[zoneID] = error
                deleted[id] = SyncFailure(error)
                if !session.recovery(forZone: error.code).isRetry { resolved[id] = .delete }
            }
        }
        _ = session.zonesModified(created: created, deleted: deleted, at: now)
        let (done, gone) = (resolved, deletedZoneIDs.map { ZoneID($0) })
        state.update { ledger in
            ledger.resolve(done)
            for zone in gone { ledger.forget(zone) }
        }
        var failures: [AnyHashable: any Error] = failedDeletes
        for failed in failedSaves { failures[failed.zone.zoneID] = failed.error }
        round.fail(.partialFailure(failures))
        let event = CKSyncEngine.Event.SentDatabaseChanges(
            savedZones: savedZones, failedZoneSaves: failedSaves, deletedZoneIDs: deletedZoneIDs,
            failedZoneDeletes: failedDeletes)
        await deliver(.sentDatabaseChanges(event), engine)
    }

    // MARK: Records

    private func sendBatch(
        _ batchLimits: CKSyncEngine.RecordZoneChangeBatch.BatchLimits, _ round: inout SendRound,
        _ engine: CKSyncEngine
    ) async {
        typealias Batch = CKSyncEngine.RecordZoneChangeBatch
        let asked = state.ledger.additionCount
        let context = round.context
        let answer = await Batch.$batchLimits.withValue(batchLimits) {
            await askDelegate {
                await $0.nextRecordZoneChangeBatch(context, syncEngine: engine)
            }
        }
        guard let batch = answer ?? nil, batch.itemCount > 0 else {
            session.nothingToSend()
            return
        }
        if let misuse = misuse(of: batch, context.options.scope) {
            // Nothing was sent; the session only notes the failure.
            _ = session.failed(SyncFailure(.invalidArguments), at: now)
            return round.fail(misuse)
        }
        let changes = batch.changes
        state.update { $0.send(changes, askedAt: asked) }
        var saves: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
        var deletes: [CKRecord.ID: Result<Void, any Error>] = [:]
        var tombstoneTags: [CKRecord.ID: String] = [:]
        do {
            let answer = try await ask(group: round.group) {
                try await $0.modifyRecords(
                    saving: batch.recordsToSave, deleting: batch.recordIDsToDelete,
                    deletionTags: batch.deletionTags, savePolicy: .ifServerRecordUnchanged,
                    atomically: batch.atomicByZone)
            }
            (saves, deletes) = answer.results
            tombstoneTags = answer.tombstoneTags
        } catch {
            let error = CKError(error)
            if error.code == .limitExceeded, changes.count > 1,
                changes.count <= batchLimits.itemLimit
            {
                // The delegate does not know the service's limit, so the engine asks it for a
                // smaller batch.
                _ = session.failed(
                    SyncFailure(error), batchItemCount: changes.count, at: now)
                state.update { ledger in
                    ledger.resolve(changes, changes.map { _ in .pending })
                }
                return
            }
            // The error of the request is the result of each record.
            for record in batch.recordsToSave { saves[record.recordID] = .failure(error) }
            for recordID in batch.recordIDsToDelete { deletes[recordID] = .failure(error) }
            round.fail(error)
        }
        await recordOutcomes(batch, changes, (saves, deletes), tombstoneTags, &round, engine)
    }

    /// The error of an invalid batch that an app made.
    private func misuse(
        of batch: CKSyncEngine.RecordZoneChangeBatch,
        _ scope: CKSyncEngine.SendChangesOptions.Scope
    ) -> CKError? {
        let limit = CKSyncEngine.RecordZoneChangeBatch.maximumItemCount
        if batch.itemCount > limit {
            return CKError(
                .limitExceeded,
                "The batch has \(batch.itemCount) records, more than \(limit); give fewer at a time.",
                details: ["ItemCount": batch.itemCount])
        }
        let recordIDs = batch.recordsToSave.map(\.recordID) + batch.recordIDsToDelete
        if let outside = recordIDs.first(where: { !scope.contains($0) }) {
            return CKError(
                .invalidArguments,
                "The record \(outside.recordName) of the batch is outside the scope of"
                    + " context.options; give only records inside.",
                details: ["RecordID": outside])
        }
        return nil
    }

    private func recordOutcomes(
        _ batch: CKSyncEngine.RecordZoneChangeBatch, _ changes: [PendingChange],
        _ results: CKDatabase.RecordModifications, _ tombstoneTags: [CKRecord.ID: String],
        _ round: inout SendRound, _ engine: CKSyncEngine
    ) async {
        var failures: [CKError?] = []
        var savedRecords: [CKRecord] = []
        var failedSaves: [CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave] = []
        var deletedRecordIDs: [CKRecord.ID] = []
        var failedDeletes: [CKRecord.ID: CKError] = [:]
        for record in batch.recordsToSave {
            switch results.saveResults[record.recordID] ?? .failure(Self.unanswered) {
            case .success(let saved):
                savedRecords.append(saved)
                failures.append(nil)
            case .failure(let error):
                failedSaves.append(.init(record: record, error: CKError(error)))
                failures.append(CKError(error))
            }
        }
        for recordID in batch.recordIDsToDelete {
            switch results.deleteResults[recordID] ?? .failure(Self.unanswered) {
            case .success:
                deletedRecordIDs.append(recordID)
                failures.append(nil)
            case .failure(let error):
                failedDeletes[recordID] = CKError(error)
                failures.append(CKError(error))
            }
        }
        let dispositions = classify(changes, failures, round)
        let serverRecords = failures.compactMap { $0?.serverRecord }
        let missing = zip(changes, failures).filter { $1?.isZoneMissing == true }
        state.update { ledger in
            ledger.resolve(changes, dispositions)
            // The app learns from the failure that the zone is gone, and may create it again.
            for (change, _) in missing { ledger.forgetGeneration(of: change.id.zoneID) }
            for record in serverRecords {
                ledger.noteConflicting(RecordID(record.recordID), type: record.recordType)
            }
        }
        let errors = zip(changes, failures).compactMap { change, error in
            error.map { (AnyHashable(CKRecord.ID(change.id)), $0 as any Error) }
        }
        round.fail(.partialFailure(Dictionary(errors) { first, _ in first }))
        // Other changes may wait behind failed ones. Changes that the app tracks itself are not counted, because the
        // delegate would then be asked endlessly.
        session.setHasPendingChanges(state.ledger.hasRecordChanges)
        let event = CKSyncEngine.Event.SentRecordZoneChanges(
            savedRecords: savedRecords, failedRecordSaves: failedSaves,
            deletedRecordIDs: deletedRecordIDs, failedRecordDeletes: failedDeletes,
            tombstoneTags: tombstoneTags)
        await deliver(.sentRecordZoneChanges(event), engine)
    }

    private func classify(
        _ changes: [PendingChange], _ failures: [CKError?], _ round: SendRound
    ) -> [ItemDisposition] {
        if let error = round.error, isGivenUp(error) {
            session.cancelled()
            return changes.map { _ in .pending }
        }
        let outcomes = zip(changes, failures).map { change, error in
            ItemOutcome(change, failure: error.map { SyncFailure($0) })
        }
        return session.sent(outcomes, at: now)
    }

    private static let unanswered = CKError(
        .internalError,
        "The service left this item out of its answer; try again, or update the service.")
}
