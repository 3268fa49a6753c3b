import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Deleted records stay deleted, and recreated ones stay too.
@Suite(.timeLimit(.minutes(20))) struct DeletionTests {
    private func id(_ name: String) -> CKRecord.ID {
        CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(.list))
    }

    private func synced() async throws -> (cloud: RealService, phone: Device) {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        return (cloud, phone)
    }

    /// Expects that only the save of the record "b" is sent if the record is deleted while its save is in flight.
    ///
    /// - Parameter attempt: A sync before the one that succeeds.
    private func expectUnsentDeletion(
        by phone: Device, _ cloud: RealService,
        sourceLocation: SourceLocation = #_sourceLocation, after attempt: () async -> Void
    ) async throws {
        let sends = phone.link.callNames.count { $0 == "send" }
        phone.link.beforeNextSend { try phone.delete("b") }
        await attempt()
        try await phone.sync()
        #expect(
            phone.link.callNames.count { $0 == "send" } == sends + 1,
            sourceLocation: sourceLocation)
        #expect(
            try await phone.cache.pendingRecordIDs().isEmpty, sourceLocation: sourceLocation)
        #expect(try await cloud.record("b") == nil, sourceLocation: sourceLocation)
    }

    @Test func saveAnswerAfterZoneDeletionDoesNotConfirmNewEdit() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        try phone.save("a", "old")
        phone.link.duringNextSend { [phone] in
            try phone.cache.deleteZone(CKRecordZone.ID(.list))
            try phone.save("a", "new")
        }
        try await phone.cache.sync()
        #expect(try await cloud.record("a")?["text"] == .string("new"))
        #expect(try phone.texts() == ["a": "new"])
    }

    /// A new record is deleted while its save is in flight, and the save is refused. The service never had the record,
    /// and a deletion would remove one that another device created under its name meanwhile.
    @Test func deletionOfANewRecordAfterRefusedRequestIsNotSent() async throws {
        let (cloud, phone) = try await synced()
        try phone.save("b", "phone's")
        try await expectUnsentDeletion(by: phone, cloud) {
            phone.link.fail("send", 0, .requestLost(SyncFailure(.serviceUnavailable)))
            // The first attempt may end with the refusal.
            try? await phone.cache.sync()
        }
    }

    @Test func deletionOfARefusedNewRecordIsNotSent() async throws {
        let (cloud, phone) = try await synced()
        let target = Reference(recordName: "missing", action: .deleteSelf)
        try phone.edit("b", ["owner": .reference(target)])
        try await expectUnsentDeletion(by: phone, cloud) {}
    }

    /// A recreated record is not sent until the zone's changes have reported the former one's deletion, and neither are
    /// records that refer to it.
    @Test func newChildWaitsForItsRecreatedParent() async throws {
        let (cloud, phone) = try await synced()
        try phone.delete("a")
        let batch = try phone.cache.store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
        let answers = try await phone.remote.send(batch, isAtomic: false, operationID: "1")
        _ = try phone.cache.store.confirm(batch, answers, [.confirmed])
        try phone.save("a", "new")
        let parent = Reference(recordName: "a", action: .deleteSelf)
        try phone.edit("b", ["owner": .reference(parent)])
        let store = phone.cache.store
        #expect(try store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000).isEmpty)
        #expect(try store.zonesAwaited() == [.list])
        try await phone.sync()
        #expect(try await cloud.record("a")?["text"] == .string("new"))
        #expect(try await cloud.record("b") != nil)
        #expect(try await phone.cache.attentionItems().isEmpty)
    }

    @Test func recreatedRecordSurvivesUnansweredDelete() async throws {
        let (cloud, phone) = try await synced()
        try phone.delete("a")
        // The requests are the database's changes, the zone's changes, and the upload.
        phone.link.fail(call: 2, .answerLost)
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(try await cloud.record("a") == nil)
        try phone.save("a", "new")
        try await phone.sync()
        #expect(try phone.texts() == ["a": "new"])
        #expect(try await cloud.record("a")?["text"] == .string("new"))
    }

    @Test func recreatedRecordSurvivesRemoteDelete() async throws {
        let (cloud, phone) = try await synced()
        try phone.delete("a")
        try phone.save("a", "new")
        let tablet = try Device(cloud)
        try await tablet.cache.sync()
        // Between the fetch and the upload, so that the save fails with `unknownItem`.
        phone.link.duringNextPage { [tablet] in
            try tablet.delete("a")
            try await tablet.cache.sync()
        }
        await phone.cache.fetchSoon(CKRecordZone.ID(.list))
        try await phone.cache.sync()
        #expect(try phone.texts() == ["a": "new"])
        #expect(try await cloud.record("a")?["text"] == .string("new"))
    }

    /// The phone deletes the record and creates another one of its name before it sends; the tablet deletes the first
    /// one.
    ///
    /// - Parameter hasTimes: Whether the record has a field of times, which shows that it is another record.
    @Test(arguments: [true, false])
    func deletionElsewhereKeepsRecreatedRecord(hasTimes: Bool) async throws {
        let cloud = RealService()
        let resolver = FieldWise(fieldTimesKey: hasTimes ? FieldWise.defaultFieldTimesKey : nil)
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1"], resolver: resolver)
        try phone.delete("a")
        try phone.save("a", "new")
        try await phone.sync()
        try tablet.delete("a")
        try await tablet.sync()
        try await phone.sync()
        #expect(try await cloud.record("a")?["text"] == .string("new"))
        #expect(try phone.texts() == ["a": "new"])
        #expect(try tablet.texts() == ["a": "new"])
    }

    /// No field distinguishes the two records, so the first one is deleted at the service before the second one is
    /// saved.
    @Test(arguments: [true, false], [true, false])
    func recreatedRecordSurvivesUnansweredDeletionOfItsPredecessor(
        arrives: Bool, restarts: Bool
    ) async throws {
        let cloud = RealService()
        let resolver = FieldWise(fieldTimesKey: nil)
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1"], resolver: resolver)
        try phone.delete("a")
        try phone.save("a", "new")
        // The requests are the database's changes, the zone's changes, and the upload.
        phone.link.fail(
            call: 2, arrives ? .answerLost : .requestLost(SyncFailure(.networkFailure)))
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(try await (cloud.record("a") == nil) == arrives)
        if restarts { try phone.restart() }
        try tablet.save("a", "edited")
        try await tablet.sync()
        try await phone.sync()
        try await tablet.sync()
        #expect(try await cloud.record("a")?["text"] == .string("new"))
        #expect(try phone.texts() == ["a": "new"])
        #expect(try tablet.texts() == ["a": "new"])
    }

    /// The tablet has deleted and recreated a record, and the phone deletes it without knowing. Then the phone fetches
    /// everything again, and the record is older than its last intact version.
    @Test func recordRecreatedElsewhereBeforeTheIntactVersionStays() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1"])
        try tablet.delete("a")
        try tablet.save("a", "another")
        var another = try #require(
            try tablet.cache.snapshot(RecordID(name: "a", zoneID: .list)))
        another.system = .init(changeTag: "5.0", createdMilliseconds: 2_000_000)
        cloud.pass()
        try phone.delete("a")
        try await phone.cache.sync()
        let store = phone.cache.store
        try store.dropToken(of: .list, lastIntactVersion: 9)
        _ = try store.beginFetch(.list)
        _ = try store.apply(ZonePage(records: [another], token: "0.9"), of: .list)
        #expect(try phone.texts() == ["a": "another"])
        #expect(try await phone.cache.status().pendingCount == 0)
    }

    @Test func savingStaleRecordKeepsItDeleted() async throws {
        let (cloud, phone) = try await synced()
        let stale = try await #require(try phone.cache.record(for: id("a")))
        try phone.delete("a")
        // Saved while the deletion is pending, after it was sent, and after a restart.
        for step in 0..<3 {
            stale["colour"] = "red \(step)"
            var events = phone.cache.events().makeAsyncIterator()
            try await phone.cache.save(stale)
            guard case .editOfDeletedRecord(let client) = await events.next() else {
                Issue.record("the app was not notified")
                return
            }
            #expect(client["colour"] == "red \(step)")
            #expect(try phone.texts().isEmpty)
            try await phone.cache.sync()
            #expect(try await cloud.record("a") == nil, "step \(step)")
            if step == 1 { try phone.restart() }
        }
    }

    @Test func savingStaleRecordKeepsZoneDeleted() async throws {
        let (cloud, phone) = try await synced()
        let stale = try await #require(try phone.cache.record(for: id("a")))
        stale["colour"] = "red"
        try await cloud.deleteZone(.list)
        try await phone.cache.sync()
        try await phone.cache.save(stale)
        try await phone.cache.sync()
        try await phone.expectNoZones(cloud)
    }

    @Test func resavingRemotelyDeletedRecordKeepsItDeleted() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let record = CKRecord(recordType: "Item", recordID: id("a"))
        record["text"] = "1"
        try await phone.cache.save(record)
        try await phone.cache.sync()
        let tablet = try Device(cloud)
        try await tablet.cache.sync()
        try tablet.delete("a")
        try await tablet.cache.sync()
        try await phone.cache.sync()
        // The same object as before, which never got a change tag.
        record["text"] = "2"
        try await phone.cache.save(record)
        try await phone.cache.sync()
        #expect(try await cloud.record("a") == nil)
        // A new object with the same ID creates another record.
        let another = CKRecord(recordType: "Item", recordID: id("a"))
        another["text"] = "3"
        try await phone.cache.save(another)
        try await phone.cache.sync()
        #expect(try await cloud.record("a")?["text"] == .string("3"))
    }

    @Test func resolverResurrectsStaleRecord() async throws {
        let cloud = RealService()
        let phone = try Device(cloud, resolver: KeepsClient())
        try phone.save("a", "1")
        try await phone.cache.sync()
        let stale = try await #require(try phone.cache.record(for: id("a")))
        try phone.delete("a")
        try await phone.cache.sync()
        stale["colour"] = "red"
        try await phone.cache.save(stale)
        try await phone.cache.sync()
        #expect(try await cloud.record("a")?["colour"] == .string("red"))
        #expect(try await cloud.record("a")?["text"] == .string("1"))
    }

    @Test func recordFetchedOutsideCacheKeepsParentAndTag() async throws {
        let cloud = RealService()
        let tablet = try Device(cloud)
        try tablet.save("root", "1")
        try tablet.cache.save([
            LocalEdit(
                id: RecordID(name: "a", zoneID: .list), type: "Item",
                changes: [
                    Field(name: "text", value: .string("1")), Field(name: "size", value: .int64(1)),
                ], parent: .set("root"))
        ])
        try await tablet.cache.sync()
        let fetched = try await #require(try tablet.cache.record(for: id("a")))
        fetched["text"] = "2"
        let phone = try Device(cloud)
        try await phone.cache.save(fetched)
        #expect(try await phone.cache.record(for: id("a"))?.parent?.recordID == id("root"))
        try await phone.cache.sync()
        #expect(try await cloud.record("a")?["text"] == .string("2"))
        #expect(try await cloud.record("a")?["size"] == .int64(1))
        #expect(try await cloud.record("a")?.parentRecordName == "root")
    }

    @Test func unansweredCreateDeletedRemotelyStaysDeleted() async throws {
        let (cloud, phone) = try await synced()
        try phone.save("b", "1")
        phone.link.fail(call: 2, .answerLost)
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(try await cloud.record("b") != nil)
        let tablet = try Device(cloud)
        try await tablet.cache.sync()
        try tablet.delete("b")
        try await tablet.cache.sync()
        try phone.restart()
        try await phone.sync()
        #expect(try await cloud.record("b") == nil)
        #expect(try phone.text("b") == nil)
    }
}
