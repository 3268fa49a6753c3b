import StratusRecords
import Testing

@Suite struct FieldTypeTests {
    @Test(arguments: FieldType.allCases)
    func listTypeIsNamedAfterItsElementType(_ type: FieldType) {
        if let element = type.element {
            #expect(type.rawValue == element.rawValue + "_LIST")
            #expect(!element.isList)
        } else {
            #expect(!type.rawValue.hasSuffix("_LIST"))
        }
    }

    @Test func valueHasItsFieldType() {
        let values: [FieldValue] = [
            .string(""), .int64(0), .double(0), .timestamp(milliseconds: 0), .bytes([]),
            .location(Location(latitude: 0, longitude: 0)), .reference(Reference(recordName: "a")),
            .asset(AssetReceipt()), .stringList([]), .int64List([]), .doubleList([]),
            .timestampList(milliseconds: []), .bytesList([]), .locationList([]),
            .referenceList([]), .assetList([]),
        ]
        #expect(values.map(\.type) == FieldType.allCases)
        #expect(FieldValue.emptyList.type == nil)
    }

    @Test func valueListsItsReferences() {
        let reference = Reference(recordName: "a", action: .deleteSelf)
        #expect(FieldValue.reference(reference).references == [reference])
        #expect(FieldValue.referenceList([reference, reference]).references.count == 2)
        #expect(FieldValue.string("a").references.isEmpty)
    }
}
