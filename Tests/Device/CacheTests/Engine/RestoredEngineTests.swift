import StratusClient
import StratusRecords
import StratusSync
import StratusSyncEngine
import Testing

@testable import StratusCache

/// A copy of the service's data is restored under devices whose engines keep a cache in sync. As with the cache's own
/// syncing, what the devices know of the lost history is neither overwritten nor forgotten.
@Suite(.timeLimit(.minutes(20))) struct RestoredEngineTests {
    /// Two devices that have records of these names, with the text "1".
    private func devices(
        _ names: [String]
    ) async throws -> (cloud: RestorableCloud, phone: EngineDevice, tablet: EngineDevice) {
        let cloud = RestorableCloud()
        let (phone, tablet) = (try await cloud.device(), try await cloud.device())
        for name in names { try phone.save(name, "1") }
        for device in [phone, tablet, phone] { try await device.sync() }
        return (cloud, phone, tablet)
    }

    private func expect(
        _ texts: [String: String], on devices: EngineDevice...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for device in devices + devices { try await device.sync() }
        for device in devices {
            #expect(try device.texts() == texts, sourceLocation: sourceLocation)
            #expect(
                device.engine.state.pendingRecordZoneChanges.isEmpty, sourceLocation: sourceLocation
            )
            #expect(
                try device.cache.store.pendingIDs(limit: 9).isEmpty, sourceLocation: sourceLocation)
        }
    }

    @Test(arguments: [false, true]) func lostEditAndRecordAreSentAgain(isKilled: Bool) async throws
    {
        let (cloud, phone, tablet) = try await devices(["a", "b"])
        let copy = try cloud.copy()
        try phone.save("a", "2")
        try phone.save("new", "1")
        for device in [phone, tablet] { try await device.sync() }
        try await cloud.restore(copy)
        if isKilled { try tablet.restart() }
        try await expect(["a": "2", "b": "1", "new": "1"], on: tablet, phone)
        let reports = try await tablet.cache.reports()
        let sentAgain = reports.flatMap { report -> [String] in
            guard case .changesLost(_, let ids, _) = report.event else { return [] }
            return ids.map(\.recordName)
        }
        #expect(sentAgain.sorted() == ["a", "new"])
    }

    /// The engine sends before it learns of the loss.
    @Test func editOfALostRecordWaitsForTheChanges() async throws {
        let (cloud, phone, tablet) = try await devices(["a"])
        let copy = try cloud.copy()
        try phone.save("new", "1")
        for device in [phone, tablet, phone] { try await device.sync() }
        try await cloud.restore(copy)
        try phone.save("new", "2")
        for _ in 0..<3 {
            // The save is refused, or there is nothing to send.
            do { try await phone.engine.sendChanges() } catch is CKError {}
        }
        #expect(try phone.texts() == ["a": "1", "new": "2"])
        try await expect(["a": "1", "new": "2"], on: phone, tablet)
    }

    /// The save was acknowledged, but not fetched.
    @Test func lostSaveThatWasNeverFetchedIsSentAgain() async throws {
        let (cloud, phone, tablet) = try await devices(["a"])
        let copy = try cloud.copy()
        try phone.save("new", "1")
        try await phone.engine.sendChanges()
        try await cloud.restore(copy)
        try tablet.save("b", "1")
        try await tablet.sync()
        try await expect(["a": "1", "b": "1", "new": "1"], on: phone, tablet)
    }

    /// - Parameter isFetched: Whether the deletion was fetched after its acknowledgement.
    @Test(arguments: [false, true])
    func deletedRecordRestoredByTheCopyIsDeletedAgain(isFetched: Bool) async throws {
        let (cloud, phone, tablet) = try await devices(["a", "b"])
        let copy = try cloud.copy()
        try phone.delete("b")
        if isFetched {
            for device in [phone, tablet, phone] { try await device.sync() }
        } else {
            try await phone.engine.sendChanges()
        }
        try await cloud.restore(copy)
        try await expect(["a": "1"], on: phone, tablet)
    }

    /// The phone's deletion finds no record, because an older copy was restored. A newer copy brings the record back
    /// before the phone fetches, and has everything that the phone knows.
    @Test func recordThatTheDeletionDidNotFindIsDeletedWhenItReturns() async throws {
        let (cloud, phone, tablet) = try await devices(["a"])
        let older = try cloud.copy()
        try phone.save("b", "1")
        try await phone.engine.sendChanges()
        let newer = try cloud.copy()
        try phone.delete("b")
        try await cloud.restore(older)
        try await phone.engine.sendChanges()
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
        try await cloud.restore(newer)
        try await expect(["a": "1"], on: phone, tablet)
        let deletedAgain = try await phone.cache.reports().flatMap { report -> [String] in
            guard case .changesLost(_, _, let ids) = report.event else { return [] }
            return ids.map(\.recordName)
        }
        #expect(deletedAgain == ["b"])
    }

    /// The phone's deletion finds no record, because the tablet has deleted it: the next one of that name stays.
    @Test func recordCreatedElsewhereAfterADeletionThatFoundNothingStays() async throws {
        let (_, phone, tablet) = try await devices(["a", "b"])
        try tablet.delete("b")
        try phone.delete("b")
        try await tablet.sync()
        try await phone.engine.sendChanges()
        try tablet.save("b", "2")
        try await expect(["a": "1", "b": "2"], on: tablet, phone)
    }

    /// The phone's save arrives without an answer, and the phone's fetch does not find the record, because an older
    /// copy was restored. A newer copy brings the record back, and the tablet deletes it.
    @Test(arguments: [false, true])
    func returnedRecordOfAnUnansweredSaveStaysDeleted(isEdited: Bool) async throws {
        let (cloud, phone, tablet) = try await devices(["a"])
        let older = try cloud.copy()
        try phone.save("b", "1")
        cloud.loseNextAnswer(ofDevice: 0)
        await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
        let newer = try cloud.copy()
        try await cloud.restore(older)
        try await phone.engine.fetchChanges()
        try await cloud.restore(newer)
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "1", "b": "1"])
        try tablet.delete("b")
        try await tablet.sync()
        if isEdited {
            let id = CKRecord.ID(recordName: "b", zoneID: .list)
            let record = try #require(try await phone.cache.record(for: id))
            record["count"] = Int64(1)
            try phone.store.save([record], phone.engine)
        }
        try await expect(["a": "1"], on: phone, tablet)
        let reports = try await phone.cache.reports()
        #expect(
            reports.contains { if case .editOfDeletedRecord = $0.event { true } else { false } })
    }

    /// The phone has a change tag from the lost history of the zone, but no token.
    @Test func zoneThatWasNeverFetchedIsFetchedAfterALoss() async throws {
        let cloud = RestorableCloud()
        let (phone, tablet) = (try await cloud.device(), try await cloud.device())
        try phone.save("a", "1")
        try await phone.engine.sendChanges()
        let copy = try cloud.copy()
        try phone.save("b", "1")
        try await phone.engine.sendChanges()
        try await cloud.restore(copy)
        try await expect(["a": "1", "b": "1"], on: phone, tablet)
    }

    /// The copy does not have the zone, and the phone's database token is from before the zone's creation.
    @Test func lostZoneNewerThanTheTokenIsRecreated() async throws {
        let cloud = RestorableCloud()
        let phone = try await cloud.device()
        try await phone.sync()
        let copy = try cloud.copy()
        try phone.save("a", "1")
        try await phone.engine.sendChanges()
        try await cloud.restore(copy)
        let tablet = try await cloud.device()
        try await expect(["a": "1"], on: phone, tablet)
    }

    /// Another device saves a record in a zone that the phone deleted and emptied again: the zone stays.
    @Test func restoredZoneWithNewRecordsIsNotDeleted() async throws {
        let (cloud, phone, tablet) = try await devices(["a"])
        let copy = try cloud.copy()
        try await phone.cache.deleteZone(CKRecordZone.ID(ZoneID.list))
        try phone.store.resume(phone.engine)
        for device in [phone, phone] { try await device.sync() }
        try await cloud.restore(copy)
        for device in [phone, tablet] { try await device.sync() }
        try tablet.save("n", "1")
        try await tablet.sync()
        try phone.restart()
        try await expect(["n": "1"], on: phone, tablet)
    }

    /// A record that was deleted before the copy, while the tablet was off, is not a loss.
    @Test func recordDeletedElsewhereIsNotSentAgain() async throws {
        let (cloud, phone, tablet) = try await devices(["a", "b"])
        try phone.delete("b")
        try await phone.sync()
        let copy = try cloud.copy()
        try phone.save("a", "2")
        try await phone.sync()
        try await cloud.restore(copy)
        try await expect(["a": "2"], on: tablet, phone)
    }

    /// The copy is older than the zone.
    @Test func lostZoneIsRecreatedWithItsRecords() async throws {
        let cloud = RestorableCloud()
        let (phone, tablet) = (try await cloud.device(), try await cloud.device())
        for device in [phone, tablet] { try await device.sync() }
        let copy = try cloud.copy()
        for name in ["a", "b"] { try phone.save(name, "1") }
        for device in [phone, tablet, phone] { try await device.sync() }
        try await cloud.restore(copy)
        try await expect(["a": "1", "b": "1"], on: tablet, phone)
    }

    /// A deletion that the service still has counts, even if the token expires.
    @Test func deletedZoneIsNotRecreated() async throws {
        let (cloud, phone, tablet) = try await devices(["a"])
        try await phone.cache.deleteZone(CKRecordZone.ID(ZoneID.list))
        try phone.store.resume(phone.engine)
        try await phone.sync()
        let copy = try cloud.copy()
        try await cloud.restore(copy)
        try await expect([:], on: tablet, phone)
    }
}
