import StratusRecords

/// The differences when the app handles failures, as with `CKSyncEngine`.
extension SyncSession {
    package func recovery(forRequest code: FrameworkErrorCode) -> RecoveryAction {
        settings.failurePolicy == .recover ? .forRequest(code) : .forReportingRequest(code)
    }

    package func recovery(for kind: PendingChange.Kind, _ code: FrameworkErrorCode)
        -> RecoveryAction
    {
        guard settings.failurePolicy == .recover else { return .forReportingItem(code) }
        return kind == .save ? .forSave(code) : .forDelete(code)
    }

    func recovery(forUpload code: FrameworkErrorCode) -> RecoveryAction {
        settings.failurePolicy == .recover ? .forUpload(code) : .forReportingItem(code)
    }

    package func recovery(forZone code: FrameworkErrorCode) -> RecoveryAction {
        settings.failurePolicy == .recover ? .forZone(code) : .forReportingItem(code)
    }

    /// Handles an expired change token. A fetch without a token cannot fail because of an expired one, so the next
    /// request follows at once; if the service reports an expiry again, that counts as a failure.
    ///
    /// - Returns: whether the session must find out what the expiry means: for a zone, the database's changes show
    ///   whether it was deleted or created again.
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

    /// Consecutive batches without any saved item.
    static let failedBatchLimit = 20

    /// The failure that slows down an app which adds failing changes again and again.
    mutating func countFailedBatch(
        _ outcomes: [ItemOutcome], _ dispositions: [ItemDisposition]
    ) -> SyncFailure? {
        guard settings.failurePolicy == .report, !outcomes.isEmpty else { return nil }
        guard !dispositions.contains(.confirmed) else {
            failedBatchCount = 0
            return nil
        }
        failedBatchCount += 1
        guard failedBatchCount % Self.failedBatchLimit == 0 else { return nil }
        return outcomes.lazy.compactMap(\.failure).first
    }

    /// Gives up an operation whose failure was reported to the app, until there is a reason to
    /// repeat it.
    mutating func giveUp(
        _ given: SyncOperation, _ failure: SyncFailure, at uptimeSeconds: Double
    ) {
        finishOperation()
        lastFailure = failure
        switch given {
        case .fetchDatabaseChanges:
            needsDatabaseFetch = false
            unconfirmedZones = []
            planFetch(after: uptimeSeconds)
        case .fetchZoneChanges(let zone):
            if failure.code == .zoneNotFound || failure.code == .userDeletedZone {
                zonesToFetch.removeAll { $0 == zone }
                // The database's changes show why the zone is missing.
                needsDatabaseFetch = true
            } else {
                // Its changes must still be fetched.
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
