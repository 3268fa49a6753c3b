import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

@Suite struct QueueTests {
    /// Two queued edits: after the first one is confirmed, the second one must win.
    @Test(arguments: ["editedAt", nil])
    func secondQueuedEditWins(editDateKey: String?) async throws {
        let cloud = RealService()
        let phone = try Device(cloud, editDateKey: editDateKey)
        try phone.save("a", "first")
        phone.link.duringNextSend { [phone] in try phone.save("a", "second") }
        try await phone.sync()
        #expect(try await cloud.record("a")?["text"] == .string("second"))
        #expect(try phone.text("a") == "second")
        #expect(cloud.saveCount == 2)
        #expect(try phone.cache.store.pendingIDs(limit: 100).isEmpty)
    }

    @Test(arguments: ["editedAt", nil])
    func secondEditWinsAfterLostFirstAnswer(editDateKey: String?) async throws {
        let cloud = RealService()
        let phone = try Device(cloud, editDateKey: editDateKey)
        try phone.save("a", "zero")
        try await phone.sync()
        try phone.save("a", "first")
        // The requests are the database's changes, the zone's changes, and the upload.
        phone.link.fail(call: 2, .answerLost)
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(try await cloud.record("a")?["text"] == .string("first"))
        try phone.save("a", "second")
        try phone.restart()
        var events = phone.cache.events().makeAsyncIterator()
        try await phone.sync()
        #expect(try await cloud.record("a")?["text"] == .string("second"))
        #expect(try phone.text("a") == "second")
        try phone.cache.close()
        #expect(await events.next() == nil, "our own write is no conflict")
    }

    /// The service knows the type of a list without members; the device that created it does not.
    @Test func unchangedEmptyListIsNoChange() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let tablet = try Device(cloud)
        try phone.edit("a", ["tags": .stringList(["x"])])
        try await phone.sync()
        try phone.edit("a", ["tags": .emptyList])
        // The requests are the database's changes, the zone's changes, and the upload.
        phone.link.fail(call: 2, .answerLost)
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        try await phone.sync()
        #expect(cloud.saveCount == 2, "It has arrived.")
        try await tablet.sync()
        try tablet.edit("a", ["tags": .emptyList])
        #expect(try tablet.cache.store.pendingIDs(limit: 100).isEmpty)
        let id = RecordID(name: "a", zoneID: .list)
        #expect(try tablet.cache.snapshot(id)?.fields == phone.cache.snapshot(id)?.fields)
    }

    @Test func deleteDuringSaveUploadIsSent() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        try phone.save("a", "1")
        phone.link.duringNextSend { [phone] in try phone.delete("a") }
        try await phone.sync()
        #expect(try await cloud.record("a") == nil)
        #expect(try phone.text("a") == nil)
    }

    @Test func saveDuringDeleteUploadIsSent() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        try phone.delete("a")
        phone.link.duringNextSend { [phone] in try phone.save("a", "again") }
        try await phone.sync()
        #expect(try await cloud.record("a")?["text"] == .string("again"))
    }

    @Test func batchIsHalvedToServiceItemLimit() async throws {
        let cloud = RealService()
        cloud.restart { $0.operationsPerRequest = 7 }
        let phone = try Device(cloud)
        for number in 0..<40 { try phone.save("r\(number)", "x") }
        try await phone.sync()
        #expect(try await cloud.names().count == 40)
    }

    /// More pending edits than fit in a batch come before the records that they refer to.
    @Test func referencedRecordsAreSentFirst() async throws {
        let phone = try Device(RealService())
        try phone.save("first", "x")
        try await phone.sync()
        func save(_ name: String, owner: String) throws {
            let reference = Reference(recordName: owner, action: .deleteSelf)
            try phone.cache.save(
                [
                    LocalEdit(
                        id: RecordID(name: name, zoneID: .list), type: "Item",
                        changes: [Field(name: "owner", value: .reference(reference))])
                ], in: .private)
        }
        for number in 0..<5 { try save("item\(number)", owner: "list") }
        try phone.save("item5", "x")
        try save("list", owner: "root")
        try save("root", owner: "item5")
        func names(_ itemLimit: Int) throws -> [String] {
            let store = phone.cache.store
            let batch = try store.nextBatch(itemLimit: itemLimit, bytesLimit: 1_000_000)
            try store.noteFailure(of: batch, SyncFailure(.limitExceeded))
            return batch.map(\.change.id.name)
        }
        #expect(try names(3) == ["item5", "root", "list"])
        #expect(try names(100) == ["item5", "root", "list"] + (0..<5).map { "item\($0)" })
    }

    @Test func refusedRecordIsSetAsideAndOthersAreSaved() async throws {
        let cloud = RealService()
        cloud.refuse("b", SyncFailure(.invalidArguments, message: "no"))
        let phone = try Device(cloud)
        for name in ["a", "b", "c"] { try phone.save(name, "x") }
        try await phone.sync()
        #expect(try await cloud.names() == ["a", "c"])
        let items = try await phone.cache.attentionItems()
        #expect(items.map(\.recordID.recordName) == ["b"])
        #expect(items.first?.failure == SyncFailure(.invalidArguments, message: "no"))
        #expect(try phone.text("b") == "x", "nothing is lost")
        #expect(try await phone.cache.status().summary == "Attention")
        try phone.restart()
        #expect(try await phone.cache.attentionItems().count == 1)
        // A refused record is sent again after an edit, or after a retry.
        cloud.refuseNothing()
        try await phone.cache.retryAttentionItems()
        try await phone.sync()
        #expect(try await cloud.names() == ["a", "b", "c"])
        #expect(try await phone.cache.attentionItems().isEmpty)
    }

    /// A device with one record, whose first request was lost.
    private func failedSync(
        _ code: FrameworkErrorCode
    ) async throws -> (RealService, Device, CacheError?) {
        let cloud = RealService()
        let phone = try Device(cloud)
        try phone.save("a", "x")
        phone.link.fail(call: 0, .requestLost(SyncFailure(code)))
        let error = await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        return (cloud, phone, error)
    }

    @Test func haltKeepsQueueAndThrowsReason() async throws {
        let (cloud, phone, error) = try await failedSync(.notAuthenticated)
        #expect(error?.haltReason == .account(SyncFailure(.notAuthenticated)))
        #expect(try await phone.cache.status().haltReason != nil)
        #expect(try phone.cache.store.pendingIDs(limit: 100).count == 1)
        try await phone.cache.sync()
        #expect(try await cloud.names() == ["a"])
    }

    @Test func offlineSyncThrowsAtOnceAndKeepsQueue() async throws {
        let (cloud, phone, error) = try await failedSync(.networkUnavailable)
        #expect(error?.code == .notSynced)
        #expect(phone.link.callNames.count == 1)
        try await phone.cache.sync()
        #expect(try await cloud.names() == ["a"])
    }

    @Test func disabledSyncSendsNothingAndKeepsQueue() async throws {
        let cloud = RealService()
        let phone = try await Device.disabled(cloud)
        await phone.expectDisabledSync()
        #expect(phone.link.callNames.isEmpty)
        await phone.cache.setEnabled(true)
        try await phone.cache.sync()
        #expect(try await cloud.names() == ["a"])
    }

    @Test(.timeLimit(.minutes(20)))
    func runningLoopUploadsEditsAndFetchesOnHints() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let tablet = try Device(cloud)
        await phone.cache.start()
        await tablet.cache.start()
        var changes = tablet.cache.changedIDs().makeAsyncIterator()
        try phone.save("a", "x")
        // A hint may arrive before the upload ends; as with real hints, another one follows.
        while try await cloud.names().isEmpty { await Task.yield() }
        await tablet.cache.fetchSoon(CKRecordZone.ID(.list))
        #expect(await changes.next()?.map(\.name) == ["a"])
        await phone.cache.stop()
        await tablet.cache.stop()
    }

    @Test func resolverHaltsSyncWithReason() async throws {
        struct Cautious: ConflictResolver {
            func resolve(_ conflict: SyncConflict) -> ConflictResolution {
                .halt(reason: "Update the app.")
            }
        }
        let cloud = RealService()
        let phone = try Device(cloud)
        let tablet = try Device(cloud, resolver: Cautious())
        try phone.save("a", "1")
        try await phone.sync()
        try tablet.save("a", "2")
        let error = await #expect(throws: CacheError.self) { try await tablet.cache.sync() }
        #expect(error?.haltReason == .requested("Update the app."))
        #expect(try tablet.text("a") == "2")
        #expect(try await cloud.record("a")?["text"] == .string("1"))
    }
}
