import ShoppingCore
import Testing

@Suite struct FieldsTests {
    private let entry = JournalEntry(
        id: "e", listID: "weekly", itemID: "milk", action: .add, value: "2 pints milk",
        afterItemID: "bread", editTimeMilliseconds: -5, device: "phone", deviceID: "p1",
        author: "Alice")

    @Test func entryIsStoredInFlatFields() {
        #expect(
            entry.fields == [
                "listID": .string("weekly"), "itemID": .string("milk"), "action": .string("add"),
                "value": .string("2 pints milk"), "afterItemID": .string("bread"),
                "editTime": .date(milliseconds: -5), "device": .string("phone"),
                "deviceID": .string("p1"),
                "author": .string("Alice"), "appVersion": .int64(2),
            ])
    }

    @Test func entryRoundTripsThroughFields() {
        #expect(JournalEntry(id: "e", fields: entry.fields) == entry)
        let bare = alice.writer.tick("milk", id: "t", at: 3)
        #expect(JournalEntry(id: "t", fields: bare.fields) == bare)
        #expect(bare.fields["value"] == nil)
        #expect(bare.fields["afterItemID"] == nil)
    }

    @Test func unknownFieldsAreKept() throws {
        var fields = entry.fields
        fields["photo"] = .string("p1")
        fields["priority"] = .int64(3)
        fields["due"] = .date(milliseconds: 77)
        fields["value"] = .int64(12)
        let read = try #require(JournalEntry(id: "e", fields: fields))
        #expect(read.value == nil)
        #expect(read.otherFields.count == 4)
        #expect(read.fields == fields)
    }

    @Test(arguments: ["listID", "action", "editTime"])
    func recordWithoutARequiredFieldIsNoEntry(name: String) {
        var fields = entry.fields
        fields[name] = nil
        #expect(JournalEntry(id: "e", fields: fields) == nil)
        fields[name] = .int64(1)
        #expect(JournalEntry(id: "e", fields: fields) == nil)
    }

    @Test func missingAppVersionCountsAsZero() throws {
        var fields = entry.fields
        fields["appVersion"] = nil
        let read = try #require(JournalEntry(id: "e", fields: fields))
        #expect(read.appVersion == 0)
        #expect(!read.needsNewerApp)
        fields["appVersion"] = .int64(3)
        #expect(JournalEntry(id: "e", fields: fields)?.needsNewerApp == true)
    }

    @Test func zoneIsNamedAfterTheList() {
        #expect(ShoppingRecord.zoneName(listID: "ab-1") == "List-ab-1")
        #expect(ShoppingRecord.listID(zoneName: "List-ab-1") == "ab-1")
        #expect(ShoppingRecord.listID(zoneName: "_defaultZone") == nil)
        #expect(ShoppingRecord.listID(zoneName: "List-") == nil)
        #expect(ShoppingRecord.rootFields(title: "Weekly") == ["title": .string("Weekly")])
    }
}
