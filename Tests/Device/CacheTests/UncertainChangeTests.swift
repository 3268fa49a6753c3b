import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// A change that left, and whose answer never came: the process was killed, or stopped, between the two.
@Suite(.timeLimit(.minutes(5))) struct UncertainChangeTests {
    private func synced() async throws -> (cloud: MemoryCloud, phone: Device, tablet: Device) {
        let cloud = MemoryCloud()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1"])
        return (cloud, phone, tablet)
    }

    /// The service commits what is pending, and the process dies before it hears so.
    private func sendAndDie(_ phone: Device) async throws {
        let batch = try phone.cache.store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
        #expect(!batch.isEmpty)
        _ = try await phone.link.send(batch, isAtomic: false)
        try phone.restart()
    }

    private func delete(_ name: String, on tablet: Device) async throws {
        try await tablet.cache.sync()
        try tablet.delete(name)
        try await tablet.cache.sync()
    }

    @Test func newRecordKilledBeforeAnswerStaysDeleted() async throws {
        let (cloud, phone, tablet) = try await synced()
        try phone.save("b", "1")
        try await sendAndDie(phone)
        #expect(cloud.record("b") != nil)
        try await delete("b", on: tablet)
        var events = phone.cache.events().makeAsyncIterator()
        try await phone.sync()
        #expect(cloud.record("b") == nil)
        #expect(try phone.text("b") == nil)
        try phone.cache.close()
        guard case .editOfDeletedRecord(let client) = await events.next() else {
            Issue.record("the app was not told")
            return
        }
        #expect(client["text"] == "1")
    }

    /// The name was deleted once before, and everybody knows it.
    @Test func recordOfFormerNameKilledBeforeAnswerStaysDeleted() async throws {
        let (cloud, phone, tablet) = try await synced()
        try phone.delete("a")
        try await phone.cache.sync()
        try await phone.cache.sync()
        try phone.save("a", "new")
        // It waits until the zone's changes have told of the former record.
        let store = phone.cache.store
        #expect(try store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000).isEmpty)
        #expect(try store.backlog().zonesToFetch == [.list])
        guard case .token(let token) = try store.beginFetch(.list) else {
            Issue.record("the zone was fetched before")
            return
        }
        let page = try await phone.link.zoneChanges(
            .list, since: token, knowing: [], limit: nil)
        _ = try store.apply(page, of: .list)
        try await sendAndDie(phone)
        #expect(cloud.record("a") != nil)
        try await delete("a", on: tablet)
        try await phone.sync()
        #expect(cloud.record("a") == nil)
        #expect(try phone.text("a") == nil)
    }

    /// The device's own deletion comes back with the feed, after the name was used again.
    @Test func ownOldDeletionSparesNewRecord() async throws {
        let (cloud, phone, _) = try await synced()
        try phone.delete("a")
        try await phone.cache.sync()
        try phone.save("a", "new")
        // Taken, and never sent.
        _ = try phone.cache.store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
        try phone.restart()
        try await phone.sync()
        #expect(cloud.record("a")?["text"] == .string("new"))
        #expect(try phone.text("a") == "new")
    }

    @Test func recordInZoneMadeAnewElsewhereStaysDeleted() async throws {
        let (cloud, phone, tablet) = try await synced()
        try phone.save("b", "1")
        try await sendAndDie(phone)
        try phone.save("never sent", "1")
        // Deleted and made again before the phone looks: the database names the zone as changed.
        cloud.state.withLock { state in
            state.version += 1
            state.zones[.list] = MemoryCloud.Zone(version: 0, generation: 7)
            state.changedAt[.list] = state.version
        }
        try await phone.sync()
        #expect(cloud.names() == ["never sent"])
        #expect(try phone.texts() == ["never sent": "1"])
        _ = tablet
    }

    @Test func recordThatNeverLeftIsSentAfterAll() async throws {
        let (cloud, phone, _) = try await synced()
        try phone.save("b", "1")
        _ = try phone.cache.store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
        try phone.restart()
        try await phone.sync()
        #expect(cloud.record("b")?["text"] == .string("1"))
        #expect(try await phone.cache.status().pendingCount == 0)
    }

    // MARK: A deletion without an answer

    @Test func unansweredDeletionSparesRecordMadeAnewElsewhere() async throws {
        let (cloud, phone, tablet) = try await synced()
        try phone.delete("a")
        // The database's changes, the zone's, then the upload.
        phone.link.fail(call: 2, .answerLost)
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(cloud.record("a") == nil)
        try await tablet.cache.sync()
        try tablet.save("a", "another")
        try await tablet.cache.sync()
        try await phone.sync()
        #expect(cloud.record("a")?["text"] == .string("another"))
        #expect(try phone.text("a") == "another")
        #expect(try await phone.cache.status().pendingCount == 0)
    }

    @Test func deletionOfRecordEditedElsewhereStands() async throws {
        let (cloud, phone, tablet) = try await synced()
        try phone.delete("a")
        try tablet.save("a", "2")
        try await tablet.cache.sync()
        try await phone.sync()
        #expect(cloud.record("a") == nil)
        #expect(try phone.text("a") == nil)
    }

    /// Between the fetch and the deletion somebody deletes the record, and makes one of its name.
    @Test func deletionOnItsWaySparesRecordMadeAnewMeanwhile() async throws {
        let (cloud, phone, tablet) = try await synced()
        try phone.delete("a")
        phone.link.beforeNextSend {
            cloud.state.withLock { state in
                state.store(nil, "a", .list)
                state.store(
                    RecordSnapshot(
                        id: RecordID(name: "a", zoneID: .list), type: "Item",
                        system: .init(changeTag: "another", createdMilliseconds: 9_000_000),
                        fields: [Field(name: "text", value: .string("another"))]),
                    "a", .list)
            }
        }
        try await phone.sync()
        #expect(cloud.record("a")?["text"] == .string("another"))
        #expect(try phone.text("a") == "another")
        #expect(try await phone.cache.status().pendingCount == 0)
        _ = tablet
    }

    @Test func deletionMeetsEditOnItsWayAndStands() async throws {
        let (cloud, phone, tablet) = try await synced()
        try phone.delete("a")
        let own = try #require(cloud.record("a")?.system)
        phone.link.beforeNextSend {
            cloud.state.withLock { state in
                var system = own
                system.changeTag = "edited"
                state.store(
                    RecordSnapshot(
                        id: RecordID(name: "a", zoneID: .list), type: "Item", system: system,
                        fields: [Field(name: "text", value: .string("edited"))]),
                    "a", .list)
            }
        }
        try await phone.sync()
        #expect(cloud.record("a") == nil)
        #expect(try phone.text("a") == nil)
        _ = tablet
    }

    // MARK: An edit without an answer

    @Test func laterEditSurvivesLostAnswerOfEarlierAndEditOfOtherField() async throws {
        let cloud = MemoryCloud()
        let phone = try Device(cloud, time: TestTime(skewMilliseconds: -5_000))
        let tablet = try Device(cloud, time: TestTime(skewMilliseconds: 9_000))
        try phone.save("a", "0")
        try await phone.cache.sync()
        try await tablet.cache.sync()
        try phone.save("a", "1")
        phone.link.fail(call: 2, .answerLost)
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(cloud.record("a")?["text"] == .string("1"))
        try await expectMerged(phone, tablet, cloud)
    }

    /// The same for a resolver of the app that compares with the ancestor and knows no times.
    @Test func ancestorIsTheNewestOfWhatTheServiceHasOfThisDevice() async throws {
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
        let cloud = MemoryCloud()
        let phone = try Device(cloud, resolver: ThreeWay(), editDateKey: nil)
        let tablet = try Device(cloud, resolver: ThreeWay(), editDateKey: nil)
        try phone.save("a", "0")
        try await phone.cache.sync()
        try await tablet.cache.sync()
        try phone.save("a", "1")
        try await sendAndDie(phone)
        try await expectMerged(phone, tablet, cloud)
    }

    /// The tablet's colour and the phone's next text are both kept.
    private func expectMerged(
        _ phone: Device, _ tablet: Device, _ cloud: MemoryCloud
    ) async throws {
        try await tablet.cache.sync()
        try tablet.edit("a", ["colour": .string("red")])
        try await tablet.cache.sync()
        try phone.save("a", "2")
        try await phone.sync()
        #expect(cloud.record("a")?["text"] == .string("2"))
        #expect(cloud.record("a")?["colour"] == .string("red"))
    }
}
