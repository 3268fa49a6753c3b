import Foundation
import StratusClient
import StratusRecords
import Testing

/// Archives keep what they must, and other data decodes to nil instead of ending the process.
@Suite struct ArchiveTests {
    private func full() -> CKRecord {
        let record = hut("hut-3")
        record["name"] = "Gipfel"
        record["beds"] = 24
        record["height"] = 1.5
        record["whole"] = 2.0
        record["at"] = Date(timeIntervalSince1970: 5)
        record["blob"] = Data([1])
        record["tags"] = ["a", "b"]
        record["trail"] = CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "trail", zoneID: trips), action: .deleteSelf)
        record["place"] = CLLocation(
            latitude: 1, longitude: 2, timestamp: Date(timeIntervalSince1970: 3))
        record.setParent(CKRecord.ID(recordName: "root", zoneID: trips))
        return record
    }

    @Test func archivedRecordRoundTrips() throws {
        let record = full()
        let copy = try roundTrip(record)
        #expect(copy.recordID == record.recordID)
        #expect(copy.allKeys() == record.allKeys())
        #expect(copy.changedKeys() == record.changedKeys())
        for key in record.allKeys() {
            #expect(copy[key] as? NSObject == record[key] as? NSObject, "\(key)")
        }
        #expect(copy["whole"] as? NSNumber == 2)
        #expect(copy.parent?.recordID.recordName == "root")
    }

    @Test func encodedSystemFieldsRoundTripWithoutValues() throws {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        full().encodeSystemFields(with: coder)
        coder.finishEncoding()
        let reader = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
        reader.requiresSecureCoding = true
        let copy = try #require(CKRecord(coder: reader))
        #expect(copy.recordID == hut("hut-3").recordID)
        #expect(copy.recordType == "Hut")
        #expect(copy.parent?.recordID.recordName == "root")
        #expect(copy.allKeys().isEmpty && copy.changedKeys().isEmpty)
    }

    /// A device that stores system fields compares their bytes to see whether a record changed.
    @Test func sameSystemFieldsMakeSameBytes() throws {
        func bytes(_ record: CKRecord) -> Data {
            let coder = NSKeyedArchiver(requiringSecureCoding: true)
            record.encodeSystemFields(with: coder)
            return coder.encodedData
        }
        let record = full()
        let first = bytes(record)
        for _ in 0..<50 { #expect(bytes(record) == first) }
        #expect(bytes(try #require(record.copy() as? CKRecord)) == first)
        record["name"] = "Gipfelblick"
        #expect(bytes(record) == first)
        record.setParent(CKRecord.ID(recordName: "other", zoneID: trips))
        #expect(bytes(record) != first)
    }

    @Test func archivedAssetKeepsItsFile() throws {
        let asset = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/photo.png"))
        #expect(try roundTrip(asset).fileURL == asset.fileURL)
        let list = NSArray(array: [asset, "name" as NSString])
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: list, requiringSecureCoding: true)
        let read = try NSKeyedUnarchiver.unarchivedObject(
            ofClasses: [NSArray.self, CKAsset.self, NSString.self], from: data)
        let members = try #require(read as? NSArray)
        #expect((members.firstObject as? CKAsset)?.fileURL.path == "/tmp/photo.png")
        #expect(CKAsset.supportsSecureCoding)
    }

    /// As the client's record of a conflict, whose asset was not uploaded.
    @Test func archivedRecordIsReadThoughItsAssetHasNoFile() throws {
        let local = AssetReceipt(fileChecksum: AssetReceipt.localPrefix + "1", sizeBytes: 3)
        let snapshot = RecordSnapshot(
            id: RecordID(hut("a").recordID), type: "Hut",
            fields: [
                Field(name: "name", value: .string("Gipfel")),
                Field(name: "photo", value: .asset(local)),
                Field(name: "photos", value: .assetList([local, local])),
            ])
        let record = try snapshot.record()
        #expect((record["photo"] as? CKAsset)?.fileURL == nil)
        let read = try roundTrip(record)
        #expect(read["name"] as? String == "Gipfel")
        #expect(read.allKeys() == ["name", "photo", "photos"])
        #expect((read["photo"] as? CKAsset)?.fileURL == nil)
        #expect((read["photos"] as? [CKAsset])?.count == 2)
    }

    @Test func archivedIdentifiersAndZonesRoundTrip() throws {
        let recordID = CKRecord.ID(
            recordName: "a", zoneID: CKRecordZone.ID(zoneName: "Z", ownerName: "_o"))
        #expect(try roundTrip(recordID) == recordID)
        let reference = CKRecord.Reference(recordID: recordID, action: .deleteSelf)
        #expect(try roundTrip(reference) == reference)
        let zone = CKRecordZone(zoneName: "Z")
        #expect(try roundTrip(zone) == zone)
        let group = CKOperationGroup()
        group.name = "first sync"
        group.expectedSendSize = .megabytes
        let groupCopy = try roundTrip(group)
        #expect(groupCopy.operationGroupID == group.operationGroupID)
        #expect(groupCopy.name == "first sync" && groupCopy.expectedSendSize == .megabytes)
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
            resultsLimit: 7, desiredKeys: ["a"])
        let copy = try roundTrip(configuration)
        #expect(copy.resultsLimit == 7 && copy.desiredKeys == ["a"])
    }

    @Test func archivedQueryKeepsPredicate() throws {
        let query = CKQuery(
            recordType: "Hut",
            predicate: NSPredicate(
                format: "beds >= %d AND region IN %@ AND NOT (name BEGINSWITH 'x')", 3, ["a", "b"]))
        query.sortDescriptors = [NSSortDescriptor(key: "beds", ascending: false)]
        let copy = try roundTrip(query)
        #expect(copy.recordType == "Hut")
        #expect(copy.sortDescriptors?.first?.key == "beds")
        #expect(copy.sortDescriptors?.first?.ascending == false)
        let record = hut("a")
        record["beds"] = 4
        record["region"] = "b"
        record["name"] = "Gipfel"
        #expect(copy.predicate.evaluate(with: record))
        record["name"] = "xy"
        #expect(!copy.predicate.evaluate(with: record))
    }

    @Test func archivedSubscriptionsRoundTrip() throws {
        let info = CKSubscription.NotificationInfo(alertBody: "New", desiredKeys: ["name"])
        info.shouldBadge = true
        let query = CKQuerySubscription(
            recordType: "Hut", predicate: NSPredicate(format: "beds > 3"), subscriptionID: "q",
            options: [.firesOnRecordCreation, .firesOnce])
        query.notificationInfo = info
        query.zoneID = trips
        let copy = try roundTrip(query)
        #expect(copy == query && copy.recordType == "Hut" && copy.zoneID == trips)
        #expect(copy.querySubscriptionOptions == [.firesOnRecordCreation, .firesOnce])
        #expect(copy.notificationInfo?.alertBody == "New")
        #expect(copy.notificationInfo?.desiredKeys == ["name"])
        #expect(copy.notificationInfo?.shouldBadge == true)
        #expect(copy.predicate.evaluate(with: ["beds": 4]))
        let zone = CKRecordZoneSubscription(zoneID: trips, subscriptionID: "z")
        zone.recordType = "Hut"
        #expect(try roundTrip(zone).zoneID == trips)
        let database = CKDatabaseSubscription(subscriptionID: "d")
        #expect(try roundTrip(database) == database)
    }

    @Test func archiveWithoutKeysDecodesToNil() throws {
        #expect(try decodeParts(CKRecord.self) == nil)
        #expect(try decodeParts(CKRecordID.self) == nil)
        #expect(try decodeParts(CKRecordZoneID.self) == nil)
        #expect(try decodeParts(CKRecordZone.self) == nil)
        #expect(try decodeParts(CKReference.self) == nil)
        #expect(try decodeParts(CKServerChangeToken.self) == nil)
        #expect(try decodeParts(CKQuery.self) == nil)
        #expect(try decodeParts(CKQueryCursor.self) == nil)
        #expect(try decodeParts(CKQuerySubscription.self) == nil)
        #expect(try decodeParts(CKRecordZoneSubscription.self) == nil)
        #expect(try decodeParts(CKDatabaseSubscription.self) == nil)
        #expect(try decodeParts(CKNotificationID.self) == nil)
        #expect(try decodeParts(CKOperationGroup.self) == nil)
        #expect(try decodeParts(CLLocation.self) == nil)
    }

    @Test func truncatedRecordArchiveDecodesToNil() throws {
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: full(), requiringSecureCoding: true)
        for length in stride(from: 0, to: data.count, by: 7) {
            let cut = data.prefix(length)
            // An error and nil both mean that there is no record.
            let record = try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: cut)
            #expect(record == nil)
        }
    }

    /// Decodes a record's archive in which some parts are replaced.
    private func record(_ parts: [String: NSObject & NSSecureCoding]) throws -> CKRecord? {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        var all: [String: NSObject & NSSecureCoding] = [
            "recordType": "Hut" as NSString, "recordID": hut("a").recordID,
            "values": Data(#"{"beds":{"value":4,"type":"INT64"}}"#.utf8) as NSData,
            "changedKeys": Data(#"["beds"]"#.utf8) as NSData, "base": Data("{}".utf8) as NSData,
        ]
        all.merge(parts) { $1 }
        for (key, part) in all { coder.encode(part, forKey: key) }
        coder.finishEncoding()
        let reader = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
        reader.decodingFailurePolicy = .setErrorAndReturn
        return CKRecord(coder: reader)
    }

    @Test func archiveWithWrongTypesDecodesToNil() throws {
        #expect(try record([:])?["beds"] as? Int == 4)
        #expect(try record([:])?.changedKeys() == ["beds"])
        #expect(try record(["recordID": "text" as NSString]) == nil)
        #expect(try record(["recordType": NSNumber(value: 1)]) == nil)
        #expect(try record(["values": "text" as NSString]) == nil)
        #expect(try record(["values": Data("{\"a\":".utf8) as NSData]) == nil)
        #expect(try record(["values": Data("[]".utf8) as NSData]) == nil)
        #expect(try record(["values": Data([0xFF, 0x00]) as NSData]) == nil)
        #expect(try record(["changedKeys": Data("[1]".utf8) as NSData]) == nil)
        #expect(try record(["base": Data("7".utf8) as NSData]) == nil)
    }
}
