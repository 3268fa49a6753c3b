import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Zones that cannot be created, are missing, or come back by mistake.
@Suite(.timeLimit(.minutes(20))) struct ZoneErrorTests {
    private let refusedZone = ZoneID(name: "Errands")
    private let refusal = SyncFailure(.invalidArguments, message: "Not this one.")

    @Test func refusedZoneIsSetAsideAndOthersSync() async throws {
        let cloud = RealService()
        cloud.refuse(refusedZone, refusal)
        let phone = try Device(cloud)
        try phone.save("a", "1", zone: refusedZone)
        try phone.save("b", "1")
        var events = phone.cache.events().makeAsyncIterator()
        try await phone.cache.sync()
        #expect(try await cloud.names() == ["b"])
        guard case .zoneSetAside(let zone, let failure) = await events.next() else {
            Issue.record("the app was not notified")
            return
        }
        #expect(ZoneID(zone) == refusedZone)
        #expect(failure == refusal)
        #expect(try phone.text("a", zone: refusedZone) == "1", "nothing is lost")
        #expect(try await phone.cache.attentionItems().map(\.recordID.recordName) == ["a"])
        #expect(try await phone.cache.status().summary == "Attention")

        // The refusal is stored: neither a restart nor the next sync tries again.
        try phone.restart()
        try phone.save("c", "1")
        try await phone.cache.sync()
        #expect(try await cloud.names() == ["b", "c"])
        #expect(phone.link.callNames.filter { $0 == "zones" }.count == 1)

        // A retry includes the zone.
        cloud.refuseNothing()
        try await phone.cache.retryAttentionItems()
        try await phone.cache.sync()
        #expect(try await cloud.names(in: refusedZone) == ["a"])
        #expect(try await phone.cache.attentionItems().isEmpty)
    }

    /// The service takes only ASCII names of zones.
    @Test func zoneWithInvalidNameIsSetAside() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        try phone.save("a", "1", zone: ZoneID(name: "Einkäufe"))
        try phone.save("b", "1")
        try await phone.cache.sync()
        #expect(try await cloud.zones() == [.list])
        #expect(try await cloud.names() == ["b"])
        let items = try await phone.cache.attentionItems()
        #expect(items.map(\.recordID.recordName) == ["a"])
        #expect(items.first?.failure.code == .invalidArguments)
    }

    @Test func editInRefusedZoneRetriesWaitingRecords() async throws {
        let cloud = RealService()
        cloud.refuse(refusedZone, refusal)
        let phone = try Device(cloud)
        try phone.save("a", "1", zone: refusedZone)
        try await phone.cache.sync()
        cloud.refuseNothing()
        try phone.save("b", "1", zone: refusedZone)
        try await phone.cache.sync()
        #expect(try await cloud.names(in: refusedZone) == ["a", "b"])
    }

    /// The database's changes name the deletion of a former zone of that name.
    @Test func recordsOfRefusedZoneSurviveDeletionOfItsPredecessor() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["b": "1"])
        let tablet = try Device(cloud)
        try tablet.save("x", "1", zone: refusedZone)
        try await tablet.sync()
        try await tablet.cache.deleteZone(CKRecordZone.ID(refusedZone))
        try await tablet.sync()
        cloud.refuse(refusedZone, refusal)
        try phone.save("a", "1", zone: refusedZone)
        try await phone.sync()
        #expect(try phone.text("a", zone: refusedZone) == "1")
        #expect(try await phone.cache.attentionItems().map(\.recordID.recordName) == ["a"])
        cloud.refuseNothing()
        try await phone.cache.retryAttentionItems()
        try await phone.sync()
        #expect(try await cloud.names(in: refusedZone) == ["a"])
    }

    @Test func refusedZoneIsRetriedOnceItIsAttached() async throws {
        let cloud = RealService()
        cloud.refuse(refusedZone, refusal)
        let phone = try Device(cloud)
        try phone.save("a", "1", zone: refusedZone)
        try await phone.sync()
        let zone = CKRecordZone.ID(refusedZone)
        try await phone.cache.detachZone(zone)
        try phone.save("b", "1", zone: refusedZone)
        cloud.refuseNothing()
        try await phone.cache.attachZone(zone)
        try await phone.sync()
        #expect(try await cloud.names(in: refusedZone) == ["a", "b"])
    }

    @Test func refusedZoneDeletionRestoresZone() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        cloud.refuse(.list, SyncFailure(.permissionFailure))
        try await phone.cache.deleteZone(CKRecordZone.ID(.list))
        #expect(try phone.texts().isEmpty)
        try await phone.cache.sync()
        #expect(try phone.texts() == ["a": "1"])
    }

    @Test func zonesBeyondRequestLimitAreCreatedInBatches() async throws {
        let cloud = RealService()
        cloud.restart { $0.operationsPerRequest = 7 }
        let phone = try Device(cloud)
        for number in 0..<30 { try phone.save("a", "1", zone: ZoneID(name: "Z\(number)")) }
        try await phone.sync()
        #expect(try await cloud.zones().count == 30)
        #expect(phone.link.callNames.count { $0 == "zones" } > 4)
        #expect(try phone.cache.store.pendingIDs(limit: 100).isEmpty)
    }

    @Test func participantCannotCreateSharedZone() async throws {
        let cloud = RealService()
        let list = try await cloud.share(.list, of: "alice", with: "bob")
        let other = try await cloud.share(.other, of: "alice", with: "bob")
        let guest = try Device(cloud, user: "bob", scope: .shared)
        let early = #expect(throws: CacheError.self) { try guest.save("a", "1", zone: list) }
        #expect(early?.code == .invalidZone)
        #expect(throws: CacheError.self) { try guest.cache.createZone(CKRecordZone.ID(list)) }
        try await guest.cache.sync()
        try guest.save("a", "1", zone: list)
        try await guest.cache.sync()
        #expect(try await cloud.names() == ["a"])

        // The owner removes the participant's access while an edit is pending.
        try await cloud.deleteZone(.list)
        try guest.save("a", "2", zone: list)
        var events = guest.cache.events().makeAsyncIterator()
        try await guest.cache.sync()
        guard case .zoneDeleted(_, _, let lost) = await events.next() else {
            Issue.record("the app was not notified")
            return
        }
        #expect(lost.map(\.recordName) == ["a"])
        #expect(throws: CacheError.self) { try guest.save("a", "3", zone: list) }
        try guest.save("b", "1", zone: other)
        try await guest.cache.sync()
        #expect(try await cloud.names(in: .other) == ["b"])
        #expect(!guest.link.callNames.contains("zones"))
    }

    @Test func missingSharedZoneIsRemovedLocally() async throws {
        let cloud = RealService()
        // The users existed before the copy was made.
        for user in ["alice", "bob"] { _ = try await cloud.userRecordName(of: user) }
        let copy = try cloud.copy()
        let list = try await cloud.share(.list, of: "alice", with: "bob")
        var settings = SyncSettings.quick
        settings.zoneDeletionPolicy = .recreate
        let guest = try Device(cloud, user: "bob", settings: settings, scope: .shared)
        try await guest.cache.sync()
        try guest.save("a", "1", zone: list)
        try cloud.restore(copy)
        var events = guest.cache.events().makeAsyncIterator()
        try await guest.cache.sync()
        guard case .zoneDeleted = await events.next() else {
            Issue.record("the app was not notified")
            return
        }
        #expect(try await guest.cache.zoneIDs(in: .shared).isEmpty)
        #expect(!guest.link.callNames.contains("zones"))
    }

    @Test func lateHintKeepsDeletedZoneDeleted() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        try await cloud.deleteZone(.list)
        try await phone.cache.sync()
        let calls = phone.link.callNames.count
        await phone.cache.fetchSoon(CKRecordZone.ID(.list))
        await phone.cache.fetchSoon(CKRecordZone.ID(zoneName: "Mistyped"))
        try await phone.cache.sync()
        // Only the database's changes could report these zones.
        #expect(phone.link.callNames.dropFirst(calls) == ["database"])
        try await phone.expectNoZones(cloud)
    }

    /// The device gets a hint for the zone only, and none for its deletion or creation.
    @Test func hintForRecreatedZoneRestoresNoOldRecord() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        await phone.cache.start()
        try await phone.cache.sync()
        try await cloud.deleteZone(.list)
        try await cloud.createZone(.list)
        try await cloud.save("c", "1")
        await phone.cache.fetchSoon(CKRecordZone.ID(.list))
        while try phone.text("c") == nil { await Task.yield() }
        try await phone.sync()
        await phone.cache.stop()
        #expect(try await cloud.names() == ["c"])
        #expect(try phone.texts() == ["c": "1"])
    }

    @Test func lastDatabasePageDecidesZoneDeletion() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        try await cloud.createZone(.other)
        try await cloud.save("b", "1")
        let former = ZoneID(name: "Former")
        try await cloud.createZone(former)
        try await cloud.deleteZone(former)
        cloud.restart { limits in
            limits.recordsPerPage = 2
            limits.maximumRecordsPerPage = 2
        }
        // The first page lists both zones as changed, and later pages list them as deleted.
        phone.link.duringNextDatabasePage {
            try await cloud.deleteZone(.list)
            try await cloud.deleteZone(.other)
        }
        let calls = phone.link.callNames.count
        try await phone.cache.sync()
        let asked = Array(phone.link.callNames.dropFirst(calls))
        #expect(asked == ["database", "database", "database"], "no zone was asked for")
        try await phone.expectNoZones(cloud)
    }

    @Test func defaultZoneCannotBeDeletedFromCache() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let error = #expect(throws: CacheError.self) {
            try phone.cache.deleteZone(CKRecordZone.ID(ZoneID()))
        }
        #expect(error?.code == .invalidZone)
        try await phone.cache.sync()
        let zones = try await cloud.database().allRecordZones().map(\.zoneID)
        #expect(zones == [CKRecordZone.ID(ZoneID())])
    }

    @Test func deletionOfUnknownZoneSurvivesRestart() async throws {
        let cloud = RealService()
        try await cloud.createZone(.list)
        let phone = try Device(cloud)
        try await phone.cache.deleteZone(CKRecordZone.ID(.list))
        try phone.restart()
        try await phone.cache.sync()
        try await phone.expectNoZones(cloud)
    }

    @Test func pageInFlightDoesNotRefillDeletedZone() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let tablet = try Device(cloud, settings: .smallBatches)
        for name in ["a", "b", "c", "d", "e"] { try tablet.save(name, "1") }
        try await tablet.cache.sync()
        phone.link.duringNextPage { [phone] in
            try phone.cache.deleteZone(CKRecordZone.ID(.list))
            // The zone is wanted again before its former content is removed.
            try phone.save("new", "1")
        }
        try await phone.cache.sync()
        #expect(try phone.texts() == ["new": "1"])
        #expect(try await cloud.names() == ["new"])
    }
}
