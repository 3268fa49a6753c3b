import StratusRecords
import Testing

@testable import StratusSync

/// Rounds of fetching, the database and its zones, and what is sent between them.
@Suite struct FetchRoundTests {
    @Test func fetchingAndSendingAlternate() {
        var session = SyncSession.prepared(hasPendingChanges: true)
        var now = 0.0
        var turns: [String] = []
        for _ in 0..<8 {
            session.notified()
            switch session.perform(&now) {
            case .fetchDatabaseChanges:
                turns.append("fetch")
                _ = session.databaseFetched(changed: [.list], deleted: [], at: now)
            case .fetchZoneChanges(let zone):
                turns.append("zone")
                session.zonePageFetched(zone, moreComing: false, hasPendingChanges: true, at: now)
            case .send:
                turns.append("send")
                _ = session.sent([.saved("a")], at: now)
            default: turns.append("?")
            }
        }
        #expect(turns == ["fetch", "zone", "send", "fetch", "zone", "send", "fetch", "zone"])
    }

    @Test func notificationDuringFetchCausesAnotherFetch() {
        var session = SyncSession.prepared()
        var now = 0.0
        #expect(session.perform(&now) == .fetchDatabaseChanges)
        session.notified()
        _ = session.databaseFetched(changed: [], deleted: [], at: now)
        #expect(session.perform(&now) == .fetchDatabaseChanges)
        _ = session.databaseFetched(changed: [], deleted: [], at: now)
        session.notified(of: .list)
        #expect(session.perform(&now) == .fetchZoneChanges(.list))
        session.notified(of: .list)
        session.zonePageFetched(.list, moreComing: false, hasPendingChanges: false, at: now)
        #expect(session.perform(&now) == .fetchZoneChanges(.list))
    }

    /// Other devices write during every fetch of the zone.
    ///
    /// - Parameter isHeld: Whether another zone waits that must not be fetched now.
    @Test(arguments: [false, true]) func hintsDuringEveryFetchDoNotKeepChangesFromBeingSent(
        isHeld: Bool
    ) {
        var session = SyncSession.prepared(hasPendingChanges: true)
        var now = 0.0
        if isHeld {
            session.notified(of: .other)
            session.fetchScope = FetchScope { $0 == .list }
        }
        var operations: [String] = []
        for _ in 0..<12 {
            switch session.perform(&now) {
            case .fetchDatabaseChanges:
                operations.append("fetch")
                if isHeld { session.notified() }
                _ = session.databaseFetched(changed: [.list], deleted: [], at: now)
            case .fetchZoneChanges(let zone):
                operations.append("zone")
                session.notified(of: zone)
                session.zonePageFetched(zone, moreComing: false, hasPendingChanges: true, at: now)
            case .send:
                operations.append("send")
                _ = session.sent([.saved("a")], at: now)
            default: operations.append("?")
            }
        }
        #expect(operations.count { $0 == "send" } >= 3, "\(operations)")
        #expect(operations.count { $0 == "zone" } >= 3, "\(operations)")
    }

    /// Other devices write during every fetch of the zone that comes first.
    @Test func hintsOfThePreferredZoneDoNotKeepOthersFromBeingFetched() {
        var session = SyncSession.prepared(zonesToFetch: [.list, .other])
        session.needsDatabaseFetch = false
        session.fetchScope = FetchScope(firstZones: [.list])
        var now = 0.0
        var zones: [ZoneID] = []
        for _ in 0..<4 {
            guard case .fetchZoneChanges(let zone) = session.perform(&now) else { break }
            zones.append(zone)
            if zone == .list { session.notified(of: zone) }
            session.zonePageFetched(zone, moreComing: false, hasPendingChanges: false, at: now)
        }
        #expect(zones == [.list, .other, .list, .list])
    }

    /// Its zone stays busy, such as while many records are moved out of a share.
    @Test(arguments: [FailurePolicy.recover, .report])
    func busyZoneDoesNotKeepOthersFromBeingFetched(policy: FailurePolicy) {
        var settings = SyncSettings()
        settings.failurePolicy = policy
        var session = SyncSession.prepared(settings: settings, zonesToFetch: [.list, .other])
        session.needsDatabaseFetch = false
        var now = 0.0
        var zones: [ZoneID] = []
        for _ in 0..<4 {
            guard case .fetchZoneChanges(let zone) = session.perform(&now) else { break }
            zones.append(zone)
            if zone == .list {
                _ = session.failed(SyncFailure(.zoneBusy, retryAfterSeconds: 2), at: now)
            } else {
                session.zonePageFetched(
                    zone, moreComing: false, hasPendingChanges: false, at: now)
            }
        }
        #expect(zones == [.list, .other, .list, .list])
        #expect(session.zonesToFetch == [.list])
    }
}
