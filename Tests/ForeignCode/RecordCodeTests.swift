import CloudKit
import Foundation
import Testing

/// What existing apps do with records, call by call, with the results.
@Suite struct RecordCodeTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)

    private func note(_ name: String = "note-1") -> CKRecord {
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    @Test func untypedSubscriptsReadBack() {
        let record = note()
        record["title"] = "Milk"
        record["count"] = 3
        record["done"] = true
        record["ratio"] = 0.5
        record["due"] = Date(timeIntervalSince1970: 1_700_000_000.25)
        record["blob"] = Data([1, 2])
        record["tags"] = ["a", "b"]
        record["place"] = CLLocation(latitude: 47, longitude: 11)
        #expect(record["title"] as? String == "Milk")
        #expect(record["count"] as? Int == 3 && record["count"] as? Int64 == 3)
        #expect((record["count"] as? NSNumber)?.intValue == 3)
        #expect(record["done"] as? Bool == true)
        #expect(record["ratio"] as? Double == 0.5)
        #expect(record["due"] as? Date == Date(timeIntervalSince1970: 1_700_000_000.25))
        #expect(record["blob"] as? Data == Data([1, 2]))
        #expect(record["tags"] as? [String] == ["a", "b"])
        #expect((record["place"] as? CLLocation)?.coordinate.latitude == 47)
        let title: String? = record["title"]
        #expect(title == "Milk")
        #expect(record["nothing"] == nil)
        record["title"] = nil
        #expect(record["title"] == nil && !record.allKeys().contains("title"))
    }

    @Test func foundationObjectsAreAcceptedAsValues() {
        let record = note()
        record.setObject("Milk" as CKRecordValue, forKey: "title")
        record.setObject(NSNumber(value: 4), forKey: "count")
        record["list"] = ["x"] as NSArray
        record["date"] = NSDate(timeIntervalSince1970: 5)
        #expect(record.object(forKey: "title") as? NSString == "Milk")
        #expect(record.object(forKey: "count") as? Int == 4)
        let value: __CKRecordObjCValue? = record["title"]
        #expect(value is NSString)
        record.setObject(nil, forKey: "title")
        #expect(record.object(forKey: "title") == nil)
    }

    @Test func keyValueCodingReadsAndWrites() {
        let record = note()
        record.setValue("Milk", forKey: "title")
        record.setValuesForKeys(["count": 2, "done": false])
        #expect(record.value(forKey: "title") as? String == "Milk")
        #expect(record.value(forKey: "count") as? Int == 2)
        #expect(record.dictionaryWithValues(forKeys: ["title"])["title"] as? String == "Milk")
        record.setValue(nil, forKey: "title")
        #expect(record.value(forKey: "title") == nil)
        #expect(record.value(forKey: "nothing") == nil)
    }

    @Test func encryptedValuesOfEveryTypeReadBack() {
        let record = note()
        let secrets = record.encryptedValues
        secrets["text"] = "Oat"
        secrets["number"] = 3
        secrets["ratio"] = 0.25
        secrets["date"] = Date(timeIntervalSince1970: 1_700_000_000.123_456)
        secrets["bytes"] = Data([1])
        secrets["place"] = CLLocation(latitude: 47, longitude: 11)
        secrets["list"] = ["a", "b"]
        #expect(record.encryptedValues["text"] as? String == "Oat")
        #expect(record.encryptedValues["number"] as? Int == 3)
        #expect(record.encryptedValues["ratio"] as? Double == 0.25)
        #expect(
            record.encryptedValues["date"] as? Date
                == Date(timeIntervalSince1970: 1_700_000_000.123_456))
        #expect(record.encryptedValues["bytes"] as? Data == Data([1]))
        #expect((record.encryptedValues["place"] as? CLLocation)?.coordinate.longitude == 11)
        #expect(record.encryptedValues["list"] as? [String] == ["a", "b"])
        let text: String? = record.encryptedValues["text"]
        #expect(text == "Oat")
        #expect(record.encryptedValues.changedKeys().count == 7)
        record.encryptedValues["text"] = nil
        #expect(record.encryptedValues["text"] == nil)
        #expect(!record.encryptedValues.allKeys().contains("text"))
    }

    /// Many apps define their keys as an enumeration.
    @Test func keysOfAnEnumerationAreAccepted() {
        let record = note()
        record[.title] = "Milk"
        record[.count] = 2
        #expect(record[.title] as? String == "Milk")
        #expect((record[.count] as? Int ?? 0) + 1 == 3)
        let value = record["title"] as CKRecordValue?
        #expect(value as? NSString == "Milk")
        record["copy"] = value
        #expect(record["copy"] as! String == "Milk")
    }

    @Test func fieldsAreIteratedInEveryForm() {
        let record = note()
        record["title"] = "Milk"
        record.encryptedValues["secret"] = "Oat"
        var walked: [String: String] = [:]
        for (key, value) in record { walked[key] = value as? String }
        #expect(walked == ["title": "Milk", "secret": "Oat"])
        #expect(record.allKeys() == ["secret", "title"])
        #expect(record.changedKeys() == ["secret", "title"])
        #expect(record.encryptedValues.allKeys() == ["secret"])
        #expect(Dictionary(uniqueKeysWithValues: record.map { ($0.0, "\($0.1)") }).count == 2)
    }

    /// Libraries use one function for a record and for its encrypted values.
    @Test func keyValueSettingAcceptsRecordAndEncryptedValues() {
        func fill(_ store: any CKRecordKeyValueSetting, _ value: String) {
            store["text"] = value
            if let old = store["number"] as? Int64 { store["number"] = old + 1 }
        }
        let plain = note()
        plain["number"] = 1
        fill(plain, "open")
        fill(plain.encryptedValues, "sealed")
        #expect(plain["number"] as? Int == 2)
        #expect(plain.encryptedValues["text"] as? String == "sealed")
    }

    @Test func recordsAreCopiedFieldByField() {
        let (mine, theirs) = (note(), note())
        mine["title"] = "Milk"
        mine.encryptedValues["secret"] = "Oat"
        theirs.encryptedValues["secret"] = "Soy"
        for key in mine.changedKeys() { theirs[key] = mine[key] }
        #expect(theirs.encryptedValues["secret"] as? String == "Oat")
        #expect(theirs["title"] as? String == "Milk")
    }

    @Test func valuesAreSortedByTheirType() {
        func kind(_ value: any CKRecordValueProtocol) -> String {
            switch value {
            case is CKRecord.Reference: "reference"
            case is CKAsset: "asset"
            case is CLLocation: "location"
            case is Date: "date"
            case is Data: "data"
            case is String: "string"
            case is [Any]: "list"
            case is NSNumber: "number"
            default: "unknown"
            }
        }
        let record = note()
        record["a"] = CKRecord.Reference(recordID: record.recordID, action: .none)
        record["b"] = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/a"))
        record["c"] = CLLocation(latitude: 1, longitude: 2)
        record["d"] = Date()
        record["e"] = Data()
        record["f"] = "x"
        record["g"] = [1]
        record["h"] = 1
        #expect(
            record.map { kind($0.1) } == [
                "reference", "asset", "location", "date", "data", "string", "list", "number",
            ])
    }

    @Test func propertyNamesAreAcceptedAsKeys() {
        let record = note()
        for property in Mirror(reflecting: Model()).children {
            if let label = property.label, let value = property.value as? CKRecordValueProtocol {
                record[label] = value
            }
        }
        #expect(record.allKeys() == ["_rank", "title"])
    }

    private struct Model {
        var _rank = 1
        var title = "Milk"
    }

    @Test func identifiersAreDictionaryKeys() {
        let byID = [note().recordID: "a", note("note-2").recordID: "b"]
        #expect(byID[CKRecord.ID(recordName: "note-2", zoneID: zoneID)] == "b")
        #expect(Set([note(), note()].map(\.recordID)).count == 1)
        #expect(note().recordID.zoneID.ownerName == CKCurrentUserDefaultName)
        #expect(CKRecordZone.ID.default.zoneName == CKRecordZone.ID.defaultZoneName)
    }
}

private enum NoteKey: String {
    case title
    case count
}

extension CKRecord {
    fileprivate subscript(key: NoteKey) -> (any CKRecordValueProtocol)? {
        get { self[key.rawValue] }
        set { self[key.rawValue] = newValue }
    }
}
