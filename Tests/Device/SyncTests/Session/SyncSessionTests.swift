import StratusRecords
import Testing

@testable import StratusSync

@Suite struct SyncSessionTests {
    @Test func firstSyncCreatesZonesThenFetchesThenSends() {
        var session = SyncSession(
            backlog: SyncBacklog(zonesToCreate: [.list], hasPendingChanges: true))
        var now = 0.0
        #expect(session.perform(&now) == .modifyZones(create: [.list], delete: []))
        let done = session.zonesModified(created: [.list: nil], deleted: [:], at: now)
        #expect(done.created == [.list])
        #expect(session.perform(&now) == .saveSubscription)
        session.subscriptionSaved(at: now)
        #expect(session.perform(&now) == .fetchDatabaseChanges)
        _ = session.databaseFetched(changed: [.list, .other], deleted: [], at: now)
        #expect(session.perform(&now) == .fetchZoneChanges(.list))
        session.zonePageFetched(.list, moreComing: true, hasPendingChanges: true, at: now)
        #expect(session.next(at: now) == .perform(.fetchZoneChanges(.list)))
        session.zonePageFetched(.list, moreComing: false, hasPendingChanges: true, at: now)
        #expect(session.next(at: now) == .perform(.fetchZoneChanges(.other)))
        session.zonePageFetched(.other, moreComing: false, hasPendingChanges: true, at: now)
        #expect(session.perform(&now) == .send(itemLimit: 400, bytesLimit: 1_500_000))
        #expect(session.sent([.saved("a")], at: now) == [.confirmed])
        session.setHasPendingChanges(false)
        #expect(session.isAtRest)

        // A restarted session does not repeat what its stored backlog says is done.
        var later = SyncSession(backlog: SyncBacklog(isSubscriptionSaved: true))
        #expect(later.perform(&now) == .fetchDatabaseChanges)
    }

    @Test func onlyConfiguredZonesAreFetched() {
        var settings = SyncSettings()
        settings.zones = .only([.list])
        var session = SyncSession.prepared(settings: settings)
        var now = 0.0
        _ = session.perform(&now)
        _ = session.databaseFetched(changed: [.other, .list, ZoneID()], deleted: [], at: now)
        #expect(session.zonesToFetch == [.list])
    }

    @Test func defaultZoneIsNeverCreatedOrFetched() {
        var session = SyncSession.sending()
        session.zoneWanted(ZoneID())
        session.notified(of: ZoneID())
        #expect(session.zonesToCreate.isEmpty)
        #expect(session.zonesToFetch.isEmpty)
    }

    @Test func localChangeIsDebouncedBeforeSend() {
        var session = SyncSession.prepared()
        var now = 10.0
        _ = session.perform(&now)
        _ = session.databaseFetched(changed: [], deleted: [], at: now)
        now = 50
        session.localChange(at: now)
        session.localChange(at: now + 0.05)
        #expect(session.next(at: now) == .wait(untilUptimeSeconds: 50.02))
        #expect(session.next(at: 50.02) == .perform(.send(itemLimit: 400, bytesLimit: 1_500_000)))
        // The next change is sent right after it: only the debounce delays it.
        _ = session.sent([.saved("a")], at: 50.03)
        session.setHasPendingChanges(false)
        session.localChange(at: 50.04)
        #expect(session.next(at: 50.04) == .wait(untilUptimeSeconds: 50.06))
        #expect(session.next(at: 50.06) == .perform(.send(itemLimit: 400, bytesLimit: 1_500_000)))
    }

    /// A hint causes one round of fetches, whatever the pace is.
    @Test(arguments: [SyncSettings(), .iCloud])
    func zoneIsFetchedRightAfterDatabase(_ settings: SyncSettings) {
        var session = SyncSession.prepared(settings: settings)
        var now = 10.0
        _ = session.perform(&now)
        _ = session.databaseFetched(changed: [], deleted: [], at: now)
        now += 30
        session.notified()
        #expect(session.next(at: now) == .perform(.fetchDatabaseChanges))
        now += 0.001
        _ = session.databaseFetched(changed: [.list], deleted: [], at: now)
        #expect(session.next(at: now) == .perform(.fetchZoneChanges(.list)))
    }

    /// In the first sync of a new device no operation waits for a pause.
    @Test func firstSyncHasNoPauses() {
        var session = SyncSession(
            backlog: SyncBacklog(zonesToCreate: [.list], hasPendingChanges: true))
        session.syncNow(at: 0)
        #expect(session.next(at: 0) == .perform(.modifyZones(create: [.list], delete: [])))
        _ = session.zonesModified(created: [.list: nil], deleted: [:], at: 0)
        #expect(session.next(at: 0) == .perform(.saveSubscription))
        session.subscriptionSaved(at: 0)
        #expect(session.next(at: 0) == .perform(.fetchDatabaseChanges))
        _ = session.databaseFetched(changed: [.list], deleted: [], at: 0)
        #expect(session.next(at: 0) == .perform(.fetchZoneChanges(.list)))
        session.zonePageFetched(.list, moreComing: false, hasPendingChanges: true, at: 0)
        #expect(
            session.next(at: 0) == .perform(.send(itemLimit: 400, bytesLimit: 1_500_000)))
    }

    /// Otherwise the zone's first fetch could not distinguish a save that never arrived from one whose record was
    /// deleted since.
    @Test func newZoneIsFetchedBeforeTheFirstSend() {
        var session = SyncSession.prepared(hasPendingChanges: true)
        var now = 0.0
        #expect(session.perform(&now) == .fetchDatabaseChanges)
        _ = session.databaseFetched(changed: [], deleted: [], at: now)
        session.zoneWanted(.list)
        #expect(session.perform(&now) == .modifyZones(create: [.list], delete: []))
        _ = session.zonesModified(created: [.list: nil], deleted: [:], at: now)
        #expect(session.perform(&now) == .fetchZoneChanges(.list))
        session.zonePageFetched(.list, moreComing: false, hasPendingChanges: true, at: now)
        #expect(session.perform(&now) == .send(itemLimit: 400, bytesLimit: 1_500_000))
    }

    /// A zone's own changes do not show that it was deleted and recreated.
    @Test func databaseIsFetchedBeforeWaitingZones() {
        var session = SyncSession.prepared(zonesToFetch: [.list])
        var now = 0.0
        #expect(session.perform(&now) == .fetchDatabaseChanges)
        _ = session.databaseFetched(changed: [], deleted: [], at: now)
        #expect(session.perform(&now) == .fetchZoneChanges(.list))
        // A notification causes no database fetch between the pages of a zone.
        session.notified()
        session.zonePageFetched(.list, moreComing: true, hasPendingChanges: false, at: now)
        #expect(session.perform(&now) == .fetchZoneChanges(.list))
        session.zonePageFetched(.list, moreComing: false, hasPendingChanges: false, at: now)
        #expect(session.perform(&now) == .fetchDatabaseChanges)
    }

    @Test func syncNowSkipsDebounce() {
        var session = SyncSession.sending()
        session.localChange(at: 5)
        session.syncNow(at: 5)
        #expect(session.next(at: 100) == .perform(.fetchDatabaseChanges))
    }

    @Test func failedFetchIsRetried() {
        var session = SyncSession.prepared()
        var now = 0.0
        _ = session.perform(&now)
        _ = session.failed(SyncFailure(.networkFailure), at: now)
        #expect(session.perform(&now) == .fetchDatabaseChanges)
        session.cancelled()
        #expect(session.perform(&now) == .fetchDatabaseChanges)
    }

    @Test func sessionFetchesAtIntervalWithoutNotifications() {
        var settings = SyncSettings()
        settings.fetchIntervalSeconds = 30
        var session = SyncSession.prepared(settings: settings)
        _ = session.next(at: 0)
        _ = session.databaseFetched(changed: [], deleted: [], at: 1)
        #expect(session.next(at: 5) == .rest(untilUptimeSeconds: 31))
        #expect(session.next(at: 31) == .perform(.fetchDatabaseChanges))
    }

    @Test func openChannelEndsIntervalFetches() {
        var session = SyncSession.prepared()
        _ = session.next(at: 0)
        _ = session.databaseFetched(changed: [], deleted: [], at: 1)
        #expect(session.next(at: 5) == .rest(untilUptimeSeconds: 61))
        session.channelOpened()
        // Changes from before the channel opened may have been missed.
        #expect(session.next(at: 6) == .perform(.fetchDatabaseChanges))
        _ = session.databaseFetched(changed: [], deleted: [], at: 7)
        // The next wake-up is the check of the subscription, which is no fetch.
        #expect(session.next(at: 800) == .rest(untilUptimeSeconds: 901))
        session.channelClosed(at: 800)
        #expect(session.next(at: 801) == .rest(untilUptimeSeconds: 860))
    }

    /// The deletion of the subscription causes no notification: the session checks for it from time to time.
    @Test func deletedSubscriptionIsSavedAgainWhileRunning() {
        var session = SyncSession.prepared()
        _ = session.next(at: 0)
        _ = session.databaseFetched(changed: [], deleted: [], at: 1)
        session.channelOpened()
        _ = session.next(at: 2)
        _ = session.databaseFetched(changed: [], deleted: [], at: 3)
        for (start, isMissing) in [(901.0, false), (1_801, true), (2_701, false), (3_601, false)] {
            #expect(session.next(at: start - 1) == .rest(untilUptimeSeconds: start))
            #expect(session.next(at: start) == .perform(.saveSubscription))
            guard isMissing else {
                session.subscriptionFound(at: start)
                continue
            }
            session.subscriptionSaved(at: start)
            // There were no notifications of changes while the subscription was missing.
            #expect(session.next(at: start) == .perform(.fetchDatabaseChanges))
            _ = session.databaseFetched(changed: [], deleted: [], at: start + 1)
        }
    }

    /// When the channel closes before the check of the subscription ends, interval fetches begin again.
    @Test func subscriptionCheckKeepsIntervalFetchesOfAClosedChannel() {
        var session = SyncSession.prepared()
        session.channelOpened()
        _ = session.next(at: 0)
        _ = session.databaseFetched(changed: [], deleted: [], at: 1)
        #expect(session.next(at: 901) == .perform(.saveSubscription))
        session.channelClosed(at: 902)
        session.subscriptionFound(at: 903)
        #expect(session.next(at: 904) == .rest(untilUptimeSeconds: 963))
        #expect(session.next(at: 963) == .perform(.fetchDatabaseChanges))
    }

    /// A channel brings no notifications to a device that has no subscription.
    @Test func channelWithoutOwnSubscriptionKeepsIntervalFetches() {
        var settings = SyncSettings()
        settings.savesSubscription = false
        var session = SyncSession.prepared(settings: settings)
        session.channelOpened()
        _ = session.next(at: 0)
        _ = session.databaseFetched(changed: [], deleted: [], at: 1)
        #expect(session.next(at: 5) == .rest(untilUptimeSeconds: 61))
    }

    @Test func reachableNetworkEndsBackoff() {
        var session = SyncSession.sending()
        var now = 0.0
        for _ in 0..<6 {
            _ = session.perform(&now)
            _ = session.failed(SyncFailure(.networkUnavailable), batchItemCount: 1, at: now)
        }
        session.networkBecameReachable(at: now)
        #expect(session.next(at: now) == .perform(.fetchDatabaseChanges))
    }

    /// A notification may have been sent into the former network.
    @Test func networkChangeWhileListeningFetchesChanges() {
        var session = SyncSession.prepared()
        session.channelOpened()
        _ = session.next(at: 0)
        _ = session.databaseFetched(changed: [], deleted: [], at: 1)
        session.networkBecameReachable(at: 100)
        #expect(session.next(at: 100) == .perform(.fetchDatabaseChanges))
    }

    @Test func disabledSessionRestsAndKeepsPendingChanges() {
        var session = SyncSession.sending()
        session.setEnabled(false, at: 0)
        session.localChange(at: 1)
        #expect(session.next(at: 100) == .rest(untilUptimeSeconds: nil))
        session.setEnabled(true, at: 101)
        #expect(session.next(at: 101) == .perform(.fetchDatabaseChanges))
        #expect(session.hasPendingChanges)
    }

    @Test func unwantedZoneIsDeletedAndNotFetched() {
        var session = SyncSession.prepared(zonesToFetch: [.list])
        session.zoneUnwanted(.list)
        var now = 0.0
        #expect(session.perform(&now) == .modifyZones(create: [], delete: [.list]))
        // Another device deleted the zone first: that is success too.
        let done = session.zonesModified(
            created: [:], deleted: [.list: SyncFailure(.zoneNotFound)], at: now)
        #expect(done.deleted == [.list])
        #expect(session.perform(&now) == .fetchDatabaseChanges)
    }

    @Test func refusedZoneCreationIsSetAside() {
        var session = SyncSession(backlog: SyncBacklog(zonesToCreate: [.list]))
        var now = 0.0
        _ = session.perform(&now)
        let refusal = SyncFailure(.invalidArguments)
        let done = session.zonesModified(created: [.list: refusal], deleted: [:], at: now)
        #expect(done.refused == [.list: refusal])
        #expect(session.halt == nil)
        #expect(session.perform(&now) == .saveSubscription)
    }

    @Test func repeatedlyFailingZoneCreationIsSetAside() {
        var session = SyncSession(backlog: SyncBacklog(zonesToCreate: [.list]))
        var now = 0.0
        var refused: [ZoneID: SyncFailure] = [:]
        for _ in 0..<session.settings.maximumItemAttempts {
            #expect(refused.isEmpty)
            _ = session.perform(&now)
            refused =
                session.zonesModified(
                    created: [.list: SyncFailure(.internalError)], deleted: [:], at: now
                ).refused
        }
        #expect(refused == [.list: SyncFailure(.internalError)])
        #expect(session.halt == nil)
    }

    /// They are fetched in that order; the order of a dictionary would differ from run to run.
    @Test func createdZonesAreInOneOrder() {
        let zones = (0..<8).map { ZoneID(name: "Z\($0)") }
        var session = SyncSession(backlog: SyncBacklog(zonesToCreate: zones))
        var now = 0.0
        _ = session.perform(&now)
        let created = Dictionary(uniqueKeysWithValues: zones.map { ($0, nil as SyncFailure?) })
        let done = session.zonesModified(created: created, deleted: [:], at: now)
        #expect(done.created == zones)
    }

    @Test func zonesAreModifiedInBatchesOfFourHundred() {
        let zones = (0..<500).map { ZoneID(name: "Z\($0)") }
        var session = SyncSession(
            backlog: SyncBacklog(zonesToCreate: zones, zonesToDelete: [.list]))
        var now = 0.0
        #expect(
            session.perform(&now) == .modifyZones(create: Array(zones.prefix(400)), delete: []))
        // Still too many: each refusal halves the batch, and nothing is lost or halted.
        for count in [200, 100, 50, 25, 12, 6, 3, 1] {
            _ = session.failed(SyncFailure(.limitExceeded), at: now)
            #expect(
                session.perform(&now)
                    == .modifyZones(create: Array(zones.prefix(count)), delete: []))
        }
        #expect(session.halt == nil)
        _ = session.zonesModified(created: [zones[0]: nil], deleted: [:], at: now)
        #expect(session.perform(&now) == .modifyZones(create: [zones[1]], delete: []))
    }

    @Test func lostUploadsShrinkBatchBytesThenGrow() {
        var session = SyncSession.sending()
        var now = 0.0
        func bytes(_ operation: SyncOperation?) -> Int? {
            if case .send(_, let bytesLimit) = operation { bytesLimit } else { nil }
        }
        for expected in [1_500_000, 1_500_000, 750_000, 750_000, 375_000] {
            #expect(bytes(session.perform(&now)) == expected)
            _ = session.failed(SyncFailure(.networkFailure), batchItemCount: 400, at: now)
        }
        for _ in 0..<BatchBytes.successesBeforeGrowth {
            #expect(bytes(session.perform(&now)) == 375_000)
            _ = session.sent([.saved("a")], at: now)
        }
        #expect(bytes(session.perform(&now)) == 750_000)
    }

    @Test func exceededQuotaWithholdsSavesOfOwner() {
        var session = SyncSession.sending()
        session.nextFetchUptimeSeconds = nil
        var now = 0.0
        _ = session.perform(&now)
        _ = session.failed(
            SyncFailure(.quotaExceeded), batchItemCount: 3, batchOwners: ["_full"], at: now)
        #expect(session.withheldOwners == ["_full"])
        // No pending change can be sent now.
        session.setHasPendingChanges(false)
        #expect(!session.isAtRest)
        #expect(session.next(at: now) == .rest(untilUptimeSeconds: now + 300))
        // A deletion freed space there: saves that wait for storage are tried at once.
        session.setHasPendingChanges(true)
        _ = session.perform(&now)
        let id = RecordID(name: "a", zoneID: ZoneID(name: "List", ownerName: "_full"))
        _ = session.sent([ItemOutcome(PendingChange(id: id, kind: .delete))], at: now)
        session.setHasPendingChanges(false)
        #expect(session.perform(&now) == .send(itemLimit: 400, bytesLimit: 1_500_000))
        #expect(session.withheldOwners.isEmpty)
    }

    @Test func otherAccountHaltsUntilAccountChanges() {
        var session = SyncSession.sending()
        session.halt(.otherAccount)
        #expect(session.next(at: 0) == .halted(.otherAccount))
        session.accountChanged(at: 1)
        #expect(session.next(at: 1) == .perform(.fetchDatabaseChanges))
    }

    /// The device's own file could not be read between two operations.
    @Test func failedReadKeepsTheLastOperation() {
        var session = SyncSession.sending()
        var now = 0.0
        let operation = session.perform(&now)
        _ = session.sent([.saved("a")], at: now)
        session.storageFailed(SyncFailure(.internalError), at: now)
        #expect(operation != nil)
        #expect(session.lastOperation == operation)
    }

    @Test func emptyBatchLeavesSessionAtRest() {
        var session = SyncSession.sending()
        var now = 0.0
        _ = session.perform(&now)
        session.nothingToSend()
        #expect(session.isAtRest)
    }
}
