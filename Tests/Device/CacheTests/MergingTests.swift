import Foundation
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// The local edit wins: only what was edited here is sent.
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
        let cloud = MemoryCloud()
        let newer = try Device(cloud, time: TestTime(skewMilliseconds: 5_000))
        let older = try Device(cloud, time: TestTime(skewMilliseconds: 9_000))
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
        #expect(cloud.record("a")?["title"] == .string("y"))
        #expect(try await older.cache.pendingRecordIDs().isEmpty)
    }

    @Test func remotelyReplacedAssetIsNotOverwritten() async throws {
        let cloud = MemoryCloud()
        let phone = try Device(cloud, time: TestTime(skewMilliseconds: 5_000))
        let tablet = try Device(cloud, time: TestTime(skewMilliseconds: 9_000))
        func asset(_ checksum: String) -> FieldValue {
            .asset(AssetReceipt(fileChecksum: checksum, sizeBytes: 5))
        }
        try phone.cache.save([edit(["photo": asset("one")])])
        try await phone.cache.sync()
        try await tablet.cache.sync()
        try phone.cache.save([edit(["photo": asset("two")])])
        try tablet.cache.save([edit(["title": .string("y")])])
        try await phone.cache.sync()
        try await tablet.cache.sync()
        #expect(cloud.record("a")?["photo"] == asset("two"))
        #expect(cloud.record("a")?["title"] == .string("y"))
    }

    @Test func concurrentCreatesMergeAllFields() async throws {
        let cloud = MemoryCloud()
        let phone = try Device(cloud, time: TestTime(skewMilliseconds: 5_000))
        let tablet = try Device(cloud, time: TestTime(skewMilliseconds: 9_000))
        try phone.cache.save([
            edit(["text": .string("1"), "phone": .int64(1)], parent: .set("root"))
        ])
        cloud.pass()
        try tablet.cache.save([edit(["text": .string("2"), "tablet": .int64(1)])])
        try await phone.cache.sync()
        try await tablet.cache.sync()
        let record = try #require(cloud.record("a"))
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
        let cloud = MemoryCloud()
        let phone = try Device(cloud)
        let tablet = try Device(cloud, resolver: Mine())
        try phone.cache.save([edit(["text": .string("1")])])
        try await phone.cache.sync()
        try await tablet.cache.sync()
        try phone.cache.save([edit(["text": .string("2")])])
        try tablet.cache.save([edit(["size": .int64(1)], parent: .set("root"))])
        try await phone.cache.sync()
        try await tablet.cache.sync()
        #expect(cloud.record("a")?.parentRecordName == "root")
        #expect(cloud.record("a")?["size"] == .int64(1))
    }

    @Test func recordSavedTwiceSendsEachFieldOnce() async throws {
        let cloud = MemoryCloud()
        let phone = try Device(cloud)
        let tablet = try Device(cloud)
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
        #expect(cloud.record("a")?["name"] == .string("theirs"))
        #expect(cloud.record("a")?["beds"] == .int64(7))
        #expect(cloud.record("a")?.parentRecordName == "other")
    }

    @Test func failedSaveKeepsChangedKeys() throws {
        let guest = try Device(MemoryCloud(), scope: .shared)
        let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(id))
        record["name"] = "mine"
        #expect(throws: CacheError.self) { try guest.cache.save(record, in: .shared) }
        #expect(record.changedKeys() == ["name"])
    }
}
