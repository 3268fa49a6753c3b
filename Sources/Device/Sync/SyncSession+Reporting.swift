import StratusRecords

/// What differs where the app deals with failures, as `CKSyncEngine` has it.
extension SyncSession {
    package func recovery(forRequest code: FrameworkErrorCode) -> RecoveryAction {
        settings.failurePolicy == .heal ? .forRequest(code) : .forReportingRequest(code)
    }

    package func recovery(for kind: PendingChange.Kind, _ code: FrameworkErrorCode)
        -> RecoveryAction
    {
        guard settings.failurePolicy == .heal else { return .forReportingItem(code) }
        return kind == .save ? .forSave(code) : .forDelete(code)
    }

    package func recovery(forZone code: FrameworkErrorCode) -> RecoveryAction {
        settings.failurePolicy == .heal ? .forZone(code) : .forReportingItem(code)
    }

    /// A change token is no more. Whoever asks anew without one cannot be told so again, so the next
    /// request follows at once, and only a service that does say so again is a failing one.
    ///
    /// - Returns: whether it is this device's to find out what that means.
    mutating func expired(
        _ fetch: SyncOperation, _ failure: SyncFailure, at uptimeSeconds: Double
    ) -> Bool {
        if settings.failurePolicy == .report {
            finishOperation()
            return false
        }
        if expiredFetches.insert(fetch).inserted {
            finishOperation()
            return true
        }
        penalise(failure, isCounted: true, at: uptimeSeconds)
        return false
    }

    /// Batches in a row of which nothing was saved.
    static let fruitlessBatchLimit = 20

    /// The failure that slows an app down which adds what fails again and again.
    mutating func fruitless(
        _ outcomes: [ItemOutcome], _ verdicts: [ItemVerdict]
    ) -> SyncFailure? {
        guard settings.failurePolicy == .report, !outcomes.isEmpty else { return nil }
        guard !verdicts.contains(.confirmed) else {
            fruitlessBatchCount = 0
            return nil
        }
        fruitlessBatchCount += 1
        guard fruitlessBatchCount % Self.fruitlessBatchLimit == 0 else { return nil }
        return outcomes.lazy.compactMap(\.failure).first
    }

    /// The app was told of a failure: the operation is not repeated until there is a reason to.
    mutating func giveUp(
        _ given: SyncOperation, _ failure: SyncFailure, at uptimeSeconds: Double
    ) {
        finishOperation()
        lastFailure = failure
        switch given {
        case .fetchDatabaseChanges:
            needsDatabaseFetch = false
            zonesInDoubt = []
            planFetch(after: uptimeSeconds)
        case .fetchZoneChanges(let zone):
            if failure.code == .zoneNotFound || failure.code == .userDeletedZone {
                zonesToFetch.removeAll { $0 == zone }
                // The database's changes tell why a zone is gone.
                needsDatabaseFetch = true
            } else {
                // Its changes are still to be fetched.
                zonesGivenUp.insert(zone)
            }
        case .saveSubscription: needsSubscription = false
        case .send: hasPendingChanges = false
        case .modifyZones:
            zonesToCreate = []
            zonesToDelete = []
        }
    }
}
