import GRDB
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Three ways to resolve a change that the service refused for good: a retry, the service's version, or discarding it.
@Suite struct AttentionItemTests {
    /// A device whose edit of "a" was refused; the service still has "first".
    private func refused(_ cloud: RealService) async throws -> Device {
        let phone = try Device(cloud)
        try phone.save("a", "first")
        try await phone.sync()
        cloud.refuse("a", SyncFailure(.invalidArguments, message: "No."))
        try phone.save("a", "mine")
        try await phone.sync()
        #expect(try await phone.cache.attentionItems().map(\.recordID.recordName) == ["a"])
        return phone
    }

    /// A device whose deletion of "a" was refused; the service still has "first".
    private func refusedDeletion(_ cloud: RealService) async throws -> Device {
        let phone = try await Device.synced(cloud, ["a": "first"])
        cloud.refuse("a", SyncFailure(.permissionFailure))
        try phone.delete("a")
        try await phone.sync()
        return phone
    }

    @Test func discardedEditRestoresTheServiceVersion() async throws {
        let cloud = RealService()
        let phone = try await refused(cloud)
        var changes = phone.cache.changes().makeAsyncIterator()
        try await phone.cache.discardAttentionItems(phone.cache.attentionItems())
        #expect(try phone.text("a") == "first")
        #expect(await changes.next()?.map(\.recordName) == ["a"])
        #expect(try await phone.cache.attentionItems().isEmpty)
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        cloud.refuseNothing()
        // The next edit is based on the service's version.
        try phone.save("a", "again")
        try await phone.sync()
        #expect(try await cloud.record("a")?["text"] == .string("again"))
    }

    @Test func discardedNewRecordIsRemoved() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        cloud.refuse("b", SyncFailure(.invalidArguments))
        try phone.save("b", "mine")
        try await phone.sync()
        try await phone.cache.discardAttentionItems(phone.cache.attentionItems())
        #expect(try phone.text("b") == nil)
        #expect(try await phone.cache.attentionItems().isEmpty)
    }

    /// The service may lose the deletion of the former record of this name, and then this device must repeat it.
    @Test func discardedRecreatedRecordKeepsTheTombstone() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "first"])
        func deleted() throws -> Int64? {
            try phone.cache.store.read { database in
                try Int64.fetchOne(
                    database, sql: "SELECT deleted FROM tombstone WHERE name = 'a'")
            }
        }
        try phone.delete("a")
        try await phone.sync()
        let milliseconds = try #require(try deleted())
        cloud.refuse("a", SyncFailure(.invalidArguments))
        try phone.save("a", "anew")
        try await phone.sync()
        try await phone.cache.discardAttentionItems(phone.cache.attentionItems())
        #expect(try phone.text("a") == nil)
        #expect(try deleted() == milliseconds)
    }

    @Test func discardedDeletionRestoresTheRecord() async throws {
        let cloud = RealService()
        let phone = try await refusedDeletion(cloud)
        #expect(try await phone.cache.attentionItems().map(\.kind) == [.delete])
        try await phone.cache.discardAttentionItems(phone.cache.attentionItems())
        #expect(try phone.text("a") == "first")
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    @Test func serviceVersionReplacesRefusedEdit() async throws {
        let cloud = RealService()
        let phone = try await refused(cloud)
        let tablet = try Device(cloud)
        cloud.refuseNothing()
        try await tablet.sync()
        try tablet.save("a", "theirs")
        try await tablet.sync()
        try await phone.cache.takeServiceVersions(of: phone.cache.attentionItems())
        #expect(try phone.text("a") == "theirs")
        #expect(try await phone.cache.attentionItems().isEmpty)
        // The feed returns the same version again, and nothing is sent.
        let sent = phone.link.callNames.count { $0 == "send" }
        try await phone.sync()
        #expect(try phone.text("a") == "theirs")
        #expect(phone.link.callNames.count { $0 == "send" } == sent)
    }

    /// The service takes fewer records in a request than the app asks for.
    @Test func serviceVersionsAreFetchedInSmallerRequests() async throws {
        let cloud = RealService()
        let names = ["a", "b", "c", "d", "e"]
        let phone = try Device(cloud)
        for name in names { try phone.save(name, "first") }
        try await phone.sync()
        for name in names {
            cloud.refuse(name, SyncFailure(.permissionFailure))
            try phone.save(name, "mine")
        }
        try await phone.sync()
        #expect(try await phone.cache.attentionItems().count == names.count)
        cloud.refuseNothing()
        cloud.restart { $0.operationsPerRequest = 2 }
        try await phone.cache.takeServiceVersions(of: phone.cache.attentionItems())
        for name in names { #expect(try phone.text(name) == "first") }
        #expect(try await phone.cache.attentionItems().isEmpty)
    }

    @Test func serviceVersionOfADeletedRecordRemovesRefusedEdit() async throws {
        let cloud = RealService()
        let phone = try await refused(cloud)
        try await cloud.delete("a")
        try await phone.cache.takeServiceVersions(of: phone.cache.attentionItems())
        // The zone's changes say whether it was deleted or lost.
        try await phone.sync()
        #expect(try phone.text("a") == nil)
        #expect(try await phone.cache.attentionItems().isEmpty)
    }

    @Test func editDuringLookupOfServiceVersionIsKept() async throws {
        let cloud = RealService()
        let phone = try await refused(cloud)
        let items = try await phone.cache.attentionItems()
        let store = phone.cache.store
        let generations = try store.generationsOfSetAside([RecordID(items[0].recordID)])
        let server = try await cloud.record("a")
        try phone.save("a", "later")
        let id = RecordID(items[0].recordID)
        let outcome = try store.takeInsteadOfSetAside(
            [(id, server, try #require(generations[id]))])
        #expect(outcome.changedIDs.isEmpty)
        #expect(try phone.text("a") == "later")
        #expect(try await phone.cache.pendingRecordIDs().map(\.recordName) == ["a"])
    }

    /// The answer is slow, and meanwhile a fetch returns a later version, which no later fetch returns again.
    @Test func versionFetchedDuringLookupIsNotOverwritten() async throws {
        let cloud = RealService()
        let phone = try await refusedDeletion(cloud)
        cloud.refuseNothing()
        let items = try await phone.cache.attentionItems()
        let id = RecordID(items[0].recordID)
        let store = phone.cache.store
        let generations = try store.generationsOfSetAside([id])
        let answer = try await cloud.record("a")
        try await cloud.save("a", "later")
        let later = try #require(try await cloud.record("a"))
        _ = try store.apply(ZonePage(records: [later], token: "later"), of: .list)
        let outcome = try store.takeInsteadOfSetAside(
            [(id, answer, try #require(generations[id]))])
        #expect(outcome.changedIDs.isEmpty)
        #expect(try phone.text("a") == nil)
        // Requested once more, it is the later version.
        try await phone.cache.takeServiceVersions(of: phone.cache.attentionItems())
        #expect(try phone.text("a") == "later")
        #expect(try await phone.cache.attentionItems().isEmpty)
    }

    /// A record that a discarded deletion restores was not received by a full fetch that had begun before.
    @Test func recordRestoredDuringAFullFetchIsRemovedIfNotReceived() async throws {
        let cloud = RealService()
        let phone = try await refused(cloud)
        let store = phone.cache.store
        try await phone.cache.discardAttentionItems(phone.cache.attentionItems())
        try phone.delete("a")
        try phone.cache.file.write { database in
            try database.execute(sql: "UPDATE pending SET errorCode = 1, errorMessage = 'no'")
        }
        try store.dropToken(of: .list, lastIntactVersion: nil)
        _ = try store.beginFetch(.list)
        _ = try store.discardSetAside([RecordID(name: "a", zoneID: .list)])
        #expect(try phone.text("a") != nil)
        _ = try store.apply(ZonePage(token: "token", moreComing: false), of: .list)
        #expect(try phone.text("a") == nil)
    }

    /// A page of a full fetch had the record while its deletion was pending; no later page has it.
    @Test func recordRestoredDuringAFullFetchStaysIfReceived() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "first"])
        let server = try #require(try await cloud.record("a"))
        cloud.refuse("a", SyncFailure(.permissionFailure))
        try phone.delete("a")
        try await phone.sync()
        let store = phone.cache.store
        try store.dropToken(of: .list, lastIntactVersion: nil)
        _ = try store.beginFetch(.list)
        let page = ZonePage(records: [server], token: "first", moreComing: true)
        _ = try store.apply(page, of: .list)
        try await phone.cache.discardAttentionItems(phone.cache.attentionItems())
        _ = try store.apply(ZonePage(token: "token", moreComing: false), of: .list)
        #expect(try phone.text("a") == "first")
    }

    /// The service loses the version that the app took over in place of a refused change.
    @Test func serviceVersionLostInRestoreIsSentAgain() async throws {
        let cloud = RealService()
        let phone = try await refused(cloud)
        cloud.refuseNothing()
        let copy = try cloud.copy()
        let browser = try Device(cloud)
        try await browser.sync()
        try browser.save("a", "theirs")
        try await browser.sync()
        try await phone.cache.takeServiceVersions(of: phone.cache.attentionItems())
        #expect(try phone.text("a") == "theirs")
        try cloud.restore(copy)
        try await phone.sync()
        #expect(try phone.text("a") == "theirs")
        #expect(try await cloud.record("a")?["text"] == .string("theirs"))
    }

    @Test func unreachableServiceKeepsTheAttentionItem() async throws {
        let cloud = RealService()
        let phone = try await refused(cloud)
        phone.link.fail(call: 0, .requestLost(SyncFailure(.networkUnavailable)))
        let items = try await phone.cache.attentionItems()
        let error = await #expect(throws: CacheError.self) {
            try await phone.cache.takeServiceVersions(of: items)
        }
        #expect(error?.code == .notSynced)
        #expect(try phone.text("a") == "mine")
        #expect(try await phone.cache.attentionItems().count == 1)
    }

    /// The default zone has no feed: a record that is saved there is never fetched.
    @Test func saveIntoDefaultZoneIsRefused() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let record = CKRecord(recordType: "Item")
        record["text"] = "lost to all others"
        let error = #expect(throws: CacheError.self) { try phone.cache.save(record) }
        #expect(error?.code == .invalidZone)
        #expect(error?.sentence.contains("custom zone") == true)
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        #expect(throws: CacheError.self) {
            try phone.cache.createZone(CKRecordZone.default().zoneID)
        }
    }

    /// What the service has right after a restore is not the record's state: the confirmed one is only here.
    @Test(arguments: [false, true])
    func serviceVersionTakenAfterARestoreKeepsTheConfirmedRecord(isOlderThere: Bool) async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        try phone.save(isOlderThere ? "a" : "b", "zero")
        for _ in 0..<2 { try await phone.sync() }
        let copy = try cloud.copy()
        cloud.pass()
        try phone.save("a", "first")
        for _ in 0..<2 { try await phone.sync() }
        cloud.refuse("a", SyncFailure(.permissionFailure))
        try phone.save("a", "mine")
        try await phone.sync()
        cloud.refuseNothing()
        try cloud.restore(copy)
        try await phone.cache.takeServiceVersions(of: phone.cache.attentionItems())
        for _ in 0..<2 { try await phone.sync() }
        #expect(try phone.text("a") == "first")
        #expect(try await cloud.record("a")?["text"] == .string("first"))
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }
}
