import Foundation
import StratusClient
import Testing

/// The value that a field returns after it was set (Compatibility.md, "Values").
@Suite struct RecordValueTests {
    let record = CKRecord(recordType: "Hut")

    @Test func integerReadsAsEveryNumberType() {
        record["beds"] = 5
        #expect(record["beds"] as? Int == 5)
        #expect(record["beds"] as? Int64 == 5)
        #expect(record["beds"] as? Double == 5)
        #expect(record["beds"] as? NSNumber == 5)
        #expect(record["beds"] as? Bool == nil)
        let generic: Int64? = record["beds"]
        #expect(generic == 5)
    }

    @Test func trueReadsAsIntegerOne() {
        record["open"] = true
        #expect(record["open"] as? Bool == true)
        #expect(record["open"] as? Int == 1)
    }

    @Test func fractionDoesNotReadAsInteger() {
        record["height"] = 1.5
        #expect(record["height"] as? Int == nil)
        #expect(record["height"] as? Double == 1.5)
        #expect(record["height"] as? Float == 1.5)
    }

    @Test func stringsAndDataReadAsSwiftAndFoundationTypes() {
        record["name"] = "Gipfel"
        record["blob"] = Data([1, 2])
        #expect(record["name"] as? String == "Gipfel")
        #expect(record["name"] as? NSString == "Gipfel")
        #expect(record["blob"] as? Data == Data([1, 2]))
        #expect(record["blob"] as? NSData == NSData(data: Data([1, 2])))
        record["old"] = "x" as CKRecordValue
        #expect(record["old"] as? String == "x")
        let missing: String = record["none"] ?? "?"
        #expect(missing == "?")
    }

    @Test func untypedSubscriptGivesObject() {
        record["name"] = "Gipfel"
        let value = record["name"]
        let object: (any __CKRecordObjCValue)? = value
        #expect(object is NSString)
        let typed: (any CKRecordValueProtocol)? = record["name"]
        #expect(typed as? String == "Gipfel")
        let other = CKRecord(recordType: "Hut")
        for key in record.allKeys() { other[key] = record[key] }
        #expect(other["name"] == "Gipfel")
        other["beds"] = NSNumber(value: 4) as any __CKRecordObjCValue
        #expect(other["beds"] == 4)
        let encrypted: (any CKRecordValue)? = other.encryptedValues["name"]
        #expect(encrypted == nil)
    }

    @Test func unsavedDateKeepsFraction() {
        let date = Date(timeIntervalSince1970: 1.123_456_7)
        record["at"] = date
        #expect(record["at"] as? Date == date)
    }

    @Test func listsOfEveryElementTypeReadBack() {
        let reference = CKRecord.Reference(recordID: CKRecord.ID(recordName: "a"), action: .none)
        let place = CLLocation(latitude: 47, longitude: 11)
        record["tags"] = ["a", "b"]
        record["counts"] = [1, 2]
        record["dates"] = [Date(timeIntervalSince1970: 1)]
        record["refs"] = [reference]
        record["places"] = [place]
        record["empty"] = [String]()
        #expect(record["tags"] as? [String] == ["a", "b"])
        #expect(record["tags"] as? NSArray == ["a", "b"])
        #expect(record["counts"] as? [Int] == [1, 2])
        #expect(record["dates"] as? [Date] == [Date(timeIntervalSince1970: 1)])
        #expect(record["refs"] as? [CKRecord.Reference] == [reference])
        #expect(record["places"] as? [CLLocation] == [place])
        #expect((record["empty"] as? [String])?.isEmpty == true)
    }

    @Test func mutableStringIsCopied() {
        let text = NSMutableString(string: "before")
        record["name"] = text as NSString
        text.append(" after")
        #expect(record["name"] as? String == "before")
    }

    @Test func changedKeysFollowEdits() {
        record["a"] = 1
        record["b"] = 2
        #expect(record.changedKeys() == ["a", "b"])
        record["b"] = nil
        #expect(record.changedKeys() == ["a"])
        #expect(record.allKeys() == ["a"])
        record["never"] = nil
        #expect(record.changedKeys() == ["a"])
    }

    #if !canImport(ObjectiveC)
        @Test func keyValueCodingReadsAndWritesFields() {
            record.setValue("Gipfel", forKey: "name")
            record.setValuesForKeys(["beds": 4, "open": true])
            #expect(record.value(forKey: "name") as? String == "Gipfel")
            #expect(record.value(forKey: "beds") as? Int == 4)
            let values = record.dictionaryWithValues(forKeys: ["name", "gone"])
            #expect(values["name"] as? String == "Gipfel")
            #expect(values["gone"] is NSNull)
            record.setValue(nil, forKey: "name")
            record.setValue(NSNull(), forKey: "beds")
            #expect(record.allKeys() == ["open"])
        }
    #endif

    @Test func recordIteratesFieldsInNameOrder() {
        record["b"] = 2
        record["a"] = "x"
        #expect(record.map(\.0) == ["a", "b"])
        #expect(record.allTokens() == ["x"])
    }

    @Test func recordCopyIsIndependent() throws {
        record["a"] = 1
        let copy = try #require(record.copy() as? CKRecord)
        copy["a"] = 2
        #expect(record["a"] as? Int == 1)
        #expect(copy == record)
    }

    @Test func recordIDsCompareByValue() {
        let one = CKRecord.ID(recordName: "a", zoneID: trips)
        let other = CKRecord.ID(
            recordName: "a",
            zoneID: CKRecordZone.ID(zoneName: "Trips", ownerName: "__defaultOwner__"))
        #expect(one == other)
        #expect(Set([one, other]).count == 1)
        #expect([AnyHashable(one): 1][AnyHashable(other)] == 1)
        #expect(one != CKRecord.ID(recordName: "a"))
        #expect(CKRecordZone.default().zoneID.zoneName == "_defaultZone")
    }
}
