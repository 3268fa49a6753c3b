import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Operations on whole zones, and on all of them.
@Suite struct ZoneOperationTests {
    private let list = CKRecordZone.ID(ZoneID.list)

    @Test func deleteEverythingDeletesLocallyAndAtTheService() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1"])
        // A zone that the phone has not fetched.
        try tablet.save("b", "1", zone: .other)
        try await tablet.sync()
        try phone.save("unsent", "1")
        try await phone.cache.deleteEverything()
        #expect(try await phone.cache.zoneIDs().isEmpty && phone.texts().isEmpty)
        // A zone that is created afterwards stays.
        try phone.save("new", "1", zone: ZoneID(name: "New"))
        try phone.restart()
        try await phone.sync()
        #expect(try await cloud.zones().map(\.name) == ["New"])
        #expect(try await cloud.names(in: ZoneID(name: "New")) == ["new"])
        try await tablet.sync()
        #expect(try await tablet.cache.zoneIDs().map(\.zoneName) == ["New"])
        // The deletion happens only once.
        try tablet.save("later", "1", zone: .other)
        try await tablet.sync()
        try await phone.cache.refetchEverything()
        try await phone.sync()
        #expect(try phone.texts(zone: .other) == ["later": "1"])
    }

    @Test func zoneRecreatedAfterDeleteEverythingHasOnlyNewRecords() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        try await phone.cache.deleteEverything()
        try phone.save("b", "1")
        try await phone.sync()
        #expect(try await cloud.names() == ["b"])
    }

    /// The app can try again without wondering what is left.
    @Test func deletionOfEverythingThatFailsInOneDatabaseDeletesInNone() async throws {
        let cloud = RealService()
        let phone = try Device(cloud, otherScopes: [.shared])
        try phone.save("a", "1")
        try await phone.sync()
        try await phone.expectFailedDeletionOfEverything()
        #expect(try phone.texts() == ["a": "1"])
        try await phone.cache.store.pool.write { database in
            try database.execute(sql: "DROP TRIGGER refusal")
        }
        try await phone.sync()
        #expect(try await cloud.names() == ["a"])
        try await phone.cache.deleteEverything(in: [.private, .shared])
        try await phone.sync()
        #expect(try await cloud.zones().isEmpty)
    }

    @Test func refetchEverythingKeepsPendingEdits() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        for number in 0..<5 { try phone.save("r\(number)", "1") }
        try await phone.sync()
        // A row that is missing on the phone, and a record that was deleted at the service.
        try await phone.cache.store.pool.write { database in
            try database.execute(sql: "DELETE FROM record WHERE name = 'r0'")
        }
        try await cloud.delete("r1")
        try phone.save("r2", "edited offline")
        try await phone.cache.refetchEverything()
        #expect(try phone.texts()["r2"] == "edited offline")
        try await phone.sync()
        #expect(try phone.texts()["r0"] == "1")
        #expect(try phone.texts()["r1"] == nil)
        guard case .string("edited offline") = try await cloud.record("r2")?["text"] else {
            Issue.record("The edit was lost.")
            return
        }
    }

    /// The answer in flight contains only new changes; zones that the phone does not know come with the next answer.
    @Test func deleteEverythingDuringFetchDeletesUnfetchedZones() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1"])
        try tablet.save("b", "1", zone: .other)
        try await tablet.sync()
        phone.link.duringNextDatabasePage { try await phone.cache.deleteEverything() }
        try await phone.sync()
        try await phone.expectNoZones(cloud)
        // The deletion happens only once: later records of other devices stay, also after a full fetch.
        try await tablet.sync()
        try tablet.save("c", "1", zone: .other)
        try await tablet.sync()
        try await phone.cache.refetchEverything()
        try await phone.sync()
        #expect(try await cloud.texts(in: .other) == ["c": "1"])
        #expect(try phone.texts(zone: .other) == ["c": "1"])
    }

    /// Why a device fetches a whole zone.
    enum Look: CaseIterable { case refetched, attached }

    /// A restore of the service is still noticed.
    @Test(arguments: Look.allCases)
    func changesLostInRestoreAreSentAgainAfterRefetchOrAttach(_ look: Look) async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        let copy = try cloud.copy()
        try tablet.save("a", "2")
        try tablet.save("new", "1")
        try tablet.save("b", "1", zone: .other)
        try await tablet.sync()
        try await phone.sync()
        if look == .attached { try await phone.cache.detachZone(list) }
        try cloud.restore(copy)
        switch look {
        case .refetched: try await phone.cache.refetchEverything()
        case .attached: try await phone.cache.attachZone(list)
        }
        try await phone.sync()
        #expect(try phone.texts() == ["a": "2", "new": "1"])
        #expect(try await cloud.texts() == ["a": "2", "new": "1"])
        #expect(try await cloud.texts(in: .other) == ["b": "1"])
        #expect(try await phone.cache.lostChanges() == ["a sent", "new sent"])
    }

    /// The full answer comes after the deletion, so it does not list it.
    @Test func zoneDeletedElsewhereDuringRefetchStaysDeleted() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        try await phone.cache.refetchEverything()
        phone.link.duringNextDatabasePage {
            _ = try tablet.cache.store.deleteZone(.list)
            try await tablet.sync()
        }
        try await phone.sync()
        try await phone.expectNoZones(cloud)
        #expect(try await phone.cache.lostChanges().isEmpty)
    }

    /// The save never arrived, or it arrived and another device has deleted the record since.
    @Test(arguments: [false, true])
    func unansweredNewRecordSurvivesRefetchUnlessDeletedElsewhere(arrives: Bool) async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        try phone.save("n", "1")
        phone.link.fail(
            "send", 0, arrives ? .answerLost : .requestLost(SyncFailure(.networkFailure)))
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        if arrives {
            try await tablet.sync()
            try tablet.delete("n")
            try await tablet.sync()
        }
        try await phone.cache.refetchEverything()
        try await phone.sync()
        #expect(try await cloud.names() == (arrives ? ["a"] : ["a", "n"]))
        #expect(try phone.texts() == (arrives ? ["a": "1"] : ["a": "1", "n": "1"]))
    }

    /// The save gets no answer while the pages of the whole zone arrive.
    @Test func unansweredNewRecordSurvivesFullFetchOfItsZone() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        // A page contains whole batches, so this record is sent separately.
        try tablet.save("b", "1")
        try await tablet.sync()
        let store = phone.cache.store
        func fetchPage() async throws -> Bool {
            var token: String?
            if case .token(let known) = try store.beginFetch(.list) { token = known }
            let page = try await phone.remote.zoneChanges(
                .list, since: token, deletionsAfter: try store.lastIntactVersion(of: .list),
                knowing: try store.sentTags(of: .list), limit: 1)
            _ = try store.apply(page, of: .list)
            return page.moreComing
        }
        try await phone.cache.refetchEverything()
        while try await fetchPage() {}
        #expect(try await fetchPage())
        try phone.save("n", "1")
        let batch = try store.nextBatch(itemLimit: 10, bytesLimit: 1_000_000)
        #expect(batch.count == 1)
        try store.noteFailure(of: batch, SyncFailure(.serverResponseLost))
        try await phone.sync()
        #expect(try await cloud.names() == ["a", "b", "n"])
        #expect(try phone.texts().count == 3)
    }

    @Test func refetchEverythingDuringFetchFetchesEveryRecordOnce() async throws {
        let (_, tablet, phone) = try await Device.pairAndCloud(["a": "1"])
        try tablet.save("b", "1")
        try await tablet.sync()
        try await phone.cache.store.pool.write { database in
            try database.execute(sql: "DELETE FROM record WHERE name = 'a'")
        }
        phone.link.duringNextPage { try await phone.cache.refetchEverything() }
        try await phone.sync()
        #expect(try phone.texts() == ["a": "1", "b": "1"])
        // The full fetch happens only once.
        let pageCount = phone.link.callNames.count { $0 == "page" }
        try await phone.sync()
        #expect(phone.link.callNames.count { $0 == "page" } == pageCount)
    }

    /// Another device creates a record under the name of a deleted one. The full fetch is cut before the page with the
    /// record, and then the token expires: the missing record must not count as the former one.
    @Test(arguments: [false, true])
    func recordRecreatedElsewhereSurvivesInterruptedRefetch(isMadeDuringFetch: Bool) async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(
            ["a": "1", "b": "1", "c": "1", "d": "1", "s": "1"])
        try tablet.delete("s")
        for device in [tablet, phone] { try await device.sync() }
        let laptop = try Device(cloud)
        try await laptop.sync()
        cloud.pass()
        try laptop.save("s", "anew")
        try await phone.cache.refetchEverything()
        if isMadeDuringFetch {
            phone.link.duringNextPage { try await laptop.sync() }
        } else {
            try await laptop.sync()
        }
        let failure = SyncFailure(.networkUnavailable)
        phone.link.fail("page", isMadeDuringFetch ? 2 : 1, .requestLost(failure))
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        let tag = try #require(try await cloud.record("s")?.system?.changeTag)
        try phone.cache.store.dropToken(
            of: .list, lastIntactVersion: RecordSnapshot.SystemFields.version(ofTag: tag))
        for device in [phone, tablet] {
            try await device.sync()
            #expect(try device.text("s") == "anew")
        }
        #expect(try await cloud.names() == ["a", "b", "c", "d", "s"])
    }

    @Test func detachedZoneIsNeitherSentNorFetched() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1", "b": "1"])
        try await phone.cache.detachZone(list)
        #expect(try await phone.cache.isDetached(list))
        try phone.save("a", "mine")
        try phone.save("c", "mine")
        try tablet.save("b", "theirs")
        try await tablet.sync()
        try phone.restart()
        try await phone.sync()
        #expect(try phone.texts() == ["a": "mine", "b": "1", "c": "mine"])
        #expect(try await cloud.names() == ["a", "b"])
        #expect(try await phone.cache.status().pendingCount == 0)
        try await phone.cache.attachZone(list)
        try await phone.sync()
        #expect(try phone.texts() == ["a": "mine", "b": "theirs", "c": "mine"])
        try await tablet.sync()
        #expect(try tablet.texts() == phone.texts())
    }

    @Test func detachedZoneSurvivesItsDeletionElsewhere() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1"])
        try await phone.cache.detachZone(list)
        try await tablet.cache.deleteZone(list)
        try await tablet.sync()
        try await phone.sync()
        try await phone.cache.refetchEverything()
        try await phone.sync()
        #expect(try phone.texts() == ["a": "1"])
        try await phone.cache.attachZone(list)
        try await phone.sync()
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "1"])
    }

    /// What was still to be done with the zone at the service waits while the zone is detached.
    @Test func pendingZoneDeletionIsSentOnceTheZoneIsAttached() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1"])
        try await phone.cache.deleteZone(list)
        try phone.save("n", "1")
        try await phone.cache.detachZone(list)
        try await phone.sync()
        try await phone.cache.attachZone(list)
        for device in [phone, tablet] { try await device.sync() }
        for device in [phone, tablet] { #expect(try device.texts() == ["n": "1"]) }
    }

    @Test func detachedNewZoneIsCreatedOnceItIsAttached() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let tablet = try Device(cloud)
        try await phone.cache.createZone(list)
        try await phone.cache.detachZone(list)
        try await phone.sync()
        try await phone.cache.attachZone(list)
        for device in [phone, tablet] { try await device.sync() }
        for device in [phone, tablet] { #expect(try await device.cache.zoneIDs() == [list]) }
    }
}
