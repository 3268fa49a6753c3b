import CloudKit
import Foundation
import Testing

/// What existing apps store on the disk: system fields, tokens, identifiers, whole records.
@Suite struct ArchiveCodeTests {
    private func note() -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "note-1"))
        record["title"] = "Milk"
        return record
    }

    private func systemFields(_ record: CKRecord) -> Data {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        return archiver.encodedData
    }

    @Test func recordIsRestoredFromSystemFields() throws {
        let data = systemFields(note())
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
        unarchiver.requiresSecureCoding = true
        let record = try #require(CKRecord(coder: unarchiver))
        unarchiver.finishDecoding()
        #expect(record.recordID == note().recordID && record.recordType == "Note")
        #expect(record.allKeys().isEmpty)
        // Rows are compared by their bytes.
        #expect(systemFields(record) == data)
    }

    @Test func rootObjectsAreArchived() throws {
        let record = note()
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: record, requiringSecureCoding: true)
        let copy = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)
        #expect(copy?["title"] as? String == "Milk")
        let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)
        let zone = try NSKeyedUnarchiver.unarchivedObject(
            ofClass: CKRecordZone.ID.self,
            from: try NSKeyedArchiver.archivedData(
                withRootObject: zoneID, requiringSecureCoding: true))
        #expect(zone == zoneID)
    }

    @Test func collectionsWithAssetsAreArchived() throws {
        let asset = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/photo"))
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: ["photo": asset] as NSDictionary, requiringSecureCoding: true)
        let read = try NSKeyedUnarchiver.unarchivedObject(
            ofClasses: [NSDictionary.self, NSString.self, CKAsset.self], from: data)
        let photo = (read as? NSDictionary)?["photo"] as? CKAsset
        #expect(photo?.fileURL?.path == "/tmp/photo")
    }

    @Test func referencesZonesAndSubscriptionsAreArchived() throws {
        func copy<Object: NSObject & NSSecureCoding>(_ object: Object) throws -> Object? {
            try NSKeyedUnarchiver.unarchivedObject(
                ofClass: Object.self,
                from: try NSKeyedArchiver.archivedData(
                    withRootObject: object, requiringSecureCoding: true))
        }
        let reference = CKRecord.Reference(record: note(), action: .deleteSelf)
        #expect(try copy(reference) == reference)
        #expect(try copy(note().recordID) == note().recordID)
        let zone = CKRecordZone(zoneName: "Notes")
        #expect(try copy(zone)?.zoneID == zone.zoneID)
        let subscription = CKDatabaseSubscription(subscriptionID: "changes")
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        subscription.notificationInfo = info
        let read = try copy(subscription)
        #expect(read?.subscriptionID == "changes")
        #expect(read?.notificationInfo?.shouldSendContentAvailable == true)
    }

    @Test func recordsAreCopiedAndComparedAsObjects() throws {
        let record = note()
        let copy = try #require(record.copy() as? CKRecord)
        copy["title"] = "Oat"
        #expect(record["title"] as? String == "Milk")
        #expect(copy.recordID == record.recordID && copy.recordID.hash == record.recordID.hash)
        let other = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "note-2"))
        other["title"] = "Soy"
        let list = try NSKeyedArchiver.archivedData(
            withRootObject: [copy, other] as NSArray, requiringSecureCoding: true)
        let read =
            try NSKeyedUnarchiver.unarchivedObject(
                ofClasses: [NSArray.self, CKRecord.self], from: list) as? [CKRecord]
        #expect(read?.map { $0["title"] as? String } == ["Oat", "Soy"])
    }
}
