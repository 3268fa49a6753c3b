import GRDB
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Cases from the simulation: restores that follow each other, and deletions after them.
@Suite(.timeLimit(.minutes(20))) struct SecondRestoreTests {
    private func version(of name: String, _ cloud: RealService) async throws -> Int64 {
        let tag = try #require(try await cloud.record(name)?.system?.changeTag)
        return try #require(RecordSnapshot.SystemFields.version(ofTag: tag))
    }

    /// An expiry without a loss names the newest version. Changes that a restore loses before the full fetch are above
    /// the copy's version, but not above that one.
    @Test(arguments: [false, true])
    func restoreBetweenTokenExpiryAndFullFetchIsNoticed(isFetched: Bool) async throws {
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

    /// If the zone's changes never arrive, as in a zone that is no longer synced, a refused edit is sent only a few
    /// times.
    @Test func refusedEditOfMissingRecordIsRetriedAFewTimes() async throws {
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

    @Test func expiredDatabaseTokenIsKeptUntilASecondExpiry() async throws {
        let (_, phone, _) = try await Device.pairAndCloud(["a": "1"])
        let store = phone.cache.store
        let token = try #require(try store.databaseToken())
        try store.dropDatabaseToken(lastIntactVersion: 1)
        #expect(try store.zonesTokens() == [token])
        // This expiry happened without a token, so the service did not know these tokens.
        try store.dropDatabaseToken(lastIntactVersion: 1)
        #expect(try store.zonesTokens().isEmpty)
    }

    /// The service has the deletion, and every device fetches it: a record of that name is another one, even if a
    /// device that was off created it earlier.
    @Test(arguments: [false, true])
    func deletionKnownToTheServiceIsNotRepeated(isAnswerLost: Bool) async throws {
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
    @Test func lostRecordSentAgainAndDeletedElsewhereStaysDeleted() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        try await cloud.lose(on: phone, tablet) { try phone.save("new", "1") }
        phone.link.fail("send", 1, .requestLost(SyncFailure(.networkUnavailable)))
        try await phone.sync()
        try await tablet.sync()
        try tablet.delete("new")
        try await tablet.sync()
        try await cloud.expectTexts(["a": "1"], on: phone, tablet)
        // No device edited the record.
        let edits = try await phone.cache.reports().count {
            if case .editOfDeletedRecord = $0.event { true } else { false }
        }
        #expect(edits == 0)
    }

    /// The zone was lost too. The tablet recreates it and sends its record again, and the record is deleted there
    /// before the phone syncs.
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

    /// The copy is older than the zone: the phone's deletion finds no zone, and the tablet recreates the zone with its
    /// records. The phone deletes all of them again, and then the zone, unless another device saves into it before.
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
    func restoredZoneIsDeletedAgainOnceEmptied(isUsedAgain: Bool) async throws {
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
        // Another zone may get the key of a deleted one, and must not inherit its flags.
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
        /// After the request for the deletion was lost.
        case afterLostRequest
        /// While the phone checks whether another device has saved into the zone.
        case beforeDeletion
        case duringDeletion
    }

    /// The zone is wanted again: it stays, or is recreated. Records that were deleted with it stay deleted.
    @Test(arguments: SaveIntoEmptied.allCases)
    func saveIntoEmptiedZoneKeepsTheZone(_ moment: SaveIntoEmptied) async throws {
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

    /// The service no longer knows an upload, and its record was edited or deleted since.
    @Test func failedUploadOfAnOutdatedEditChangesNothing() async throws {
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

    /// A deleted record is recreated and deleted again before it was sent: a restore can still lose the former record's
    /// deletion.
    @Test func unsentRecreationKeepsThePredecessorsDeletion() async throws {
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

    /// A record was deleted, recreated and deleted once more, and the copy has the former one. The service then has the
    /// former one's deletion, and a device with the later record sends that again.
    @Test func deletionOfRecreatedRecordSurvivesRestoreOfItsPredecessor() async throws {
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

    /// As above, with a third device that has the later record. The phone sends this record again and the service gets
    /// its deletion, which the laptop takes for that of the former record.
    @Test func deletionOfRecreatedRecordIsRepeatedForEachDeviceThatSendsIt() async throws {
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

    /// The tablet's deletion finds no record, and then the phone creates another one. A restore brings the deleted one
    /// back, and the phone replaces it in place, so that both have the time at which the service created the first.
    @Test func recordThatReplacedAReturnedOneStays() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        let copy = try cloud.copy()
        try phone.delete("a")
        try tablet.delete("a")
        tablet.link.beforeNextSend { try await phone.sync() }
        tablet.link.duringNextSend {
            cloud.pass()
            try phone.save("a", "2")
            try await phone.sync()
            try cloud.restore(copy)
            try await phone.sync()
        }
        for device in [tablet, phone, tablet] { try await device.sync() }
        try await cloud.expectTexts(["a": "2"], on: phone, tablet)
    }

    /// A newer app writes a record of which the phone has a lost edit, and the record is deleted before the phone's app
    /// is updated.
    @Test func lostRecordSavedAndDeletedByNewerAppStaysDeleted() async throws {
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

    /// Without edit times only the pending deletion shows that the record is to be deleted.
    @Test func deletionOfLostRecordWinsOverTheCopySentElsewhere() async throws {
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
