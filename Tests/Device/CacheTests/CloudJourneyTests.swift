import Foundation
import StratusCache
import StratusClient
import StratusSync
import StratusTesting
import Testing

/// Caches on the real service, in one process.
@Suite struct CloudJourneyTests {
    @Test func savedRecordsReachOtherDeviceOverService() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        for number in 0..<25 { try phone.save("r\(number)", "\(number)") }
        try await phone.cache.sync()
        try await tablet.cache.sync()
        #expect(try tablet.texts().count == 25)
        #expect(try tablet.texts() == phone.texts())
        let record = try await #require(
            try tablet.cache.record(for: CKRecord.ID(recordName: "r3", zoneID: .list)))
        #expect(record.recordChangeTag != nil)
        #expect(record.changedKeys().isEmpty)
        try tablet.delete("r4")
        try tablet.save("r5", "five")
        try await tablet.cache.sync()
        try await phone.cache.sync()
        #expect(try phone.texts()["r4"] == nil)
        #expect(try phone.texts()["r5"] == "five")
        #expect(try await phone.cache.status().summary == "Done")
    }

    @Test func everyValueTypeSyncsWithoutConflict() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        let id = CKRecord.ID(recordName: "all", zoneID: .list)
        let record = CKRecord(recordType: "Everything", recordID: id)
        record.setEveryType()
        record["numbers"] = [1, 2, 3]
        record["friend"] = CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "friend", zoneID: .list), action: .none)
        try await phone.cache.save([record, CKRecord(recordType: "Item", recordID: friend)])
        try await phone.cache.sync()
        try await tablet.cache.sync()
        let copy = try await #require(try tablet.cache.record(for: id))
        copy.expectEveryType()
        #expect(copy["numbers"] == [1, 2, 3])
        let reference: CKRecord.Reference? = copy["friend"]
        #expect(reference?.recordID == friend)
        // One field is removed and one is changed: no other field moves.
        copy["string"] = nil as String?
        copy["int"] = 43
        try await tablet.cache.save(copy)
        try await tablet.cache.sync()
        try await phone.cache.sync()
        let again = try await #require(try phone.cache.record(for: id))
        #expect(again.allKeys().contains("string") == false)
        #expect(again["int"] == 43)
        #expect(again["double"] == 1.5)
    }

    /// Every encrypted value is readable on the device and encrypted at the service.
    @Test func encryptedValuesSyncBetweenDevices() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        let stranger = CKContainer(
            identifier: CloudDevice.container,
            connection: try await cloud.connect(
                user: "alice", device: "stranger", keyStore: MemoryKeyStore()))
        let record = CKRecord(
            recordType: "Everything", recordID: CKRecord.ID(recordName: "all", zoneID: .list))
        let values = record.encryptedValues
        let secret = Array("Grossglockner".utf8)
        // The prefixes of sealed values, and of local values that only look like them.
        values["sealed"] = Data([0x53, 0x56, 0x31, 0] + secret)
        values["open"] = Data([0x53, 0x56, 0x31, 1] + secret)
        values["text"] = "We met a marmot."
        try await phone.cache.save(record)
        try phone.restart()
        try await phone.cache.sync()
        try await tablet.cache.sync()
        try tablet.restart()
        for device in [phone, tablet] {
            let copy = try await #require(try device.cache.record(for: record.recordID))
                .encryptedValues
            for key in values.allKeys() {
                #expect(copy[key] as? NSObject == values[key] as? NSObject, "\(key)")
            }
        }
        let sealed = try await stranger.privateCloudDatabase.record(for: record.recordID)
            .encryptedValues
        #expect(sealed.allKeys() == values.allKeys())
        #expect(sealed.allKeys().allSatisfy { sealed[$0] == nil })
        // A change of one field does not change the others.
        let copy = try await #require(try tablet.cache.record(for: record.recordID))
        copy.encryptedValues["text"] = "It whistled."
        try await tablet.cache.save(copy)
        try await tablet.cache.sync()
        try await phone.cache.sync()
        let again = try await #require(try phone.cache.record(for: record.recordID)).encryptedValues
        #expect(again["text"] == "It whistled." && again["sealed"] == values["sealed"] as Data?)
    }

    private var friend: CKRecord.ID { CKRecord.ID(recordName: "friend", zoneID: .list) }

    private func expectConvergence(
        _ phone: CloudDevice, _ tablet: CloudDevice, on texts: [String: String]
    ) async throws {
        for device in [tablet, phone, tablet] { try await device.cache.sync() }
        for device in [phone, tablet] { #expect(try device.texts() == texts) }
    }

    @Test func laterOfflineEditWinsOnBothDevices() async throws {
        let (phone, tablet) = try await CloudDevice.pair(TestCloud(), ["a": "start"])
        try phone.save("a", "earlier")
        tablet.time.advance(milliseconds: 5_000)
        try tablet.save("a", "later")
        try await expectConvergence(phone, tablet, on: ["a": "later"])
    }

    @Test func offlineCreatesOfSameRecordConverge() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(
            cloud, "tablet", time: TestTime(skewMilliseconds: -5_000))
        try tablet.save("a", "tablet")
        // Five seconds pass.
        tablet.time.advance(milliseconds: 5_000)
        try phone.save("a", "phone")
        try await expectConvergence(phone, tablet, on: ["a": "phone"])
    }

    @Test func deletionWinsOverOfflineEdit() async throws {
        let (phone, tablet) = try await CloudDevice.pair(TestCloud(), ["a": "1"])
        try phone.delete("a")
        try tablet.save("a", "2")
        try await phone.cache.sync()
        try await tablet.cache.sync()
        try await phone.cache.sync()
        #expect(try phone.texts().isEmpty)
        #expect(try tablet.texts().isEmpty)
    }

    @Test func savingStaleRecordMergesFetchedFields() async throws {
        let (phone, tablet) = try await CloudDevice.pair(TestCloud(), ["a": "1"])
        // The record was read before the sync, and is saved after it with another field changed.
        let id = CKRecord.ID(recordName: "a", zoneID: .list)
        let stale = try await #require(try tablet.cache.record(for: id))
        try phone.save("a", "2")
        try await phone.cache.sync()
        try await tablet.cache.sync()
        stale["colour"] = "red"
        try await tablet.cache.save(stale)
        try await tablet.cache.sync()
        try await phone.cache.sync()
        let merged = try await #require(try phone.cache.record(for: id))
        #expect(merged["text"] == "2")
        #expect(merged["colour"] == "red")
    }

    @Test func deletedZoneDisappearsOnOtherDevice() async throws {
        let (phone, tablet) = try await CloudDevice.pair(TestCloud(), ["a": "1"])
        try await phone.cache.deleteZone(.list)
        try await phone.cache.sync()
        try await tablet.cache.sync()
        #expect(try await tablet.cache.zoneIDs().isEmpty)
        try phone.save("b", "new")
        try await phone.cache.sync()
        try await tablet.cache.sync()
        #expect(try tablet.texts() == ["b": "new"])
    }

    @Test(.timeLimit(.minutes(20)))
    func runningLoopFetchesAfterNotification() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await CloudDevice.pair(cloud, ["first": "1"])
        var changes = tablet.cache.changes().makeAsyncIterator()
        await tablet.cache.start()
        await phone.cache.start()
        try phone.save("a", "hello")
        // No timer runs in this test: only a notification can cause the fetch.
        let changed = await changes.next()
        #expect(changed?.map(\.recordName) == ["a"])
        await phone.cache.stop()
        await tablet.cache.stop()
    }

    /// The sequence of `RecoveryTests`, on the real service.
    @Test func restartAfterAnyLostRequestConvergesOverService() async throws {
        let outcome = [
            "a": "phone later", "d": "tablet", "e": "tablet", "mine": "2", "new": "x",
        ]
        func story(_ fault: (number: Int, kind: FaultyTransport.Fault)?) async throws -> Int {
            let cloud = TestCloud()
            let phone = try await CloudDevice(cloud, "phone")
            let tablet = try await CloudDevice(
                cloud, "tablet", time: TestTime(skewMilliseconds: -500_000))
            if let fault { phone.transport.fail(request: fault.number, fault.kind) }
            func sync() async throws {
                do { try await phone.cache.sync() } catch {
                    // The process ends here and is restarted.
                    try phone.restart()
                    try await phone.cache.sync()
                }
            }
            for name in ["a", "b", "c", "d", "e"] { try tablet.save(name, "tablet") }
            try await tablet.cache.sync()
            try phone.save("mine", "1")
            try await sync()
            try tablet.save("a", "tablet 2")
            try tablet.delete("b")
            try await tablet.cache.sync()
            try phone.save("mine", "2")
            try phone.save("a", "phone later")
            try phone.delete("c")
            try phone.save("new", "x")
            try await sync()
            try await tablet.cache.sync()
            #expect(try phone.texts() == outcome, "cut at \(String(describing: fault))")
            #expect(try tablet.texts() == outcome, "cut at \(String(describing: fault))")
            #expect(try await phone.cache.pendingRecordIDs().isEmpty)
            return phone.transport.requestCount
        }
        let requestCount = try await story(nil)
        #expect(requestCount > 6)
        for number in 0..<requestCount {
            _ = try await story((number, .requestLost))
            _ = try await story((number, .answerLost))
        }
    }
}
