import GRDB
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Crashes, expired tokens and lost zones lead to the same result at every step.
@Suite(.timeLimit(.minutes(20))) struct RecoveryTests {
    /// A sequence of edits and syncs that is cut at every step, and must always have the same result.
    private func story(_ cloud: RealService, _ phone: Device, sync: () async throws -> Void)
        async throws
    {
        let tablet = try Device(
            cloud, time: TestTime(skewMilliseconds: -500_000), settings: .smallBatches)
        for name in ["a", "b", "c", "d", "e"] { try tablet.save(name, "tablet") }
        try await tablet.sync()
        try phone.save("mine", "1")
        try await sync()
        try tablet.save("a", "tablet 2")
        try tablet.delete("b")
        try await tablet.sync()
        try phone.save("mine", "2")
        try phone.save("a", "phone later")
        try phone.delete("c")
        try phone.save("new", "x")
        try await sync()
        try await tablet.sync()
        #expect(try tablet.texts() == phone.texts())
    }

    private let outcome = [
        "a": "phone later", "d": "tablet", "e": "tablet", "mine": "2", "new": "x",
    ]

    @Test func restartAfterAnyLostRequestConverges() async throws {
        // First without a fault, to count the requests.
        let calm = RealService()
        let device = try Device(calm)
        try await story(calm, device) { try await device.sync() }
        #expect(try device.texts() == outcome)
        let callCount = device.link.callNames.count
        #expect(callCount > 8)
        for number in 0..<callCount {
            for isAnswerLost in [false, true] {
                let cloud = RealService()
                let phone = try Device(cloud)
                phone.link.fail(
                    call: number,
                    isAnswerLost ? .answerLost : .requestLost(SyncFailure(.networkFailure)))
                try await story(cloud, phone) {
                    do { try await phone.cache.sync() } catch {
                        // The process ends here and is restarted.
                        try phone.restart()
                        try await phone.sync()
                    }
                }
                #expect(try phone.texts() == outcome, "cut at request \(number)")
                #expect(try phone.cache.store.pendingIDs(limit: 100).isEmpty)
                #expect(try await cloud.texts() == outcome)
            }
        }
    }

    @Test func replayedPageChangesNothing() async throws {
        let cloud = RealService()
        let tablet = try Device(cloud)
        for name in ["a", "b", "c", "d"] { try tablet.save(name, "1") }
        try await tablet.sync()
        let phone = try Device(cloud)
        try await phone.sync()
        let before = try phone.cache.snapshots(ofType: nil, in: .list)
        let page = try await phone.remote.zoneChanges(.list, since: nil, knowing: [], limit: nil)
        let outcome = try phone.cache.store.apply(page, of: .list)
        #expect(outcome.changedIDs.isEmpty)
        #expect(try phone.cache.snapshots(ofType: nil, in: .list) == before)
    }

    @Test func fullFetchAfterExpiredTokenFindsDeletions() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(
            cloud, ["a": "1", "b": "1", "c": "1", "d": "1", "e": "1"])
        try tablet.delete("b")
        try tablet.save("f", "1")
        try await tablet.sync()
        try await cloud.expireTokens()
        try phone.save("local", "kept")
        try phone.save("c", "edited")
        try await phone.sync()
        #expect(
            try phone.texts()
                == ["a": "1", "c": "edited", "d": "1", "e": "1", "f": "1", "local": "kept"])
        #expect(try await cloud.names() == ["a", "c", "d", "e", "f", "local"])
    }

    @Test func interruptedFullFetchDeletesNothing() async throws {
        let cloud = RealService()
        let phone = try Device(cloud, settings: .smallBatches)
        for number in 0..<9 { try phone.save("r\(number)", "1") }
        try await phone.sync()
        try await cloud.expireTokens()
        try phone.save("r0", "2")
        // One page request fails as its token expired, one succeeds, and one is lost.
        let calls = phone.link.callNames.count
        phone.link.fail("page", 2, .requestLost(SyncFailure(.networkFailure)))
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(phone.link.callNames.dropFirst(calls).count { $0 == "page" } == 3)
        try phone.restart()
        #expect(try phone.texts().count == 9)
        try await phone.sync()
        #expect(try phone.texts().count == 9)
        #expect(try await cloud.record("r0")?["text"] == .string("2"))
    }

    @Test func remotelyDeletedZoneIsRemovedAndReported() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        try await cloud.deleteZone(.list)
        try phone.save("a", "2")
        var events = phone.cache.events().makeAsyncIterator()
        try await phone.sync()
        guard case .zoneDeleted(let zone, let reason, let lost) = await events.next() else {
            Issue.record("the app was not notified")
            return
        }
        #expect(ZoneID(zone) == .list)
        #expect(reason == .deleted)
        #expect(lost.map(\.recordName) == ["a"])
        #expect(try phone.texts().isEmpty)
        #expect(try await phone.cache.zoneIDs().isEmpty)
    }

    /// A device that recreates deleted zones, after a zone with two records was deleted and the device has synced.
    private func recreatingPhone(
        _ cloud: RealService, deletion: () async throws -> Void
    ) async throws -> Device {
        var settings = SyncSettings.quick
        settings.zoneDeletionPolicy = .recreate
        let phone = try Device(cloud, settings: settings)
        for name in ["a", "b"] { try phone.save(name, "1") }
        try await phone.sync()
        try await deletion()
        try await phone.sync()
        #expect(try await cloud.names() == ["a", "b"])
        return phone
    }

    @Test func recreatePolicyRestoresDeletedZone() async throws {
        let cloud = RealService()
        let phone = try await recreatingPhone(cloud) { try await cloud.deleteZone(.list) }
        #expect(try phone.cache.store.pendingIDs(limit: 100).isEmpty)
    }

    /// The person removed the zone in the settings, so an app whose policy is to recreate zones is also notified.
    @Test func recreatePolicyRestoresAndReportsPurgedZone() async throws {
        let cloud = RealService()
        let phone = try await recreatingPhone(cloud) { try await cloud.purgeZone(.list) }
        let reports = try await phone.cache.reports()
        let purged = reports.compactMap { report -> ZoneID? in
            guard case .zoneDeleted(let zone, .purged, let lost) = report.event, lost.isEmpty
            else { return nil }
            return ZoneID(zone)
        }
        #expect(purged == [.list])
    }

    @Test func zoneLostByServiceIsRecreatedWithRecords() async throws {
        let cloud = RealService()
        // The user existed before the copy was made.
        _ = try await cloud.userRecordName()
        let copy = try cloud.copy()
        let phone = try Device(cloud)
        for name in ["a", "b"] { try phone.save(name, "1") }
        try await phone.sync()
        try cloud.restore(copy)
        try phone.save("c", "1")
        try await phone.sync()
        #expect(try await cloud.names() == ["a", "b", "c"])
        #expect(try phone.texts().count == 3)
    }

    /// As after `stratus restored`: the zone was created after the backup, and all tokens have expired.
    @Test func zoneMissingAfterRestoreIsUploadedAgain() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        try phone.save("x", "1", zone: .other)
        try await phone.sync()
        try await cloud.lose(on: phone) {
            for name in ["a", "b"] { try phone.save(name, "1") }
        }
        try await cloud.expireTokens()
        try phone.save("c", "1")
        try await phone.sync()
        #expect(try await cloud.names() == ["a", "b", "c"])
        #expect(try await cloud.names(in: .other) == ["x"])
        #expect(try phone.texts().count == 3)
        // Only the first fetch after the loss uploads a missing zone again.
        try await cloud.deleteZone(.list)
        try await phone.sync()
        #expect(try phone.texts().isEmpty)
    }

    @Test func recordsMissingFromFullFetchAreReported() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        for name in ["a", "b"] { try phone.save(name, "1") }
        try await phone.sync()
        try await cloud.delete("b")
        try await cloud.expireTokens()
        var events = phone.cache.events().makeAsyncIterator()
        try await phone.sync()
        #expect(try phone.texts() == ["a": "1"])
        guard case .recordsMissing(let records) = await events.next() else {
            Issue.record("the app was not notified")
            return
        }
        #expect(records.map(\.recordID.recordName) == ["b"])
        // The app only has to save them again.
        try await phone.cache.save(records)
        try await phone.sync()
        #expect(try await cloud.names() == ["a", "b"])
        #expect(try await cloud.record("b")?["text"] == .string("1"))
    }

    /// The transaction is committed, and the next read finds a damaged row.
    @Test func observersAreNotifiedOfChangesAfterWhichTheFileCannotBeRead() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        try phone.save("a", "1")
        try phone.save("x", "1", zone: .other)
        try await phone.sync()
        try await cloud.deleteZone(.other)
        let changes = phone.cache.changedIDs()
        try await phone.cache.file.pool.write { database in
            try database.execute(
                sql: """
                    CREATE TRIGGER damage AFTER INSERT ON flag WHEN NEW.name = 'lastFetch'
                    BEGIN UPDATE zone SET pass = 'x'; END
                    """)
        }
        let error = await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(error?.code == .halted)
        #expect(try phone.text("x", zone: .other) == nil)
        #expect(changes.takeUnseen() == [RecordID(name: "x", zoneID: .other)])
    }

    @Test func purgedZoneIsReportedToApp() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        try phone.save("b", "1")
        await phone.cache.fetchSoon(CKRecordZone.ID(.list))
        try await cloud.purgeZone(.list)
        var events = phone.cache.events().makeAsyncIterator()
        try await phone.sync()
        guard case .zoneDeleted(let zone, .purged, let lost) = await events.next() else {
            Issue.record("the app was not notified")
            return
        }
        #expect(ZoneID(zone) == .list)
        #expect(lost.map(\.recordName) == ["b"])
        #expect(try await phone.cache.zoneIDs().isEmpty)
    }

    @Test func locallyDeletedZoneIsDeletedEverywhere() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1"])
        try await phone.cache.deleteZone(CKRecordZone.ID(.list))
        #expect(try phone.texts().isEmpty)
        try await phone.sync()
        try await tablet.sync()
        #expect(try tablet.texts().isEmpty)
        // The zone may be created again without its old content, also before any other device syncs.
        try phone.save("old", "1")
        try await phone.sync()
        try await phone.cache.deleteZone(CKRecordZone.ID(.list))
        try phone.save("b", "1")
        try await phone.sync()
        try await tablet.sync()
        #expect(try tablet.texts() == ["b": "1"])
    }
}
