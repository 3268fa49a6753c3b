import StratusRecords

/// The outcomes of a session's operations.
extension SyncSession {
    /// Notes the outcome of creating and deleting zones, for each zone.
    ///
    /// - Returns: the zones whose state the driver must store now. One that was refused permanently
    ///   must be set aside with its changes; the others continue.
    public mutating func zonesModified(
        created: [ZoneID: SyncFailure?], deleted: [ZoneID: SyncFailure?], at uptimeSeconds: Double
    ) -> (created: [ZoneID], deleted: [ZoneID], refused: [ZoneID: SyncFailure]) {
        var madeZones: [ZoneID] = []
        var goneZones: [ZoneID] = []
        var refused: [ZoneID: SyncFailure] = [:]
        var failure: SyncFailure?
        var throttled: SyncFailure?
        var hasReported = false
        /// - Returns: whether the problem is only reported, and the zone is not requested again.
        func isOnlyReported(_ problem: SyncFailure, of zone: ZoneID) -> Bool {
            switch recovery(forZone: problem.code) {
            case .report:
                hasReported = true
                return true
            case .setAside: refused[zone] = problem
            case .retryWithinBound where retryCount + 1 >= settings.maximumItemAttempts:
                refused[zone] = problem
            default:
                failure = problem
                throttled = slower(problem, throttled)
            }
            return false
        }
        for zone in created.keys.inOrder {
            if let problem = created[zone] ?? nil {
                if isOnlyReported(problem, of: zone) { zonesToCreate.removeAll { $0 == zone } }
            } else {
                madeZones.append(zone)
            }
        }
        for zone in deleted.keys.inOrder {
            if let problem = deleted[zone] ?? nil, recovery(forZone: problem.code) != .confirm {
                if isOnlyReported(problem, of: zone) { zonesToDelete.removeAll { $0 == zone } }
            } else {
                goneZones.append(zone)
            }
        }
        zonesToCreate.removeAll { madeZones.contains($0) || refused[$0] != nil }
        zonesToDelete.removeAll { refused[$0] != nil }
        zonesToReplace.subtract(refused.keys)
        for zone in goneZones { deletionDone(of: zone) }
        if settings.failurePolicy == .recover { fetchBeforeSending(into: madeZones) }
        zoneBatchSize.accepted(itemCount: created.count + deleted.count)
        if let failure, madeZones.isEmpty, goneZones.isEmpty, refused.isEmpty, !hasReported {
            // No zone succeeded, which is the same as a failed request.
            _ = failed(failure.pausing(atLeastAs: throttled), at: uptimeSeconds)
        } else {
            succeeded(at: uptimeSeconds, besides: throttled)
        }
        return (madeZones, goneZones, refused)
    }

    /// Fetches new zones before anything is sent into them. Otherwise, after a save whose answer
    /// was lost, the first fetch could not show whether the save never arrived or the record was
    /// deleted since.
    private mutating func fetchBeforeSending(into zones: [ZoneID]) {
        // Otherwise the database's changes are fetched first, and name the zones.
        guard !needsDatabaseFetch else { return }
        for zone in zones where settings.zones.contains(zone) && !zonesToFetch.contains(zone) {
            zonesToFetch.append(zone)
            owesSend = false
        }
    }

    /// Notes that the subscription was missing and has been saved.
    ///
    /// The database's changes are fetched next, because notifications may have been missed without it.
    public mutating func subscriptionSaved(at uptimeSeconds: Double) {
        needsSubscription = false
        subscriptionUptimeSeconds = uptimeSeconds
        // Changes may have been missed without it.
        needsDatabaseFetch = true
        succeeded(at: uptimeSeconds)
    }

    /// Notes that the subscription still exists.
    public mutating func subscriptionFound(at uptimeSeconds: Double) {
        needsSubscription = false
        subscriptionUptimeSeconds = uptimeSeconds
        if !needsDatabaseFetch { planFetch(after: uptimeSeconds) }
        succeeded(at: uptimeSeconds)
    }

    /// Notes that all pages of the database's changes were fetched and stored.
    ///
    /// - Parameter deleted: the zones that were deleted, and those of ``unconfirmedZones`` that need not be created
    ///   again.
    /// - Parameter changed: the zones with changes.
    /// - Parameter uptimeSeconds: now, by the session's clock.
    /// - Returns: zones that are missing without having been deleted: the driver marks them to be
    ///   created, clears the system fields of their records and queues these again.
    public mutating func databaseFetched(
        changed: [ZoneID], deleted: [ZoneID], at uptimeSeconds: Double
    ) -> [ZoneID] {
        for zone in deleted {
            forget(zone)
            deletionDone(of: zone)
        }
        zonesGivenUp = []
        zonesExpired = []
        expiredFetches.remove(.fetchDatabaseChanges)
        // A changed zone exists, even if it was missing a moment ago.
        let missing = unconfirmedZones.filter { !changed.contains($0) }
        unconfirmedZones = []
        for zone in missing { zoneWanted(zone) }
        for zone in changed
        where settings.zones.contains(zone) && !zone.isDefault
            && (settings.failurePolicy == .report || !zonesToDelete.contains(zone))
            && !zonesToFetch.contains(zone)
        {
            zonesToFetch.append(zone)
        }
        planFetch(after: uptimeSeconds)
        if areZonesDone { owesSend = true }
        succeeded(at: uptimeSeconds)
        // The zones are fetched in the same round.
        isFetchingRound = !areZonesDone
        return missing
    }

    /// Notes that a page of a zone's changes was fetched and stored with its token.
    public mutating func zonePageFetched(
        _ zone: ZoneID, moreComing: Bool, hasPendingChanges: Bool, at uptimeSeconds: Double
    ) {
        self.hasPendingChanges = hasPendingChanges
        expiredFetches.remove(.fetchZoneChanges(zone))
        if !moreComing {
            zonesToFetch.removeAll { $0 == zone }
            if zonesToFetchAgain.remove(zone) != nil {
                // In the next round: otherwise nothing would be sent while others write during every fetch.
                zonesToFetch.append(zone)
                zonesOfNextRound.insert(zone)
            }
            if zonesToFetch.allSatisfy({ isDone($0) || zonesOfNextRound.contains($0) }) {
                zonesOfNextRound = []
                owesSend = true
                isFetchingRound = false
            }
        }
        succeeded(at: uptimeSeconds)
    }

    /// Notes the outcomes of a batch's items.
    ///
    /// - Returns: one disposition per outcome, in the same order.
    public mutating func sent(_ outcomes: [ItemOutcome], at uptimeSeconds: Double)
        -> [ItemDisposition]
    {
        owesSend = false
        resumeSaves(after: outcomes, at: uptimeSeconds)
        var dispositions: [ItemDisposition] = []
        dispositions.reserveCapacity(outcomes.count)
        var hasProgress = outcomes.isEmpty
        var worst: SyncFailure?
        var throttled: SyncFailure?
        for outcome in outcomes {
            let disposition = classify(outcome, at: uptimeSeconds)
            switch disposition {
            case .confirmed, .setAside, .conflict, .deletedElsewhere: hasProgress = true
            case .pending, .countAttempt:
                if worst == nil || worst?.code == .batchRequestFailed { worst = outcome.failure }
                throttled = slower(outcome.failure, throttled)
            }
            dispositions.append(disposition)
        }
        if halt != nil { return dispositions }
        batchSize.accepted(itemCount: outcomes.count)
        batchBytes.arrived()
        if let worst, !hasProgress {
            withoutProgress(worst.pausing(atLeastAs: throttled), at: uptimeSeconds)
        } else if let failure = countFailedBatch(outcomes, dispositions) {
            // Slows down an app that adds the same failing changes again and again.
            penalise(
                failure.pausing(atLeastAs: throttled), isCounted: true, at: uptimeSeconds)
        } else {
            succeeded(at: uptimeSeconds, besides: throttled)
        }
        return dispositions
    }

    /// Notes that there was nothing to send and no request was made.
    public mutating func nothingToSend() {
        hasPendingChanges = false
        owesSend = false
        operation = nil
    }

    /// Sets whether anything is left to send, after a batch was stored or a change was undone.
    public mutating func setHasPendingChanges(_ hasPendingChanges: Bool) {
        self.hasPendingChanges = hasPendingChanges
    }

    /// Notes that an operation failed as a whole.
    ///
    /// - Parameters:
    ///   - batchItemCount: how many items the batch had, if it was one.
    ///   - batchOwners: the owners of the zones of its saves.
    ///   - failure: why it failed.
    ///   - uptimeSeconds: now, by the session's clock.
    /// - Returns: what the driver must store.
    public mutating func failed(
        _ failure: SyncFailure, batchItemCount: Int = 0, batchOwners: Set<String> = [],
        at uptimeSeconds: Double
    ) -> FailureEffect? {
        let failed = operation
        if failed == .fetchDatabaseChanges { needsDatabaseFetch = true }
        if case .send = failed { owesSend = false }
        switch (recovery(forRequest: failure.code), failed) {
        case (.awaitNetwork, _):
            isNetworkReachable = false
            if case .send = failed, failure.code != .networkUnavailable { batchBytes.lost() }
            penalise(
                failure, isCounted: false, at: uptimeSeconds,
                ceilingSeconds: settings.maximumOfflineDelaySeconds)
        case (let recovery, .modifyZones(let create, let delete))
        where recovery != .report && self.recovery(forZone: failure.code) == .setAside
            && create.count + delete.count > 1:
            // Separate requests show which zone the error is about.
            _ = zoneBatchSize.refused(itemCount: create.count + delete.count)
            penalise(failure, isCounted: false, at: uptimeSeconds)
        case (.split, .send):
            let canBeSmaller = batchSize.refused(itemCount: batchItemCount)
            if settings.failurePolicy == .report {
                finishOperation()
            } else {
                penalise(failure, isCounted: false, at: uptimeSeconds)
            }
            return canBeSmaller ? nil : .setAsideBatch(failure)
        case (.awaitQuota, .send):
            for owner in batchOwners { awaitQuota(failure, of: owner, at: uptimeSeconds) }
            if batchOwners.isEmpty { awaitQuota(failure, of: nil, at: uptimeSeconds) }
            penalise(failure, isCounted: false, at: uptimeSeconds)
        case (.awaitQuota, _): penalise(failure, isCounted: false, at: uptimeSeconds)
        case (.awaitAccount, _): halt(.account(failure))
        case (.halt, _): halt(.refused(failure))
        case (.refetch, .fetchDatabaseChanges):
            _ = expired(.fetchDatabaseChanges, failure, at: uptimeSeconds)
            // A service that lost the token may have lost the subscription too.
            if settings.failurePolicy == .recover { needsSubscription = settings.savesSubscription }
            return .dropDatabaseToken
        case (.refetch, .fetchZoneChanges(let zone)):
            if expired(.fetchZoneChanges(zone), failure, at: uptimeSeconds) {
                needsDatabaseFetch = true
                zonesExpired.insert(zone)
            }
            return .dropZoneToken(zone)
        case (.report, .some(let operation)): giveUp(operation, failure, at: uptimeSeconds)
        case (.recreateZone, .fetchZoneChanges(let zone)):
            noteUnconfirmed(zone)
            penalise(failure, isCounted: true, at: uptimeSeconds)
        case (.purgeZone, .fetchZoneChanges(let zone)):
            forget(zone)
            penalise(failure, isCounted: true, at: uptimeSeconds)
            return .zonePurged(zone)
        case (.slowDown, .fetchZoneChanges(let zone)):
            postpone(zone)
            penalise(failure, isCounted: true, at: uptimeSeconds)
        default: penalise(failure, isCounted: true, at: uptimeSeconds)
        }
        return nil
    }

    /// Notes that this device cancelled the operation: everything stays unchanged, without a
    /// penalty.
    public mutating func cancelled() {
        if operation == .fetchDatabaseChanges { needsDatabaseFetch = true }
        finishOperation()
    }
}

extension SyncSession {
    private mutating func classify(_ outcome: ItemOutcome, at uptimeSeconds: Double)
        -> ItemDisposition
    {
        guard let failure = outcome.failure else { return .confirmed }
        let change = outcome.change
        let recovery =
            outcome.isUpload
            ? recovery(forUpload: failure.code) : recovery(for: change.kind, failure.code)
        switch recovery {
        case .confirm: return .confirmed
        case .resolveConflict:
            return change.conflictRounds < settings.maximumConflictRounds
                ? .conflict : .setAside(failure)
        case .decideDeletion: return .deletedElsewhere
        case .setAside, .split, .report: return .setAside(failure)
        case .requeue, .awaitNetwork, .slowDown: return .pending
        case .awaitQuota:
            awaitQuota(failure, of: change.id.zoneID.ownerName, at: uptimeSeconds)
            return .pending
        case .recreateZone, .purgeZone:
            noteUnconfirmed(change.id.zoneID)
            return .pending
        case .awaitAccount:
            halt(.account(failure))
            return .pending
        case .halt:
            halt(.refused(failure))
            return .pending
        case .refetch, .retryWithinBound:
            return change.attempts + 1 < settings.maximumItemAttempts
                ? .countAttempt : .setAside(failure)
        }
    }

    /// The one of these failures after which the service wants the longer pause; nil if it has throttled neither.
    private func slower(_ failure: SyncFailure?, _ other: SyncFailure?) -> SyncFailure? {
        guard let failure, recovery(forRequest: failure.code) == .slowDown else { return other }
        guard let other else { return failure }
        return failure.retryAfterSeconds ?? 0 > other.retryAfterSeconds ?? 0 ? failure : other
    }

    /// Handles a batch in which every item failed with a transient error.
    private mutating func withoutProgress(_ failure: SyncFailure, at uptimeSeconds: Double) {
        switch recovery(forRequest: failure.code) {
        case .awaitQuota: penalise(failure, isCounted: false, at: uptimeSeconds)
        case .awaitNetwork:
            isNetworkReachable = false
            penalise(
                failure, isCounted: false, at: uptimeSeconds,
                ceilingSeconds: settings.maximumOfflineDelaySeconds)
        default: penalise(failure, isCounted: true, at: uptimeSeconds)
        }
    }

    private mutating func noteUnconfirmed(_ zone: ZoneID) {
        zonesToFetch.removeAll { $0 == zone }
        guard !unconfirmedZones.contains(zone), !zonesToCreate.contains(zone) else { return }
        unconfirmedZones.append(zone)
    }

    mutating func finishOperation() {
        // Without one, only a read of the device's own file has failed.
        lastOperation = operation ?? lastOperation
        operation = nil
    }

    /// Handles an answer to a request of which at least a part was done.
    ///
    /// - Parameter throttled: the failure with which the service throttled another part, if it did: the success does not
    ///   shorten the pause.
    private mutating func succeeded(
        at uptimeSeconds: Double, besides throttled: SyncFailure? = nil
    ) {
        if case .send = operation { isQuotaExceeded = !quotaRetries.isEmpty }
        finishOperation()
        if let throttled {
            pacer.failed(
                at: uptimeSeconds, retryAfterSeconds: throttled.retryAfterSeconds, random: random())
        } else {
            pacer.succeeded(at: uptimeSeconds)
        }
        retryCount = 0
        lastFailure = isQuotaExceeded ? lastFailure : nil
        isNetworkReachable = true
    }

    mutating func penalise(
        _ failure: SyncFailure, isCounted: Bool, at uptimeSeconds: Double,
        ceilingSeconds: Double? = nil
    ) {
        finishOperation()
        isFetchingRound = false
        lastFailure = failure
        pacer.failed(
            at: uptimeSeconds, retryAfterSeconds: failure.retryAfterSeconds,
            ceilingSeconds: ceilingSeconds, random: random())
        guard isCounted else { return }
        retryCount += 1
        // An overloaded or unavailable service names a retry-after: retry at the slowest pace,
        // without limit.
        let isAsked =
            settings.failurePolicy == .recover && recovery(forRequest: failure.code) == .slowDown
        if retryCount > settings.maximumRetries, !isAsked { halt = .retriesExhausted(failure) }
    }
}

extension SyncFailure {
    /// The failure, with the pause of another one if that is longer.
    fileprivate func pausing(atLeastAs other: SyncFailure?) -> SyncFailure {
        var failure = self
        if let seconds = other?.retryAfterSeconds, seconds > retryAfterSeconds ?? 0 {
            failure.retryAfterSeconds = seconds
        }
        return failure
    }
}
