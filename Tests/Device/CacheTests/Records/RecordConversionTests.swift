import Foundation
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Conversion of the framework's records to and from the cache.
@Suite struct RecordConversionTests {
    private let zone = CKRecordZone.ID(zoneName: "List")

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }

    @Test func everyValueTypeRoundTripsThroughCache() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let tablet = try Device(cloud)
        for name in ["friend", "root"] { try phone.save(name, "1") }
        let record = CKRecord(recordType: "Everything", recordID: id("all"))
        record.setEveryType()
        record["friend"] = CKRecord.Reference(recordID: id("friend"), action: .deleteSelf)
        record.parent = CKRecord.Reference(recordID: id("root"), action: .none)
        try await phone.cache.save(record)
        try await phone.sync()
        try await tablet.sync()
        let copy = try await #require(try tablet.cache.record(for: id("all")))
        #expect(copy.recordType == "Everything")
        #expect(copy.recordID == id("all"))
        #expect(copy.changedKeys().isEmpty)
        #expect(copy.recordChangeTag != nil)
        #expect(copy.modificationDate != nil)
        copy.expectEveryType()
        let friend: CKRecord.Reference? = copy["friend"]
        #expect(friend == CKRecord.Reference(recordID: id("friend"), action: .deleteSelf))
        #expect(copy.parent?.recordID == id("root"))
    }

    @Test func savingRecordReadBeforeSyncMergesFields() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1"])
        let stale = try await #require(try tablet.cache.record(for: id("a")))
        try phone.save("a", "2")
        try await phone.sync()
        try await tablet.sync()
        stale["colour"] = "red"
        try await tablet.cache.save(stale)
        try await tablet.sync()
        try await phone.sync()
        let merged = try await #require(try phone.cache.record(for: id("a")))
        #expect(merged["text"] == "2")
        #expect(merged["colour"] == "red")
    }

    @Test func fieldSetToNilIsRemovedOnService() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        let record = try await #require(try phone.cache.record(for: id("a")))
        record["text"] = nil as String?
        try await phone.cache.save(record)
        try await phone.sync()
        #expect(try await cloud.record("a")?["text"] == nil)
        #expect(try await cloud.record("a") != nil)
    }

    @Test func savingFetchedRecordKeepsAllFields() throws {
        let phone = try Device(RealService())
        let fetched = try RecordSnapshot(
            id: RecordID(name: "a", zoneID: .list), type: "Item",
            fields: [Field(name: "text", value: .string("1"))]
        ).record()
        #expect(fetched.changedKeys().isEmpty)
        try phone.cache.save(fetched)
        #expect(try phone.text("a") == "1")
    }

    @Test func unsupportedValueRefusesWholeSave() throws {
        let phone = try Device(RealService())
        let good = CKRecord(recordType: "Item", recordID: id("good"))
        good["text"] = "1"
        let bad = CKRecord(recordType: "Item", recordID: id("bad"))
        bad["text"] = NSArray(array: ["a" as NSString, NSNumber(value: 1)])
        let error = #expect(throws: CacheError.self) { try phone.cache.save([good, bad]) }
        #expect(error?.code == .unsupportedValue)
        #expect(try phone.cache.record(for: id("good")) == nil)
    }

    @Test func recordsAreReadByTypeAndZone() throws {
        let phone = try Device(RealService())
        let other = CKRecordZone.ID(zoneName: "Other")
        try phone.save("a", "1")
        try phone.cache.save([
            CKRecord(recordType: "Root", recordID: id("r")),
            CKRecord(
                recordType: "Item", recordID: CKRecord.ID(recordName: "a", zoneID: other)),
        ])
        func names(_ type: String?, _ zone: CKRecordZone.ID) throws -> [String] {
            try phone.cache.records(ofType: type, inZoneWith: zone).map(\.recordID.recordName)
        }
        #expect(try names("Item", zone) == ["a"])
        #expect(try names(nil, zone) == ["a", "r"])
        #expect(try names(nil, other) == ["a"])
        #expect(try phone.cache.zoneIDs() == [zone, other])
        #expect(try phone.cache.pendingRecordIDs().count == 3)
    }
}

/// The contents of a save: only the differences from the service's record.
@Suite struct OutgoingRecordTests {
    private let id = RecordID(name: "a", zoneID: .list)

    @Test func changedKeysAreDifferencesFromBase() throws {
        let base = RecordSnapshot(
            id: id, type: "Item", system: .init(changeTag: "7", modifiedMilliseconds: 5),
            parentRecordName: "root",
            fields: [
                Field(name: "gone", value: .int64(1)), Field(name: "kept", value: .string("x")),
                Field(name: "new", value: .string("old")),
            ])
        var client = base
        client["gone"] = nil
        client["new"] = .string("newer")
        client["added"] = .double(2)
        let record = try client.record(changedSince: base)
        #expect(record.changedKeys() == ["added", "gone", "new"])
        #expect(record.allKeys() == ["added", "kept", "new"])
        #expect(record.recordChangeTag == "7")
        #expect(!record.isParentChanged)
        #expect(try RecordSnapshot(record).hasSameContent(as: client))
        client.parentRecordName = nil
        #expect(try client.record(changedSince: base).isParentChanged)
    }

    @Test func recordWithoutBaseHasAllKeysChanged() throws {
        var client = RecordSnapshot(id: id, type: "Item", system: .init(changeTag: "stale"))
        client["a"] = .int64(1)
        let record = try client.record(changedSince: nil)
        #expect(record.changedKeys() == ["a"])
        #expect(record.recordChangeTag == nil)
    }
}
