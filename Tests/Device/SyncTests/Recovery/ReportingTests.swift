import StratusRecords
import Testing

@testable import StratusSync

/// The session of an engine, where the app handles failures.
@Suite struct ReportingTests {
    private var settings: SyncSettings {
        var settings = SyncSettings()
        settings.itemsPerBatch = 250
        settings.minimumDelaySeconds = 0
        settings.maximumRetries = .max
        settings.maximumItemAttempts = .max
        settings.failurePolicy = .report
        settings.fetchIntervalSeconds = nil
        return settings
    }

    @Test func everyCodeIsRetriedOrReported() {
        let retried: Set<FrameworkErrorCode> = [
            .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure,
            .networkUnavailable, .requestRateLimited, .serviceUnavailable, .zoneBusy,
            .serverResponseLost, .operationCancelled,
        ]
        for code in FrameworkErrorCode.allCases {
            var session = SyncSession.sending(settings: settings)
            var now = 0.0
            _ = session.perform(&now)
            let disposition = session.sent([.failedSave("a", SyncFailure(code))], at: now).first
            if retried.contains(code) {
                #expect(disposition == .pending, "\(code)")
            } else {
                #expect(disposition == .setAside(SyncFailure(code)), "\(code)")
            }
            #expect(session.halt == nil, "\(code)")
        }
    }

    @Test func permanentFetchFailureWaitsForNotification() {
        var session = SyncSession.prepared(settings: settings, zonesToFetch: [.list])
        #expect(session.next(at: 0, only: .fetching) == .perform(.fetchDatabaseChanges))
        #expect(session.failed(SyncFailure(.permissionFailure), at: 0) == nil)
        #expect(session.next(at: 0, only: .fetching) == .perform(.fetchZoneChanges(.list)))
        #expect(session.failed(SyncFailure(.permissionFailure), at: 0) == nil)
        #expect(session.next(at: 0) == .rest(untilUptimeSeconds: nil))
        // The zone is still to be fetched.
        #expect(session.zonesToFetch == [.list])
        session.notified(of: .list)
        #expect(session.next(at: 0) == .perform(.fetchZoneChanges(.list)))
        #expect(session.failed(SyncFailure(.permissionFailure), at: 0) == nil)
        session.begin(.fetching, at: 0)
        #expect(session.next(at: 0, only: .fetching) == .perform(.fetchDatabaseChanges))
        _ = session.databaseFetched(changed: [], deleted: [], at: 0)
        #expect(session.next(at: 0, only: .fetching) == .perform(.fetchZoneChanges(.list)))
        // After a missing zone the session fetches the database's changes at once.
        _ = session.failed(SyncFailure(.zoneNotFound), at: 0)
        #expect(session.next(at: 0) == .perform(.fetchDatabaseChanges))
    }

    /// A device that is offline retries ever more slowly, at last every 30 seconds.
    @Test func retriedErrorsBackOffToCeiling() {
        for (code, ceiling) in [
            (FrameworkErrorCode.networkFailure, 30.0), (.serviceUnavailable, 300), (.zoneBusy, 300),
            (.notAuthenticated, 300), (.operationCancelled, 300),
        ] {
            var session = SyncSession.sending(settings: settings)
            var now = 0.0
            var last = 0.0
            for _ in 0..<40 {
                _ = session.perform(&now)
                _ = session.sent([.failedSave("a", SyncFailure(code))], at: now)
                #expect(session.halt == nil && session.delaySeconds >= last, "\(code)")
                last = session.delaySeconds
            }
            #expect(last == ceiling, "\(code)")
        }
    }

    @Test func expiredTokenCostsNoDelay() {
        var session = SyncSession.prepared(settings: settings, zonesToFetch: [.list])
        _ = session.next(at: 0, only: .fetching)
        #expect(session.failed(SyncFailure(.changeTokenExpired), at: 0) == .dropDatabaseToken)
        #expect(session.next(at: 0, only: .fetching) == .perform(.fetchDatabaseChanges))
        _ = session.databaseFetched(changed: [], deleted: [], at: 0)
        _ = session.next(at: 0, only: .fetching)
        #expect(session.failed(SyncFailure(.changeTokenExpired), at: 0) == .dropZoneToken(.list))
        #expect(session.next(at: 0, only: .fetching) == .perform(.fetchZoneChanges(.list)))
    }

    @Test func manualCallRunsOneActivityOnly() {
        var session = SyncSession.prepared(
            settings: settings, hasPendingChanges: true, zonesToFetch: [.list])
        session.setZonesToModify(create: [.other], delete: [])
        let send = SyncOperation.send(itemLimit: 250, bytesLimit: 1_500_000)
        #expect(session.preview(at: 0, only: .fetching) == .perform(.fetchDatabaseChanges))
        #expect(
            session.next(at: 0, only: .sending)
                == .perform(.modifyZones(create: [.other], delete: [])))
        _ = session.zonesModified(created: [.other: nil], deleted: [:], at: 0)
        #expect(session.next(at: 0, only: .sending) == .perform(send))
        _ = session.sent([.saved("a")], at: 0)
        #expect(session.next(at: 0, only: .sending) == .perform(send))
        session.nothingToSend()
        #expect(session.next(at: 0, only: .sending) == .rest(untilUptimeSeconds: nil))
        #expect(session.next(at: 0, only: .fetching) == .perform(.fetchDatabaseChanges))
    }

    @Test func fetchScopeLimitsAndOrdersZones() {
        let third = ZoneID(name: "Third")
        var session = SyncSession.prepared(
            settings: settings, zonesToFetch: [.list, .other, third])
        session.needsDatabaseFetch = false
        session.fetchScope = FetchScope(firstZones: [third, .list]) { $0 != .list }
        for zone in [third, .other] {
            #expect(session.next(at: 0, only: .fetching) == .perform(.fetchZoneChanges(zone)))
            session.zonePageFetched(zone, moreComing: false, hasPendingChanges: false, at: 0)
        }
        #expect(session.next(at: 0) == .rest(untilUptimeSeconds: nil))
        session.fetchScope = FetchScope()
        #expect(session.next(at: 0) == .perform(.fetchZoneChanges(.list)))
    }

    @Test func permanentZoneFailureDoesNotBlockOthers() {
        var session = SyncSession.prepared(settings: settings)
        session.setZonesToModify(create: [.list, .other], delete: [])
        _ = session.next(at: 0, only: .sending)
        let done = session.zonesModified(
            created: [
                .list: SyncFailure(.permissionFailure),
                .other: SyncFailure(.zoneBusy, retryAfterSeconds: 5),
            ], deleted: [:], at: 0)
        #expect(done.created.isEmpty && session.zonesToCreate == [.other])
        _ = session.next(at: 5, only: .sending)
        _ = session.zonesModified(
            created: [.other: SyncFailure(.zoneBusy, retryAfterSeconds: 5)], deleted: [:], at: 5)
        #expect(session.next(at: 5, only: .sending) == .wait(untilUptimeSeconds: 10))
    }

    @Test func retryAfterOfOneZoneIsObeyed() {
        var session = SyncSession.prepared(settings: settings)
        session.setZonesToModify(create: [.list, .other], delete: [])
        _ = session.next(at: 0, only: .sending)
        let done = session.zonesModified(
            created: [.list: nil, .other: SyncFailure(.zoneBusy, retryAfterSeconds: 5)],
            deleted: [:], at: 0)
        #expect(done.created == [.list])
        #expect(session.next(at: 0, only: .sending) == .wait(untilUptimeSeconds: 5))
        #expect(
            session.next(at: 5, only: .sending)
                == .perform(.modifyZones(create: [.other], delete: [])))
    }

    /// The first failure of the batch asks for no pause, and the second one for a shorter one than the third.
    @Test(arguments: [false, true]) func longestRetryAfterOfABatchIsObeyed(hasSaved: Bool) {
        var session = SyncSession.sending(settings: settings)
        _ = session.next(at: 0)
        var outcomes: [ItemOutcome] = [
            .failedSave("a", SyncFailure(.networkFailure)),
            .failedSave("b", SyncFailure(.zoneBusy, retryAfterSeconds: 5)),
            .failedSave("c", SyncFailure(.zoneBusy, retryAfterSeconds: 30)),
        ]
        if hasSaved { outcomes.append(.saved("d")) }
        let dispositions = session.sent(outcomes, at: 0)
        #expect(dispositions.filter { $0 == .pending }.count == 3)
        #expect(session.next(at: 0) == .wait(untilUptimeSeconds: 30))
    }

    /// The service has answered, and has taken something.
    @Test(arguments: [false, true]) func partlyThrottledRequestEndsAnOutage(isOfZones: Bool) {
        var session = SyncSession.sending(settings: settings)
        if isOfZones { session.setZonesToModify(create: [.list, .other], delete: []) }
        var now = 0.0
        for code in [FrameworkErrorCode.serviceUnavailable, .networkUnavailable] {
            _ = session.perform(&now)
            _ = session.failed(SyncFailure(code), batchItemCount: 2, at: now)
        }
        #expect(session.retryCount == 1 && !session.isNetworkReachable)
        _ = session.perform(&now)
        let busy = SyncFailure(.zoneBusy, retryAfterSeconds: 500)
        if isOfZones {
            _ = session.zonesModified(created: [.list: nil, .other: busy], deleted: [:], at: now)
        } else {
            _ = session.sent([.saved("a"), .failedSave("b", busy)], at: now)
        }
        #expect(session.isNetworkReachable)
        #expect(session.retryCount == 0)
        #expect(session.lastFailure == nil)
        #expect(session.next(at: now, only: .sending) == .wait(untilUptimeSeconds: now + 500))
    }

    /// Also by the batch that slows down an app whose changes fail again and again.
    @Test func retryAfterOfOneRecordIsObeyedAmongOtherFailures() {
        var session = SyncSession.sending(settings: settings)
        var now = 0.0
        for _ in 1...SyncSession.failedBatchLimit {
            _ = session.perform(&now)
            _ = session.sent(
                [
                    .failedSave("a", SyncFailure(.permissionFailure)),
                    .failedSave("b", SyncFailure(.zoneBusy, retryAfterSeconds: 500)),
                ], at: now)
            #expect(session.next(at: now) == .wait(untilUptimeSeconds: now + 500))
        }
    }

    @Test func limitExceededHalvesBatchWithoutDelay() {
        var session = SyncSession.sending(settings: settings)
        #expect(
            session.next(at: 0) == .perform(.send(itemLimit: 250, bytesLimit: 1_500_000)))
        #expect(session.failed(SyncFailure(.limitExceeded), batchItemCount: 8, at: 0) == nil)
        #expect(session.next(at: 0) == .perform(.send(itemLimit: 4, bytesLimit: 1_500_000)))
    }

    @Test func repeatedItemFailuresAreSlowedDown() {
        var session = SyncSession.sending(settings: settings)
        for batch in 1...40 {
            guard case .perform = session.next(at: 0) else {
                #expect(batch == 21)
                return
            }
            _ = session.sent([.failedSave("a", SyncFailure(.permissionFailure))], at: 0)
        }
        Issue.record("Never slowed down.")
    }
}
