import GRDB
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// What the simulation found of restores that follow each other, and of deletions after them.
@Suite(.timeLimit(.minutes(20))) struct SecondRestoreTests {
    private func version(of name: String, _ cloud: RealService) async throws -> Int64 {
        let tag = try #require(try await cloud.record(name)?.system?.changeTag)
        return try #require(RecordSnapshot.SystemFields.version(ofTag: tag))
    }

    /// An expiry that lost nothing names the newest version. What a restore loses before the full fetch is above the copy's
    /// version, not above that one.
    @Test(arguments: [false, true])
    func restoreBetweenAnExpiryAndItsFetchIsNoticed(isFetched: Bool) async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        let copy = try cloud.copy()
        try tablet.save("a", "2")
        try await tablet.sync()
        let device = isFetched ? phone : tablet
        if isFetched { try await phone.sync() }
        try device.cache.store.dropToken(
            of: .list, lastIntactVersion: try await version(of: "a", cloud))
        try cloud.restore(copy)
        try await device.sync()
        #expect(try device.texts() == ["a": "2"])
        #expect(try await cloud.record("a")?["text"] == .string("2"))
    }

    /// Where the zone's changes never come, as in a zone that is not synced any more, an edit that is refused is not sent for ever.
    @Test func editOfMissingRecordIsRefusedAFewTimesOnly() async throws {
        let (_, phone, _) = try await Device.pairAndCloud(["a": "1"])
        try phone.save("a", "2")
        let store = phone.cache.store
        let failure = SyncFailure(.unknownItem, message: "There is no such record.")
        var count = 0
        while count < 20 {
            let batch = try store.nextBatch(itemLimit: 9, bytesLimit: 1_000_000)
            guard !batch.isEmpty else { break }
            _ = try store.confirm(batch, [.failed(failure, server: nil)], [.deletedElsewhere])
            count += 1
        }
        #expect((2...5).contains(count))
        let reports = try await phone.cache.reports()
        #expect(
            reports.contains { if case .editOfDeletedRecord = $0.event { true } else { false } })
    }

    @Test func tokenOfTheDatabaseOutlivesItsExpiry() async throws {
        let (_, phone, _) = try await Device.pairAndCloud(["a": "1"])
        let store = phone.cache.store
        let token = try #require(try store.databaseToken())
        try store.dropDatabaseToken(lastIntactVersion: 1)
        #expect(try store.zonesTokens() == [token])
        // Without a token it was these that the service did not know.
        try store.dropDatabaseToken(lastIntactVersion: 1)
        #expect(try store.zonesTokens().isEmpty)
    }

    /// The service has the deletion, and everybody hears of it: a record of that name is another one, even if it was made
    /// earlier, by a device that was off.
    @Test(arguments: [false, true])
    func deletionThatTheServiceHasIsNotRepeatedAfterALoss(isAnswerLost: Bool) async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        try phone.save("settings", "1")
        try await phone.sync()
        try phone.cache.store.dropToken(
            of: .list, lastIntactVersion: try await version(of: "settings", cloud))
        try await phone.sync()
        let laptop = try Device(cloud)
        try laptop.save("settings", "mine")
        cloud.pass()
        try phone.delete("settings")
        if isAnswerLost { phone.link.fail("send", 0, .answerLost) }
        try await phone.sync()
        try await laptop.sync()
        for device in [phone, tablet, laptop] {
            try await device.sync()
            #expect(try device.texts() == ["a": "1", "settings": "mine"])
        }
    }

    /// The tablet has sent a lost record again and deleted it, before the phone's own attempt arrives.
    @Test func recordSentAgainThatWasDeletedMeanwhileStaysDeleted() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        try await cloud.lose(on: phone, tablet) { try phone.save("new", "1") }
        phone.link.fail("send", 1, .requestLost(SyncFailure(.networkUnavailable)))
        try await phone.sync()
        try await tablet.sync()
        try tablet.delete("new")
        try await tablet.sync()
        for device in [phone, tablet] {
            try await device.sync()
            #expect(try device.texts() == ["a": "1"])
        }
        #expect(try await cloud.names() == ["a"])
        // Nobody edited it.
        let edits = try await phone.cache.reports().count {
            if case .editOfDeletedRecord = $0.event { true } else { false }
        }
        #expect(edits == 0)
    }

    /// The zone too was lost; the tablet makes it anew, sends its record again, and somebody deletes it there, before
    /// the phone comes.
    @Test func recordDeletedInAZoneRecreatedAfterALossStaysDeleted() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        try phone.save("a", "1", zone: .other)
        try await phone.sync()
        let copy = try cloud.copy()
        for name in ["a", "b"] { try phone.save(name, "1") }
        try await phone.sync()
        let tablet = try Device(cloud)
        try await tablet.sync()
        try cloud.restore(copy)
        phone.link.fail("zones", 0, .requestLost(SyncFailure(.networkUnavailable)))
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        try await tablet.sync()
        try tablet.delete("a")
        try await tablet.sync()
        for device in [phone, tablet, phone] {
            try await device.sync()
            #expect(try device.texts() == ["b": "1"])
        }
        #expect(try await cloud.names() == ["b"])
    }

    /// The copy is older than the zone: the phone's deletion finds none, and the tablet makes the zone anew with what it
    /// has. The phone deletes all of that again, and then the zone, unless somebody saves in it before.
    private func devicesOfZoneThatCameBack() async throws -> (RealService, Device, Device) {
        let cloud = RealService()
        let (phone, tablet) = (try Device(cloud), try Device(cloud))
        for device in [phone, tablet] { try await device.sync() }
        let copy = try cloud.copy()
        try phone.save("a", "1")
        for device in [phone, tablet, phone] { try await device.sync() }
        try cloud.restore(copy)
        try await phone.cache.deleteZone(CKRecordZone.ID(ZoneID.list))
        for device in [phone, tablet] { try await device.sync() }
        #expect(try await cloud.texts() == ["a": "1"])
        return (cloud, phone, tablet)
    }

    @Test(arguments: [false, true])
    func zoneThatCameBackAndWasEmptiedIsDeletedAgain(isUsedAgain: Bool) async throws {
        let (cloud, phone, tablet) = try await devicesOfZoneThatCameBack()
        if isUsedAgain {
            cloud.pass()
            phone.link.duringNextPage {
                try tablet.save("b", "1")
                try await tablet.sync()
            }
        }
        for device in [phone, tablet, phone] {
            try await device.sync()
            #expect(try device.texts() == (isUsedAgain ? ["b": "1"] : [:]))
        }
        #expect(try await cloud.zones().contains(.list) == isUsedAgain)
        // Another zone may get the key of one that is gone, and must not inherit what is noted of it.
        let notes = try phone.cache.store.read { database in
            try String.fetchAll(
                database,
                sql: """
                    SELECT name FROM flag WHERE (name LIKE 'historyLost/%' OR name LIKE 'returned/%')
                        AND substr(name, instr(name, '/') + 1) NOT IN (SELECT id FROM zone)
                    """)
        }
        #expect(notes.isEmpty)
    }

    /// When the phone saves into the zone that it has emptied.
    enum SaveIntoEmptied: CaseIterable {
        /// The deletion did not reach the service.
        case afterLostRequest
        /// The phone looks whether somebody has saved in it.
        case beforeDeletion
        case duringDeletion
    }

    /// The zone is wanted then: it stays, or is made anew. What was deleted with it stays deleted.
    @Test(arguments: SaveIntoEmptied.allCases)
    func saveIntoZoneThatWasEmptiedKeepsIt(_ moment: SaveIntoEmptied) async throws {
        let (cloud, phone, tablet) = try await devicesOfZoneThatCameBack()
        cloud.pass()
        switch moment {
        case .afterLostRequest:
            phone.link.fail("zones", 0, .requestLost(SyncFailure(.networkUnavailable)))
            await #expect(throws: CacheError.self) { try await phone.cache.sync() }
            try phone.save("b", "1")
        case .beforeDeletion:
            phone.link.duringNextPage { phone.link.duringNextPage { try phone.save("b", "1") } }
        case .duringDeletion: phone.link.duringNextZones { try phone.save("b", "1") }
        }
        for device in [phone, tablet, phone] {
            try await device.sync()
            #expect(try device.texts() == ["b": "1"])
        }
        #expect(try await cloud.texts() == ["b": "1"])
        let zoneCallCount = phone.link.callNames.count { $0 == "zones" }
        try await phone.sync()
        #expect(phone.link.callNames.count { $0 == "zones" } == zoneCallCount)
    }

    /// The service does not know an upload any more; its record was edited or deleted since.
    @Test func failedUploadOfAFormerEditChangesNothing() async throws {
        let (cloud, phone, _) = try await Device.pairAndCloud(["a": "1"])
        try phone.save("a", "2")
        let store = phone.cache.store
        let batch = try store.nextBatch(itemLimit: 10, bytesLimit: 1_000_000)
        try phone.delete("a")
        let failure = SyncFailure(.unknownItem, message: "The upload is unknown.")
        _ = try store.confirm(
            batch, [.failed(failure, server: nil)], [.deletedElsewhere], wereSent: false)
        try await phone.sync()
        #expect(try await cloud.names().isEmpty)
    }

    /// A record of a name that was deleted is made again and deleted before it was sent: the former one's deletion is still
    /// one that a restore can lose.
    @Test func deletionOfTheFormerRecordOutlivesOneThatWasNeverSent() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        let copy = try cloud.copy()
        try phone.delete("a")
        try await phone.sync()
        try await phone.sync()
        cloud.pass()
        try phone.save("a", "2")
        try phone.delete("a")
        try cloud.restore(copy)
        for device in [phone, tablet, phone] { try await device.sync() }
        #expect(try phone.texts().isEmpty)
        #expect(try await cloud.names().isEmpty)
    }

    /// A record was deleted, made anew and deleted once more, and the copy has the former one: the service has the former's
    /// deletion then, and who has the later record sends it again.
    @Test func deletionOfTheLaterRecordOutlivesTheFormersReturn() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1", "b": "1"])
        let copy = try cloud.copy()
        try phone.delete("a")
        try await phone.sync()
        cloud.pass()
        try phone.save("a", "2")
        try await phone.sync()
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "2", "b": "1"])
        cloud.pass()
        try tablet.delete("a")
        try cloud.restore(copy)
        for device in [tablet, phone, tablet, phone] { try await device.sync() }
        for device in [tablet, phone] { #expect(try device.texts() == ["b": "1"]) }
        #expect(try await cloud.names() == ["b"])
    }

    /// As above, and a third device too has the later record: the service's deletion, which is of that record as the phone sent
    /// it again, is for the laptop that of the former one.
    @Test func deletionOfTheLaterRecordIsRepeatedAsOftenAsItComes() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1", "b": "1"])
        let laptop = try Device(cloud)
        try await laptop.sync()
        let copy = try cloud.copy()
        try phone.delete("a")
        try await phone.sync()
        cloud.pass()
        try phone.save("a", "2")
        for device in [phone, tablet, laptop] { try await device.sync() }
        #expect(try laptop.texts() == ["a": "2", "b": "1"])
        cloud.pass()
        try tablet.delete("a")
        try cloud.restore(copy)
        for device in [tablet, phone, tablet, laptop, tablet] { try await device.sync() }
        for device in [tablet, phone, laptop] {
            try await device.sync()
            #expect(try device.texts() == ["b": "1"])
        }
        #expect(try await cloud.names() == ["b"])
    }

    /// A newer app writes a record again of which the phone has a lost edit, and it is deleted before the phone's app is updated.
    @Test func recordThatANewerAppSentAgainAndDeletedStaysDeleted() async throws {
        func versions(_ current: Int64) -> RecordVersions {
            var versions = RecordVersions()
            versions.declare("Item", key: "version", current: current)
            return versions
        }
        let cloud = RealService()
        let phone = try Device(cloud, versions: versions(1))
        let tablet = try Device(cloud, versions: versions(2))
        for name in ["a", "b"] { try phone.save(name, "1") }
        for device in [phone, tablet, phone] { try await device.sync() }
        try await cloud.lose(on: phone) { try phone.save("a", "2") }
        try tablet.save("a", "new")
        try await tablet.sync()
        try await phone.sync()
        try tablet.delete("a")
        try await tablet.sync()
        phone.versions = versions(2)
        try phone.restart()
        for device in [phone, tablet, phone] { try await device.sync() }
        for device in [phone, tablet] { #expect(try device.texts() == ["b": "1"]) }
        #expect(try await cloud.names() == ["b"])
    }

    /// Without times of fields only the pending deletion tells that the record is to go.
    @Test func deletionOfARecordThatIsSentAgainMeetsAnothersCopy() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["b": "1"], resolver: KeepsServer())
        try await cloud.lose(on: phone, tablet) { try phone.save("new", "1") }
        phone.link.fail("send", 1, .requestLost(SyncFailure(.networkUnavailable)))
        try await phone.sync()
        try await tablet.sync()
        try phone.delete("new")
        for device in [phone, tablet] {
            try await device.sync()
            #expect(try device.texts() == ["b": "1"])
        }
        #expect(try await cloud.names() == ["b"])
    }

    private struct KeepsServer: ConflictResolver {
        func resolve(_ conflict: SyncConflict) -> ConflictResolution { .keepServer }
    }
}
