import StratusCache
import StratusClient
import StratusSync
import StratusSyncEngine
import StratusTesting
import StratusWire
import Testing

/// An engine over a cache when something goes wrong: the promises of the cache's own syncing hold here too.
@Suite(.timeLimit(.minutes(20))) struct EngineStoreErrorTests {
    // MARK: Changes without an answer

    /// - Parameter isFetched: Whether the engine has a token of the zone.
    @Test(arguments: [false, true], [false, true])
    func unansweredNewRecordDeletedElsewhereStaysDeleted(
        isFetched: Bool, isKilled: Bool
    ) async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(cloud)
        try phone.save("a", "1")
        try await phone.sync()
        if isFetched { try await phone.engine.fetchChanges() }
        try await phone.sendUnanswered("b", cloud, .dropConnectionAfterCommit)
        if isKilled { try phone.restart() }
        try await tablet.sync()
        try tablet.delete("b")
        try await tablet.sync()
        // Nothing was fetched since, so the save waits.
        try await phone.engine.sendChanges()
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "1"])
        #expect(try phone.texts()["b"] == "1")
        try await phone.sync()
        #expect(try phone.texts() == ["a": "1"])
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
        let report = try #require(try await phone.cache.reports().first)
        guard case .editOfDeletedRecord(let client) = report.event else {
            Issue.record("The app got another event: \(report.event)")
            return
        }
        #expect(client["text"] == "1")
    }

    @Test(arguments: [false, true]) func unansweredSaveIsNeitherLostNorDuplicated(
        arrives: Bool
    ) async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(cloud)
        try await phone.sendUnanswered(
            "b", cloud, arrives ? .dropConnectionAfterCommit : .dropConnectionBeforeCommit)
        try await phone.sync()
        try await tablet.sync()
        for app in [phone, tablet] { #expect(try app.texts() == ["b": "1"]) }
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        #expect(try await phone.cache.reports().isEmpty)
    }

    @Test func unansweredDeletionKeepsRecordRecreatedElsewhere() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(cloud, ["a": "1"])
        cloud.faults(on: "phone").next(of: RecordsModify.self, .dropConnectionAfterCommit)
        try phone.delete("a")
        await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
        try await tablet.sync()
        try tablet.save("a", "another")
        try await tablet.sync()
        try await phone.engine.sendChanges()
        try await phone.sync()
        try await tablet.sync()
        for app in [phone, tablet] { #expect(try app.texts() == ["a": "another"]) }
    }

    @Test func childWaitsWithItsUnansweredParent() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(cloud)
        try await phone.sendUnanswered("parent", cloud, .dropConnectionBeforeCommit)
        let parentID = CKRecord.ID(recordName: "parent", zoneID: .list)
        let child = CKRecord(
            recordType: "Item", recordID: CKRecord.ID(recordName: "child", zoneID: .list))
        child["text"] = "2"
        child.setParent(parentID)
        try phone.store.save([child], phone.engine)
        try await phone.engine.sendChanges()
        #expect(phone.engine.state.pendingRecordZoneChanges.count == 2)
        try await phone.sync()
        try await tablet.sync()
        #expect(try tablet.texts() == ["parent": "1", "child": "2"])
        #expect(try await phone.cache.attentionItems().isEmpty)
    }

    // MARK: Reused names

    private static func resolver(_ hasTimes: Bool) -> FieldWise {
        FieldWise(fieldTimesKey: hasTimes ? FieldWise.defaultFieldTimesKey : nil)
    }

    /// A recreated record is another record than the deleted one on all devices, as with the cache's own syncing.
    ///
    /// - Parameter hasTimes: Whether the record has a field of times, which shows that it is another record.
    @Test(arguments: [true, false])
    func recreatedRecordHasNoFieldOfTheDeletedOne(hasTimes: Bool) async throws {
        let (phone, tablet) = try await EngineDevice.pair(
            TestCloud(), ["a": "1"], resolver: Self.resolver(hasTimes))
        let id = CKRecord.ID(recordName: "a", zoneID: .list)
        let former = try #require(try await tablet.cache.record(for: id))
        former["colour"] = "red"
        try tablet.store.save([former], tablet.engine)
        try phone.delete("a")
        try phone.save("a", "new")
        try await tablet.sync()
        for app in [phone, tablet, phone] { try await app.sync() }
        for app in [phone, tablet] {
            let record = try #require(try await app.cache.record(for: id))
            #expect(record["text"] == "new" && record["colour"] == nil)
            #expect(try await app.cache.pendingRecordIDs().isEmpty)
        }
    }

    @Test func unansweredRecreatedRecordDeletedElsewhereStaysDeleted() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pairWithRecreatedRecord(cloud)
        cloud.faults(on: "phone").next(of: RecordsModify.self, .dropConnectionAfterCommit)
        // The sync whose answer is lost fails.
        for _ in 0..<3 where !cloud.faults(on: "phone").isEmpty { try? await phone.sync() }
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "new"])
        try await phone.expectNoRecords(afterDeletionOf: "a", by: tablet)
    }

    /// A record that was recreated under the name of a deleted one waits for the zone's changes here too: after a lost
    /// answer it would be unknown which of the two another device deleted.
    @Test func recreatedRecordWaitsForItsPredecessorsDeletion() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pairWithRecreatedRecord(cloud)
        cloud.faults(on: "phone").next(of: RecordsModify.self, .dropConnectionAfterCommit)
        // Nothing can be sent before a fetch.
        try? await phone.engine.sendChanges()
        #expect(!cloud.faults(on: "phone").isEmpty)  // The sync whose answer is lost fails.
        for _ in 0..<3 where !cloud.faults(on: "phone").isEmpty { try? await phone.sync() }
        try await tablet.sync()
        try await phone.expectNoRecords(afterDeletionOf: "a", by: tablet)
    }

    /// The record is recreated before the engine has sent its deletion, and another device deletes the new one.
    ///
    /// - Parameter lost: The number of the request whose answer is lost.
    @Test(arguments: [0, 1], [true, false])
    func recordRecreatedBeforeAnySendAndDeletedElsewhereStaysDeleted(
        lost: Int, hasTimes: Bool
    ) async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(
            cloud, ["a": "1"], resolver: Self.resolver(hasTimes))
        try phone.delete("a")
        try phone.save("a", "new")
        for number in 0..<2 where try tablet.texts()["a"] != "new" {
            if number > 0 { try await phone.engine.fetchChanges() }
            if number == lost {
                cloud.faults(on: "phone").next(of: RecordsModify.self, .dropConnectionAfterCommit)
            }
            // One of the requests gets no answer.
            try? await phone.engine.sendChanges()
            try await tablet.sync()
        }
        #expect(try tablet.texts() == ["a": "new"])
        try await phone.expectNoRecords(afterDeletionOf: "a", by: tablet)
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    /// Two devices delete a record, and one of them has recreated it before the other one sends.
    ///
    /// - Parameter isRecreated: Whether the other one recreates it too.
    @Test(arguments: [true, false], [true, false])
    func deletionKeepsRecordRecreatedElsewhere(isRecreated: Bool, hasTimes: Bool) async throws {
        let (phone, tablet) = try await EngineDevice.pair(
            TestCloud(), ["a": "1"], resolver: Self.resolver(hasTimes))
        try tablet.delete("a")
        try await tablet.sync()
        try tablet.save("a", "another")
        try await tablet.sync()
        try phone.delete("a")
        if isRecreated { try phone.save("a", "new") }
        await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "another"])
        for app in [phone, tablet] { try await app.sync() }
        #expect(try tablet.texts() == ["a": isRecreated ? "new" : "another"])
        #expect(try phone.texts() == tablet.texts())
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    /// The record waits for the former one's deletion, which a missing zone cannot report.
    @Test func recordRecreatedInMissingZoneIsSentIntoTheRecreatedZone() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pairWithRecreatedRecord(cloud)
        cloud.faults(on: "phone").next(of: ChangesZone.self, .answer(.zoneNotFound))
        // The engine reports the zone, or retries later.
        try? await phone.engine.fetchChanges()
        #expect(cloud.faults(on: "phone").isEmpty)
        try await phone.engine.sendChanges()
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "new"])
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    // MARK: Accounts

    /// - Parameter isRestarted: Whether the app learns of the other user with a new engine.
    @Test(arguments: [false, true]) func fileIsNotSyncedForAnotherUser(isRestarted: Bool)
        async throws
    {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(cloud)
        let bobs = try await EngineDevice(cloud, "bobs", user: "bob")
        try phone.save("alice's", "1")
        try await phone.sync()
        try bobs.save("bob's", "1")
        try await bobs.sync()
        try phone.save("unsent", "1")
        try phone.cache.save("unsent", "1", zone: CKRecordZone.ID(zoneName: "Secret"))
        try await cloud.signIn("bob", on: phone.connection)
        if isRestarted { try phone.restart() }
        try await phone.sync()
        #expect(try phone.texts() == ["alice's": "1", "unsent": "1"])
        #expect((phone.store.failure as? CacheError)?.haltReason == .otherAccount)
        try await bobs.sync()
        #expect(try bobs.texts() == ["bob's": "1"])
        #expect(try await bobs.cache.zoneIDs() == [.list])
        try await cloud.signIn("alice", on: phone.connection)
        for app in [phone, tablet] { try await app.sync() }
        #expect(phone.store.failure == nil)
        for app in [phone, tablet] {
            #expect(try app.texts() == ["alice's": "1", "unsent": "1"])
        }
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    /// The user is signed out meanwhile.
    @Test func editMadeSignedOutIsSentAfterwards() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(cloud)
        try phone.save("a", "1")
        try await phone.sync()
        try phone.connection.signOut()
        await #expect(throws: CKError.self) { try await phone.engine.fetchChanges() }
        try phone.save("b", "1")
        try await cloud.signIn("alice", on: phone.connection)
        for app in [phone, tablet] { try await app.sync() }
        #expect(try tablet.texts() == ["a": "1", "b": "1"])
    }

    // MARK: Comparison with a full fetch

    /// After an expired token the engine cannot report earlier deletions; the store compares all its records.
    @Test func fullFetchAfterExpiredTokenRemovesDeletedRecords() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(cloud)
        for name in ["a", "b"] { try tablet.save(name, "1") }
        for app in [tablet, phone] { try await app.sync() }
        try phone.save("c", "1")
        try tablet.delete("a")
        try await tablet.sync()
        cloud.faults.next(of: ChangesZone.self, .expireChangeTokens)
        try await phone.sync()
        #expect(cloud.faults.remaining.isEmpty)
        #expect(try phone.texts() == ["b": "1", "c": "1"])
        try await tablet.sync()
        #expect(try tablet.texts() == ["b": "1", "c": "1"])
    }

    @Test func batchBeyondTheLimitIsSentInParts() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(cloud)
        try phone.save("first", "1")
        try await phone.sync()
        for number in 0..<4 { try phone.save("\(number)", "1") }
        cloud.faults.next(
            2, of: RecordsModify.self, .answer(.badRequest, frameworkCode: .limitExceeded))
        try await phone.sync()
        #expect(try await phone.cache.attentionItems().isEmpty)
        try await tablet.sync()
        #expect(try tablet.texts().count == 5)
    }

    // MARK: Missing zones

    /// The phone learns of the zone's deletion only when it tries to save into it.
    @Test func editDoesNotRecreateZoneDeletedElsewhere() async throws {
        let (phone, tablet) = try await EngineDevice.pair(TestCloud(), ["a": "1"])
        try await tablet.cache.deleteZone(.list)
        try tablet.store.resume(tablet.engine)
        try await tablet.sync()
        try phone.save("a", "2")
        await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
        // The save waits for the database's changes.
        try await phone.engine.sendChanges()
        try await tablet.sync()
        #expect(try await tablet.cache.zoneIDs().isEmpty)
        for app in [phone, tablet] { try await app.sync() }
        for app in [phone, tablet] { #expect(try await app.cache.zoneIDs().isEmpty) }
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
        let report = try #require(try await phone.cache.reports().first)
        guard case .zoneDeleted(_, _, let lost) = report.event else {
            Issue.record("The app got another event: \(report.event)")
            return
        }
        #expect(lost.map(\.recordName) == ["a"])
    }

    @Test func missingZoneWithoutDeletionIsRecreated() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(cloud, ["a": "1"])
        try phone.save("b", "1")
        cloud.faults.next(of: RecordsModify.self, .answer(.zoneNotFound))
        await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
        for app in [phone, tablet] { try await app.sync() }
        for app in [phone, tablet] { #expect(try app.texts() == ["a": "1", "b": "1"]) }
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    @Test func refusedZoneIsSetAsideWithItsRecords() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(cloud)
        try phone.save("a", "1")
        cloud.faults.next(of: ZonesModify.self, .answer(.accessDenied))
        await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
        try await phone.engine.sendChanges()
        let items = try await phone.cache.attentionItems()
        #expect(items.map(\.recordID.recordName) == ["a"])
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
        try await phone.cache.retryAttentionItems()
        try phone.store.resume(phone.engine)
        for app in [phone, tablet] { try await app.sync() }
        #expect(try tablet.texts() == ["a": "1"])
    }

    // MARK: Automatic engines

    /// An automatic engine performs the fetches that the store waits for without a call of the app.
    @Test(arguments: [
        DeviceFaults.Effect.dropConnectionBeforeCommit, .dropConnectionAfterCommit,
        .answer(.zoneNotFound),
    ])
    func automaticEngineRetriesAfterFailure(after effect: DeviceFaults.Effect) async throws {
        let clock = TestClock()
        let cloud = TestCloud(clock: clock)
        let phone = try await EngineDevice(cloud, "phone", clock: clock)
        cloud.faults(on: "phone").next(of: RecordsModify.self, effect)
        try phone.save("a", "1")
        while try await !phone.cache.pendingRecordIDs().isEmpty {
            clock.advance(bySeconds: 0.5)
            await Task.yield()
        }
        #expect(cloud.faults(on: "phone").isEmpty)
        let tablet = try await EngineDevice(cloud, "tablet")
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "1"])
    }

    /// The file was emptied by the sign-out, and the next user has it.
    @Test func fileIsTheNextUsersAfterASignOut() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(cloud)
        try phone.save("a", "1")
        try await phone.sync()
        _ = try await phone.cache.signOut(.remove)
        try phone.connection.signOut()
        await #expect(throws: CKError.self) { try await phone.engine.fetchChanges() }
        try await cloud.signIn("bob", on: phone.connection)
        try phone.save("bob's", "1")
        try await phone.cache.adoptLocalRecords()
        try await phone.sync()
        #expect(phone.store.failure == nil)
        #expect(try phone.texts() == ["bob's": "1"])
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "1"])
        let bobs = try await EngineDevice(cloud, "bobs", user: "bob")
        try await bobs.sync()
        #expect(try bobs.texts() == ["bob's": "1"])
    }
}
