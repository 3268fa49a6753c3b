import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// A change that was sent without an answer: the process was killed or stopped before it came.
@Suite(.timeLimit(.minutes(20))) struct UncertainChangeTests {
    /// The service commits the pending change, and the process ends before the answer.
    private func sendAndDie(_ phone: Device) async throws {
        let batch = try phone.cache.store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
        #expect(!batch.isEmpty)
        _ = try await phone.remote.send(batch, isAtomic: false, operationID: "sent")
        try phone.restart()
    }

    private func delete(_ name: String, on tablet: Device) async throws {
        try await tablet.cache.sync()
        try tablet.delete(name)
        try await tablet.cache.sync()
    }

    /// Expects that the service and the device have a record with this text, or that neither has one.
    private func expectText(
        _ text: String?, of name: String, _ cloud: RealService, _ phone: Device,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let record = try await cloud.record(name)
        #expect((record == nil) == (text == nil), sourceLocation: sourceLocation)
        #expect(
            record?["text"] == text.map(FieldValue.string), sourceLocation: sourceLocation)
        #expect(try phone.text(name) == text, sourceLocation: sourceLocation)
    }

    /// Expects that the device's next sync keeps the record with the text "another" and leaves nothing pending.
    private func expectNextSync(
        by phone: Device, keepsAnother name: String, _ cloud: RealService,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await phone.sync()
        try await expectText("another", of: name, cloud, phone, sourceLocation: sourceLocation)
        #expect(
            try await phone.cache.status().pendingCount == 0, sourceLocation: sourceLocation)
    }

    /// A save arrived without an answer, and another device removed one of its fields: a later edit of another field
    /// must not restore that field.
    @Test func fieldOfUnansweredSaveRemovedElsewhereStaysRemoved() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let tablet = try Device(cloud)
        try phone.edit("a", ["text": .string("1")])
        try await phone.sync()
        try phone.edit("a", ["text": .string("2"), "size": .int64(1)])
        phone.link.fail("send", 0, .answerLost)
        let failure = SyncFailure(.networkUnavailable, message: "The test has no network.")
        for number in 1..<9 { phone.link.fail("database", number, .requestLost(failure)) }
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(try await cloud.record("a")?["size"] == .int64(1))
        #expect(try await !phone.cache.pendingRecordIDs().isEmpty)
        try await tablet.sync()
        cloud.pass()
        try tablet.edit("a", ["size": nil])
        try await tablet.sync()
        cloud.pass()
        try phone.edit("a", ["text": .string("3")])
        for _ in 0..<9 where try await !phone.cache.pendingRecordIDs().isEmpty {
            // The syncs fail until there is a network again.
            try? await phone.cache.sync()
        }
        for device in [phone, tablet] { try await device.sync() }
        let record = try #require(try await cloud.record("a"))
        #expect(record["text"] == .string("3"))
        #expect(record["size"] == nil)
        for device in [phone, tablet] {
            let here = try device.cache.snapshot(RecordID(name: "a", zoneID: .list))
            #expect(here?["size"] == nil)
            #expect(here?["text"] == .string("3"))
        }
    }

    @Test func unansweredNewRecordDeletedElsewhereStaysDeleted() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        try phone.save("b", "1")
        try await sendAndDie(phone)
        #expect(try await cloud.record("b") != nil)
        try await delete("b", on: tablet)
        var events = phone.cache.events().makeAsyncIterator()
        try await phone.sync()
        try await expectText(nil, of: "b", cloud, phone)
        try phone.cache.close()
        guard case .editOfDeletedRecord(let client) = await events.next() else {
            Issue.record("the app was not notified")
            return
        }
        #expect(client["text"] == "1")
    }

    /// The name belonged to a deleted record before, and every device knows of its deletion.
    @Test func unansweredRecreatedRecordDeletedElsewhereStaysDeleted() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        try phone.delete("a")
        try await phone.cache.sync()
        try await phone.cache.sync()
        try phone.save("a", "new")
        // The save waits until the zone's changes have reported the former record's deletion.
        let store = phone.cache.store
        #expect(try store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000).isEmpty)
        #expect(try store.backlog().zonesToFetch == [.list])
        guard case .token(let token) = try store.beginFetch(.list) else {
            Issue.record("the zone was fetched before")
            return
        }
        let page = try await phone.remote.zoneChanges(
            .list, since: token, knowing: [], limit: nil)
        _ = try store.apply(page, of: .list)
        try await sendAndDie(phone)
        #expect(try await cloud.record("a") != nil)
        try await delete("a", on: tablet)
        try await phone.sync()
        try await expectText(nil, of: "a", cloud, phone)
    }

    /// The feed returns the device's own deletion after the name was used again.
    @Test func fetchedOwnDeletionKeepsRecreatedRecord() async throws {
        let (cloud, phone, _) = try await Device.pairAndCloud(["a": "1"])
        try phone.delete("a")
        try await phone.cache.sync()
        try phone.save("a", "new")
        // The batch is taken but never sent.
        _ = try phone.cache.store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
        try phone.restart()
        try await phone.sync()
        try await expectText("new", of: "a", cloud, phone)
    }

    @Test func unansweredRecordInZoneRecreatedElsewhereStaysDeleted() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        try phone.save("b", "1")
        try await sendAndDie(phone)
        try phone.save("never sent", "1")
        // The zone is deleted and recreated before the phone fetches: the database lists it as changed.
        try await cloud.deleteZone(.list)
        try await cloud.createZone(.list)
        try await phone.sync()
        #expect(try await cloud.names() == ["never sent"])
        #expect(try phone.texts() == ["never sent": "1"])
        _ = tablet
    }

    @Test func recordKilledBeforeItsRequestIsSentAfterRestart() async throws {
        let (cloud, phone, _) = try await Device.pairAndCloud(["a": "1"])
        try phone.save("b", "1")
        _ = try phone.cache.store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
        try phone.restart()
        try await phone.sync()
        #expect(try await cloud.record("b")?["text"] == .string("1"))
        #expect(try await phone.cache.status().pendingCount == 0)
    }

    /// Changes that an earlier attempt may have made at the service, and that no change tag protects from being made
    /// twice.
    enum Unanswered: CaseIterable {
        case newRecord, deletion, deletionOfFormerRecord
    }

    /// Before such a change is sent again, the zone's changes must show whether another device has deleted the new
    /// record, or recreated the deleted one.
    @Test(arguments: Unanswered.allCases, [false, true])
    func unansweredChangeWaitsForZonesChanges(_ change: Unanswered, isKilled: Bool) async throws {
        let (_, phone, _) = try await Device.pairAndCloud(["a": "1"])
        switch change {
        case .newRecord: try phone.save("b", "1")
        case .deletion: try phone.delete("a")
        case .deletionOfFormerRecord:
            try phone.delete("a")
            try phone.save("a", "new")
        }
        func next() throws -> [OutgoingChange] {
            try phone.cache.store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
        }
        let batch = try next()
        #expect(batch.count == 1)
        if isKilled {
            try phone.restart()
        } else {
            try phone.cache.store.noteFailure(of: batch, SyncFailure(.serverResponseLost))
        }
        let store = phone.cache.store
        #expect(try next().isEmpty)
        #expect(try !store.hasSendable())
        #expect(try store.backlog().zonesToFetch == [.list])
        let page = try await phone.remote.zoneChanges(
            .list, since: nil, knowing: [], limit: nil)
        _ = try store.apply(page, of: .list)
        #expect(try next().map(\.change) == batch.map(\.change))
    }

    /// A parent is sent before its child, also when it is unknown whether the parent has arrived.
    @Test func childWaitsWithItsUnansweredParent() async throws {
        let (_, phone, _) = try await Device.pairAndCloud(["a": "1"])
        try phone.save("parent", "1")
        let store = phone.cache.store
        let batch = try store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
        try store.noteFailure(of: batch, SyncFailure(.serverResponseLost))
        try phone.cache.save([
            LocalEdit(
                id: RecordID(name: "child", zoneID: .list), type: "Item",
                changes: [Field(name: "text", value: .string("1"))], parent: .set("parent"))
        ])
        #expect(try store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000).isEmpty)
    }

    /// The running loop fetches the record's deletion, and does not send the record a second time.
    @Test func newRecordDeletedElsewhereBeforeItsRetryStaysDeleted() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        // The requests are the database's changes, the zone's changes, and the upload.
        phone.link.fail(call: 2, .answerLost)
        try phone.save("b", "1")
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        try await delete("b", on: tablet)
        let batch = try phone.cache.store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
        _ = try await phone.remote.send(batch, isAtomic: false, operationID: "sent")
        #expect(try await cloud.record("b") == nil)
        try await phone.sync()
        try await expectText(nil, of: "b", cloud, phone)
    }

    // MARK: A deletion without an answer

    /// The phone's record arrived without the phone knowing; the tablet deleted it and created another one of its name.
    @Test func deletionOfUnansweredRecordKeepsOneRecreatedElsewhere() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        try phone.save("b", "1")
        try await sendAndDie(phone)
        try await delete("b", on: tablet)
        try await tablet.cache.sync()
        cloud.pass()
        try tablet.save("b", "another")
        try await tablet.cache.sync()
        try phone.delete("b")
        try await expectNextSync(by: phone, keepsAnother: "b", cloud)
    }

    @Test func unansweredDeletionKeepsRecordRecreatedElsewhere() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        try phone.delete("a")
        // The requests are the database's changes, the zone's changes, and the upload.
        phone.link.fail(call: 2, .answerLost)
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(try await cloud.record("a") == nil)
        try await tablet.cache.sync()
        try tablet.save("a", "another")
        try await tablet.cache.sync()
        try await expectNextSync(by: phone, keepsAnother: "a", cloud)
    }

    @Test func deletionWinsOverFetchedEdit() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        try phone.delete("a")
        try tablet.save("a", "2")
        try await tablet.cache.sync()
        try await phone.sync()
        try await expectText(nil, of: "a", cloud, phone)
    }

    /// Between the fetch and the deletion another device deletes the record and creates one with the same name.
    @Test func deletionInFlightKeepsRecordRecreatedElsewhere() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        try phone.delete("a")
        phone.link.beforeNextSend {
            try await cloud.delete("a")
            try await cloud.save("a", "another")
        }
        try await expectNextSync(by: phone, keepsAnother: "a", cloud)
        _ = tablet
    }

    @Test func deletionInFlightWinsOverConcurrentEdit() async throws {
        let (cloud, phone, tablet) = try await Device.pairAndCloud(["a": "1"])
        try phone.delete("a")
        phone.link.beforeNextSend {
            try await cloud.save("a", "edited")
        }
        try await phone.sync()
        try await expectText(nil, of: "a", cloud, phone)
        _ = tablet
    }

    // MARK: An edit without an answer

    @Test func laterEditSurvivesLostAnswerOfEarlierAndEditOfOtherField() async throws {
        let cloud = RealService()
        let phone = try Device(cloud, time: TestTime(skewMilliseconds: -5_000))
        let tablet = try Device(cloud, time: TestTime(skewMilliseconds: 9_000))
        try phone.save("a", "0")
        try await phone.cache.sync()
        try await tablet.cache.sync()
        try phone.save("a", "1")
        phone.link.fail(call: 2, .answerLost)
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(try await cloud.record("a")?["text"] == .string("1"))
        try await expectMerged(phone, tablet, cloud)
    }

    /// The same with an app's resolver that compares with the ancestor and does not use edit times.
    @Test func ancestorIsTheLastSaveOfThisDeviceAtTheService() async throws {
        struct ThreeWay: ConflictResolver {
            func resolve(_ conflict: SyncConflict) -> ConflictResolution {
                var merged = conflict.server
                for name in ["text", "colour"] {
                    let (ancestor, client) = (conflict.ancestor?[name], conflict.client[name])
                    if conflict.server[name] == ancestor { merged[name] = client }
                }
                return .save(fields: merged.fields)
            }
        }
        let cloud = RealService()
        let phone = try Device(cloud, resolver: ThreeWay(), editDateKey: nil)
        let tablet = try Device(cloud, resolver: ThreeWay(), editDateKey: nil)
        try phone.save("a", "0")
        try await phone.cache.sync()
        try await tablet.cache.sync()
        try phone.save("a", "1")
        try await sendAndDie(phone)
        try await expectMerged(phone, tablet, cloud)
    }

    /// Expects that the tablet's colour and the phone's next text are both kept.
    private func expectMerged(
        _ phone: Device, _ tablet: Device, _ cloud: RealService
    ) async throws {
        try await tablet.cache.sync()
        try tablet.edit("a", ["colour": .string("red")])
        try await tablet.cache.sync()
        try phone.save("a", "2")
        try await phone.sync()
        #expect(try await cloud.record("a")?["text"] == .string("2"))
        #expect(try await cloud.record("a")?["colour"] == .string("red"))
    }
}
