import Foundation
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import Testing

@testable import StratusCache

/// The local edit wins: only the fields that were edited on this device are sent.
@Suite struct MergingTests {
    private let id = RecordID(name: "a", zoneID: .list)

    private func edit(_ fields: [String: FieldValue?], parent: LocalEdit.Parent = .unchanged)
        -> LocalEdit
    {
        LocalEdit(
            id: id, type: "Item", changes: fields.map { Field(name: $0.key, value: $0.value) },
            parent: parent)
    }

    @Test func laterEditKeepsUntouchedServerFields() async throws {
        let cloud = RealService()
        let newer = try Device(cloud, time: TestTime(skewMilliseconds: 5_000))
        let older = try Device(cloud, time: TestTime(skewMilliseconds: 9_000))
        try newer.save("root", "1")
        try newer.cache.save([edit(["title": .string("x"), "old": .int64(1), "size": .int64(1)])])
        try await newer.cache.sync()
        try await older.cache.sync()
        // A newer app adds a field, removes one, changes one, and puts the record into a share.
        try newer.cache.save([
            edit(["rating": .int64(5), "old": nil, "size": .int64(2)], parent: .set("root"))
        ])
        try older.cache.save([edit(["title": .string("y")])])
        try await newer.cache.sync()
        try await older.cache.sync()
        try await newer.cache.sync()
        for device in [newer, older] {
            let record = try #require(try device.cache.snapshot(id))
            #expect(record["title"] == .string("y"))
            #expect(record["rating"] == .int64(5))
            #expect(record["old"] == nil)
            #expect(record["size"] == .int64(2))
            #expect(record.parentRecordName == "root")
        }
        #expect(try await cloud.record("a")?["title"] == .string("y"))
        #expect(try await older.cache.pendingRecordIDs().isEmpty)
    }

    @Test func remotelyReplacedAssetIsNotOverwritten() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        let second = CloudDevice.bytes("two")
        try phone.savePhoto("a", CloudDevice.bytes("one"))
        try await phone.cache.sync()
        try await tablet.cache.sync()
        try phone.savePhoto("a", second)
        let record = try #require(try tablet.photo("a"))
        record["title"] = "y"
        try await tablet.cache.save(record)
        try await phone.cache.sync()
        try await tablet.cache.sync()
        let reader = try await CloudDevice(cloud, "reader")
        try await reader.cache.sync()
        let asset = try await reader.cache.asset("image", of: record.recordID)
        #expect(try Data(contentsOf: asset.fileURL) == second)
        #expect(try reader.photo("a")?["title"] == "y")
    }

    @Test func concurrentCreatesMergeAllFields() async throws {
        let cloud = RealService()
        let phone = try Device(cloud, time: TestTime(skewMilliseconds: 5_000))
        let tablet = try Device(cloud, time: TestTime(skewMilliseconds: 9_000))
        try phone.save("root", "1")
        try phone.cache.save([
            edit(["text": .string("1"), "phone": .int64(1)], parent: .set("root"))
        ])
        cloud.pass()
        try tablet.cache.save([edit(["text": .string("2"), "tablet": .int64(1)])])
        try await phone.cache.sync()
        try await tablet.cache.sync()
        let record = try #require(try await cloud.record("a"))
        #expect(record["text"] == .string("2"))
        #expect(record["phone"] == .int64(1))
        #expect(record["tablet"] == .int64(1))
        #expect(record.parentRecordName == "root")
    }

    @Test func resolvedFieldsKeepLocalParent() async throws {
        struct Mine: ConflictResolver {
            func resolve(_ conflict: SyncConflict) -> ConflictResolution {
                var merged = conflict.server
                for field in conflict.client.fields { merged.set(field) }
                return .save(fields: merged.fields)
            }
        }
        let cloud = RealService()
        let phone = try Device(cloud)
        let tablet = try Device(cloud, resolver: Mine())
        try phone.save("root", "1")
        try phone.cache.save([edit(["text": .string("1")])])
        try await phone.cache.sync()
        try await tablet.cache.sync()
        try phone.cache.save([edit(["text": .string("2")])])
        try tablet.cache.save([edit(["size": .int64(1)], parent: .set("root"))])
        try await phone.cache.sync()
        try await tablet.cache.sync()
        #expect(try await cloud.record("a")?.parentRecordName == "root")
        #expect(try await cloud.record("a")?["size"] == .int64(1))
    }

    @Test func recordSavedTwiceSendsEachFieldOnce() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let tablet = try Device(cloud)
        for name in ["root", "other"] { try phone.save(name, "1") }
        let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(id))
        record["name"] = "mine"
        record.parent = CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "root", zoneID: CKRecordZone.ID(.list)), action: .none
        )
        try await phone.cache.save(record)
        #expect(record.changedKeys().isEmpty)
        try await phone.cache.sync()
        try await tablet.cache.sync()
        try tablet.cache.save([edit(["name": .string("theirs")], parent: .set("other"))])
        try await tablet.cache.sync()
        try await phone.cache.sync()
        record["beds"] = 7
        try await phone.cache.save(record)
        try await phone.cache.sync()
        #expect(try await cloud.record("a")?["name"] == .string("theirs"))
        #expect(try await cloud.record("a")?["beds"] == .int64(7))
        #expect(try await cloud.record("a")?.parentRecordName == "other")
    }

    @Test func failedSaveKeepsChangedKeys() throws {
        let guest = try Device(RealService(), scope: .shared)
        let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(id))
        record["name"] = "mine"
        #expect(throws: CacheError.self) { try guest.cache.save(record, in: .shared) }
        #expect(record.changedKeys() == ["name"])
    }
}
