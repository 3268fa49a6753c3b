import StratusRecords
import Testing

@testable import StratusSync

/// One test per row of the error table: what the session does, not what the table contains.
@Suite struct ErrorTableTests {
    @Test(arguments: [FrameworkErrorCode.networkUnavailable, .networkFailure, .serverResponseLost])
    func networkFailuresAreRetriedWithoutLimit(code: FrameworkErrorCode) {
        var session = SyncSession.sending()
        var now = 0.0
        for _ in 0..<40 {
            _ = session.perform(&now)
            #expect(session.failed(SyncFailure(code), batchItemCount: 1, at: now) == nil)
            #expect(!session.isNetworkReachable)
            #expect(session.halt == nil)
            #expect(session.delaySeconds <= session.settings.maximumOfflineDelaySeconds)
        }
        // The network is back: the next success resets the session. A batch that was lost several times, perhaps for
        // its size, is sent smaller; an unavailable network says nothing about the size.
        let bytesLimit = code == .networkUnavailable ? 1_500_000 : BatchBytes.minimum
        #expect(session.perform(&now) == .send(itemLimit: 400, bytesLimit: bytesLimit))
        #expect(session.sent([.saved("a")], at: now) == [.confirmed])
        #expect(session.isNetworkReachable)
    }

    @Test(arguments: [FrameworkErrorCode.serviceUnavailable, .requestRateLimited, .zoneBusy])
    func sessionObeysRetryAfterAndBacksOff(code: FrameworkErrorCode) {
        var session = SyncSession.sending()
        var now = 0.0
        _ = session.perform(&now)
        _ = session.failed(SyncFailure(code, retryAfterSeconds: 33), batchItemCount: 1, at: now)
        #expect(session.next(at: now) == .wait(untilUptimeSeconds: now + 33))
        #expect(session.delaySeconds == 2)
        #expect(session.retryCount == 1)
        // An outage ends by itself: the session retries at its slowest pace and keeps the last failure.
        for _ in 0..<100 {
            _ = session.perform(&now)
            _ = session.failed(SyncFailure(code), batchItemCount: 1, at: now)
        }
        #expect(session.halt == nil)
        #expect(session.delaySeconds == session.settings.maximumDelaySeconds)
        #expect(session.retryCount == 101)
        #expect(session.lastFailure == SyncFailure(code))
    }

    @Test func retryAfterSurvivesRestart() {
        var session = SyncSession.sending()
        var now = 10.0
        _ = session.perform(&now)
        _ = session.failed(
            SyncFailure(.requestRateLimited, retryAfterSeconds: 600), batchItemCount: 1, at: now)
        session.restart(at: now + 1)
        #expect(session.preview(at: now + 1) == .wait(untilUptimeSeconds: now + 600))
        session.setEnabled(false, at: now + 2)
        session.setEnabled(true, at: now + 3)
        #expect(session.preview(at: now + 3) == .wait(untilUptimeSeconds: now + 600))
        // An engine's app that fetches by hand still gets its one request.
        var byHand = session
        byHand.begin(.fetching, at: now + 4)
        #expect(byHand.next(at: now + 4, only: .fetching) == .perform(.fetchDatabaseChanges))
        // The pause after a failure without a retry-after is dropped at a restart.
        now += 600
        _ = session.perform(&now)
        _ = session.failed(SyncFailure(.internalError), at: now)
        session.restart(at: now)
        #expect(session.next(at: now) == .perform(.fetchDatabaseChanges))
    }

    @Test func limitExceededHalvesBatchThenSetsItemAside() {
        var session = SyncSession.sending()
        var now = 0.0
        var sizes: [Int] = []
        var effect: FailureEffect?
        while effect == nil {
            guard case .send(let itemLimit, _) = session.perform(&now) else { break }
            sizes.append(itemLimit)
            effect = session.failed(
                SyncFailure(.limitExceeded), batchItemCount: itemLimit, at: now)
        }
        #expect(sizes == [400, 200, 100, 50, 25, 12, 6, 3, 1])
        #expect(effect == .setAsideBatch(SyncFailure(.limitExceeded)))
        #expect(session.halt == nil)
    }

    @Test func serverRecordChangedIsConflictWithBoundedRounds() {
        let failure = SyncFailure(.serverRecordChanged)
        #expect(SyncSession.disposition(on: .failedSave("a", failure)) == .conflict)
        let weary = PendingChange(
            id: RecordID(name: "a", zoneID: .list), kind: .save, conflictRounds: 10)
        #expect(
            SyncSession.disposition(on: ItemOutcome(weary, failure: failure)) == .setAside(failure))
    }

    /// A late upload is unknown to the service, although the record may still exist.
    @Test func unknownUploadIsTriedAgainWithinBound() {
        let failure = SyncFailure(.unknownItem)
        let change = PendingChange(id: RecordID(name: "a", zoneID: .list), kind: .save)
        #expect(
            SyncSession.disposition(on: ItemOutcome(change, failure: failure)) == .deletedElsewhere)
        #expect(
            SyncSession.disposition(on: ItemOutcome(change, failure: failure, isUpload: true))
                == .countAttempt)
    }

    @Test func otherItemsOfFailedAtomicBatchStayPending() {
        let culprit = SyncFailure(.invalidArguments)
        var session = SyncSession.sending()
        var now = 0.0
        _ = session.perform(&now)
        let dispositions = session.sent(
            [
                .failedSave("a", SyncFailure(.batchRequestFailed)), .failedSave("b", culprit),
                .failedSave("c", SyncFailure(.batchRequestFailed)),
            ], at: now)
        #expect(dispositions == [.pending, .setAside(culprit), .pending])
        #expect(session.retryCount == 0)
    }

    @Test func partialFailureGivesVerdictPerItem() {
        var session = SyncSession.sending()
        var now = 0.0
        _ = session.perform(&now)
        let refused = SyncFailure(.permissionFailure)
        let dispositions = session.sent(
            [
                .saved("a"), .failedSave("b", SyncFailure(.serverRecordChanged)),
                .failedSave("c", refused), .failedSave("d", SyncFailure(.unknownItem)),
                .failedSave("e", SyncFailure(.zoneBusy)),
            ], at: now)
        #expect(
            dispositions == [
                .confirmed, .conflict, .setAside(refused), .deletedElsewhere, .pending,
            ])
    }

    @Test func unknownItemMeansDeletionOnSaveSuccessOnDelete() {
        let failure = SyncFailure(.unknownItem)
        #expect(SyncSession.disposition(on: .failedSave("a", failure)) == .deletedElsewhere)
        #expect(SyncSession.disposition(on: .failedDelete(failure)) == .confirmed)
    }

    @Test func missingZoneIsCreatedUnlessDeleted() {
        for isDeleted in [false, true] {
            var session = SyncSession.sending()
            var now = 0.0
            _ = session.perform(&now)
            let dispositions = session.sent([.failedSave("a", SyncFailure(.zoneNotFound))], at: now)
            #expect(dispositions == [.pending])
            #expect(session.perform(&now) == .fetchDatabaseChanges)
            let missing = session.databaseFetched(
                changed: [], deleted: isDeleted ? [.list] : [], at: now)
            session.setHasPendingChanges(!isDeleted)
            #expect(missing == (isDeleted ? [] : [.list]))
            #expect(
                session.perform(&now)
                    == (isDeleted ? nil : .modifyZones(create: [.list], delete: [])))
        }
    }

    @Test func userDeletedZoneIsNotFetchedAgain() {
        var session = SyncSession.fetching(.list)
        var now = 0.0
        #expect(session.perform(&now) == .fetchZoneChanges(.list))
        #expect(session.failed(SyncFailure(.userDeletedZone), at: now) == .zonePurged(.list))
        #expect(session.perform(&now) == nil)
    }

    @Test func zoneNotFoundThenChangedIsFetchedAgain() {
        var session = SyncSession.fetching(.list)
        var now = 0.0
        _ = session.perform(&now)
        _ = session.failed(SyncFailure(.zoneNotFound), at: now)
        #expect(session.perform(&now) == .fetchDatabaseChanges)
        #expect(session.databaseFetched(changed: [.list], deleted: [], at: now) == [])
        #expect(session.perform(&now) == .fetchZoneChanges(.list))
    }

    @Test func expiredZoneTokensCostNoDelay() {
        let zones = (0..<100).map { ZoneID(name: "Z\($0)") }
        var session = SyncSession.prepared(zonesToFetch: zones)
        session.needsDatabaseFetch = false
        var now = 0.0
        for zone in zones {
            #expect(session.perform(&now) == .fetchZoneChanges(zone))
            #expect(
                session.failed(SyncFailure(.changeTokenExpired), at: now) == .dropZoneToken(zone))
        }
        // One fetch of the database's changes serves all zones.
        #expect(session.perform(&now) == .fetchDatabaseChanges)
        _ = session.databaseFetched(changed: [], deleted: [], at: now)
        for zone in zones {
            #expect(session.perform(&now) == .fetchZoneChanges(zone))
            session.zonePageFetched(zone, moreComing: false, hasPendingChanges: false, at: now)
        }
        #expect(now == 0)
        #expect(session.delaySeconds == 0)
        #expect(session.retryCount == 0)
    }

    @Test func repeatedTokenExpiryHaltsSession() {
        var session = SyncSession.fetching(.list)
        var now = 0.0
        for _ in 0..<20 where session.perform(&now) != nil {
            _ = session.failed(SyncFailure(.changeTokenExpired), at: now)
        }
        #expect(session.halt == .retriesExhausted(SyncFailure(.changeTokenExpired)))
    }

    /// The fetch of the database's changes succeeds each time, and the zone's token still expires.
    @Test func expiryWithoutTokenHaltsSession() {
        var session = SyncSession.fetching(.list)
        var now = 0.0
        for _ in 0..<40 {
            guard let operation = session.perform(&now) else { break }
            if operation == .fetchDatabaseChanges {
                _ = session.databaseFetched(changed: [.list], deleted: [], at: now)
            } else {
                _ = session.failed(SyncFailure(.changeTokenExpired), at: now)
            }
        }
        #expect(session.halt == .retriesExhausted(SyncFailure(.changeTokenExpired)))
    }

    @Test func failureTellsLastIntactVersion() {
        struct Expired: FrameworkError {
            let code = FrameworkErrorCode.changeTokenExpired
            let retryAfterSeconds: Double? = nil
            let lastIntactVersion: Int64? = 7
            let deletionsAfterVersion: Int64? = 5
            let summary = "expired"
        }
        #expect(SyncFailure(Expired()).lastIntactVersion == 7)
        #expect(SyncFailure(Expired()).deletionsAfterVersion == 5)
        #expect(SyncFailure(CancellationError()).lastIntactVersion == nil)
    }

    @Test func expiredChangeTokenStartsFullFetch() {
        var zones = SyncSession.fetching(.list)
        var now = 0.0
        _ = zones.perform(&now)
        #expect(zones.failed(SyncFailure(.changeTokenExpired), at: now) == .dropZoneToken(.list))
        // Only the database's changes show whether the zone was deleted and recreated.
        #expect(zones.perform(&now) == .fetchDatabaseChanges)
        #expect(zones.databaseFetched(changed: [], deleted: [], at: now) == [])
        #expect(zones.perform(&now) == .fetchZoneChanges(.list))

        var database = SyncSession.prepared()
        now = 0
        #expect(database.perform(&now) == .fetchDatabaseChanges)
        #expect(database.failed(SyncFailure(.changeTokenExpired), at: now) == .dropDatabaseToken)
        // A service that lost the token may have lost the subscription too.
        #expect(database.perform(&now) == .saveSubscription)
        database.subscriptionSaved(at: now)
        #expect(database.perform(&now) == .fetchDatabaseChanges)
    }

    @Test func quotaExceededKeepsQueueAndFetching() {
        var session = SyncSession.sending()
        var now = 0.0
        _ = session.perform(&now)
        _ = session.failed(SyncFailure(.quotaExceeded), batchItemCount: 3, at: now)
        #expect(session.isQuotaExceeded)
        #expect(session.halt == nil)
        session.notified()
        // A refusal counts as a failure: the next request waits.
        #expect(session.preview(at: now) == .wait(untilUptimeSeconds: now + 2))
        #expect(session.perform(&now) == .fetchDatabaseChanges)
        _ = session.databaseFetched(changed: [], deleted: [], at: now)
        #expect(session.next(at: now) == .wait(untilUptimeSeconds: now + 60))
        let before = now
        #expect(session.isAtRest == false)
        now = before + 301
        session.needsDatabaseFetch = false
        session.nextFetchUptimeSeconds = nil
        #expect(session.perform(&now) == .send(itemLimit: 400, bytesLimit: 1_500_000))
        // The same for the failures of items, however often.
        for _ in 0..<20 {
            _ = session.sent([.failedSave("a", SyncFailure(.quotaExceeded))], at: now)
            now += 301
            session.needsDatabaseFetch = false
            _ = session.perform(&now)
        }
        #expect(session.halt == nil)
    }

    @Test(arguments: [FrameworkErrorCode.notAuthenticated, .accountTemporarilyUnavailable])
    func missingAccountHaltsUntilAccountChanges(code: FrameworkErrorCode) {
        var (session, now) = SyncSession.failedSend(code)
        #expect(session.next(at: now) == .halted(.account(SyncFailure(code))))
        session.accountChanged(at: now)
        #expect(session.perform(&now) == .fetchDatabaseChanges)
        #expect(session.hasPendingChanges)
    }

    @Test(arguments: [
        FrameworkErrorCode.badContainer, .badDatabase, .missingEntitlement, .permissionFailure,
        .incompatibleVersion, .managedAccountRestricted, .invalidArguments,
    ])
    func refusedRequestHaltsWithReason(code: FrameworkErrorCode) {
        var (session, now) = SyncSession.failedSend(code)
        #expect(session.next(at: now) == .halted(.refused(SyncFailure(code))))
        session.accountChanged(at: now)
        #expect(session.halt != nil)
        session.restart(at: now)
        #expect(session.perform(&now) == .fetchDatabaseChanges)
    }

    @Test(arguments: [
        FrameworkErrorCode.invalidArguments, .constraintViolation, .permissionFailure,
        .serverRejectedRequest, .assetFileNotFound, .assetFileModified,
        .assetNotAvailable, .limitExceeded,
    ])
    func refusedItemIsSetAsideAndOthersConfirmed(code: FrameworkErrorCode) {
        var session = SyncSession.sending()
        var now = 0.0
        _ = session.perform(&now)
        let dispositions = session.sent(
            [.failedSave("a", SyncFailure(code)), .saved("b")], at: now)
        #expect(dispositions == [.setAside(SyncFailure(code)), .confirmed])
        #expect(session.halt == nil)
    }

    @Test func cancelledOperationIsRepeatedWithoutDelay() {
        var session = SyncSession.sending()
        var now = 0.0
        let first = session.perform(&now)
        session.cancelled()
        #expect(session.delaySeconds == 0)
        #expect(session.perform(&now) == first)
        #expect(
            SyncSession.disposition(on: .failedSave("a", SyncFailure(.operationCancelled)))
                == .pending)
    }

    @Test(arguments: [
        FrameworkErrorCode.participantMayNeedVerification, .alreadyShared, .tooManyParticipants,
        .participantAlreadyInvited,
    ])
    func sharingErrorIsNotRetried(code: FrameworkErrorCode) {
        #expect(
            SyncSession.disposition(on: .failedSave("a", SyncFailure(code)))
                == .setAside(SyncFailure(code)))
    }

    @Test(arguments: [FrameworkErrorCode.internalError, .resultsTruncated, .referenceViolation])
    func unexplainedErrorIsRetriedUpToLimit(code: FrameworkErrorCode) {
        var change = PendingChange(id: RecordID(name: "a", zoneID: .list), kind: .save)
        let failure = SyncFailure(code)
        var dispositions: [ItemDisposition?] = []
        for attempt in 0..<5 {
            change.attempts = attempt
            dispositions.append(SyncSession.disposition(on: ItemOutcome(change, failure: failure)))
        }
        #expect(
            dispositions == [
                .countAttempt, .countAttempt, .countAttempt, .countAttempt, .setAside(failure),
            ])
        var session = SyncSession.sending()
        var now = 0.0
        for _ in 0...session.settings.maximumRetries {
            _ = session.perform(&now)
            _ = session.failed(failure, batchItemCount: 1, at: now)
        }
        #expect(session.halt == .retriesExhausted(failure))
    }

    @Test func noErrorCodeDropsPendingChanges() {
        for code in FrameworkErrorCode.allCases {
            // A save is only confirmed by a success.
            #expect(RecoveryAction.forSave(code) != .confirm)
            // The cache does not only report failures: it recovers from each of them.
            for recovery in [
                RecoveryAction.forRequest(code), .forSave(code), .forDelete(code), .forZone(code),
            ] {
                #expect(recovery != .report, "\(code)")
            }
            // After any failure of a request the session does not repeat the same operation at once.
            var session = SyncSession.sending()
            var now = 0.0
            let first = session.perform(&now)
            _ = session.failed(SyncFailure(code), batchItemCount: 2, at: now)
            #expect(session.hasPendingChanges, "\(code)")
            if code != .changeTokenExpired {
                #expect(session.next(at: now) != first.map { .perform($0) }, "\(code)")
            }
        }
    }
}

extension SyncSession {
    /// A session whose first batch failed, and the time of the failure.
    fileprivate static func failedSend(_ code: FrameworkErrorCode) -> (SyncSession, Double) {
        var session = SyncSession.sending()
        var now = 0.0
        _ = session.perform(&now)
        _ = session.failed(SyncFailure(code), batchItemCount: 1, at: now)
        return (session, now)
    }
}
