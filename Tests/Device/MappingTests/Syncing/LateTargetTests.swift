import Foundation
import StratusClient
import StratusMapping
import StratusTesting
import Testing

/// Objects whose records arrive before the records that they refer to.
@Suite(.timeLimit(.minutes(20)))
struct LateTargetTests {
    let cloud = TestCloud()

    private func device(_ name: String) async throws -> MappedDevice {
        try await MappedDevice(cloud, name, types: [Shelf.self, Book.self])
    }

    /// Saves a shelf of three books and deletes the record of the second book, which is also the shelf's `first`.
    ///
    /// - Returns: The device that has all objects, the shelf, and the deleted record.
    private func savedShelf() async throws -> (phone: MappedDevice, shelf: Shelf, gone: CKRecord) {
        let phone = try await device("phone")
        let books = ["Ada", "Bov", "Cid"].map { phone.add(Book(BookFields(title: $0))) }
        let shelf = phone.add(Shelf(ShelfFields(label: "Old", first: books[1], books: books)))
        try await phone.mapping.save(shelf)
        let gone = try await phone.record(books[1].syncID)
        try await phone.database.deleteRecord(withID: gone.recordID)
        return (phone, shelf, gone)
    }

    private func saveAgain(_ gone: CKRecord, _ phone: MappedDevice) async throws {
        let record = CKRecord(recordType: gone.recordType, recordID: gone.recordID)
        for key in gone.allKeys() { record.setObject(gone.object(forKey: key), forKey: key) }
        try await phone.database.save(record)
    }

    private func shelf(_ device: MappedDevice) throws -> Shelf {
        try #require(device.store.memory.objects(Shelf.self).first)
    }

    @Test func lateTargetIsLinkedAtItsPositionInTheList() async throws {
        let (phone, _, gone) = try await savedShelf()
        let tablet = try await device("tablet")
        try await tablet.sync()
        #expect(try shelf(tablet).books.map(\.title) == ["Ada", "Cid"])
        #expect(try shelf(tablet).first == nil)
        try await saveAgain(gone, phone)
        // The list of missing targets is stored in the mapping's file.
        let again = try await tablet.restarted()
        try await again.sync()
        #expect(try shelf(again).books.map(\.title) == ["Ada", "Bov", "Cid"])
        #expect(try shelf(again).first?.title == "Bov")
        let dated = try shelf(again).changeDate
        try await again.sync()
        #expect(try shelf(again).changeDate == dated)
    }

    @Test func saveKeepsMissingTargetsInTheRecord() async throws {
        let (phone, saved, gone) = try await savedShelf()
        let tablet = try await device("tablet")
        try await tablet.sync()
        let shelf = try shelf(tablet)
        let new = tablet.add(Book(BookFields(title: "Dan")))
        shelf.edit {
            $0.label = "New"
            $0.books.append(new)
        }
        try await tablet.mapping.save(shelf)
        let record = try await tablet.record(saved.syncID)
        let names = saved.books.map(\.syncID) + [new.syncID]
        let books: [CKRecord.Reference]? = record["books"]
        #expect(Set(books?.map(\.recordID.recordName) ?? []) == Set(names.compactMap(\.self)))
        let first: CKRecord.Reference? = record["first"]
        #expect(first?.recordID == gone.recordID)
        try await saveAgain(gone, phone)
        try await tablet.sync()
        #expect(Set(shelf.books.map(\.title)) == ["Ada", "Bov", "Cid", "Dan"])
        #expect(shelf.first?.title == "Bov")
    }

    @Test func editedReferenceIsNotReplacedByALateTarget() async throws {
        let (phone, saved, gone) = try await savedShelf()
        let tablet = try await device("tablet")
        try await tablet.sync()
        let shelf = try shelf(tablet)
        let ada = try #require(shelf.books.first)
        shelf.edit { $0.first = ada }
        try await tablet.mapping.save(shelf)
        try await saveAgain(gone, phone)
        try await tablet.sync()
        #expect(shelf.first === ada)
        let first: CKRecord.Reference? = try await tablet.record(saved.syncID)["first"]
        #expect(first?.recordID.recordName == ada.syncID)
    }

    /// The object was filled without its references, as the call asked for.
    @Test func saveKeepsUnloadedReferencesInTheRecord() async throws {
        let phone = try await device("phone")
        let tablet = try await device("tablet")
        let books = ["Ada", "Bov"].map { phone.add(Book(BookFields(title: $0))) }
        let saved = phone.add(Shelf(ShelfFields(label: "Old", first: books[1], books: books)))
        try await phone.mapping.save(saved)
        let copy = tablet.add(Shelf())
        try await tablet.mapping.update(copy, from: try await phone.record(saved.syncID))
        #expect(copy.books.isEmpty)
        copy.edit { $0.label = "New" }
        try await tablet.mapping.save(copy)
        try await phone.sync()
        #expect(saved.label == "New")
        #expect(saved.books.map(\.title) == ["Ada", "Bov"])
        #expect(saved.first?.title == "Bov")
        try await tablet.sync()
        #expect(copy.books.map(\.title) == ["Ada", "Bov"])
    }

    /// Another device has removed a book from the list, and has set the single reference to another book.
    @Test func removedReferencesLeaveAnObjectThatIsFilledWithoutItsReferences() async throws {
        let phone = try await device("phone")
        let tablet = try await device("tablet")
        let books = ["Ada", "Bov", "Cid"].map { phone.add(Book(BookFields(title: $0))) }
        let saved = phone.add(Shelf(ShelfFields(label: "Old", first: books[1], books: books)))
        for device in [phone, tablet] { try await device.sync() }
        let copy = try shelf(tablet)
        saved.edit {
            $0.first = books[0]
            $0.books.remove(at: 1)
        }
        try await phone.mapping.save(saved)
        try await tablet.mapping.update(copy, from: try await phone.record(saved.syncID))
        #expect(copy.books.map(\.title) == ["Ada", "Cid"])
        // The object of the book is in the list.
        #expect(copy.first?.title == "Ada")
        copy.edit { $0.label = "New" }
        try await tablet.mapping.save(copy)
        for device in [phone, tablet] { try await device.sync() }
        #expect(saved.label == "New")
        #expect(saved.books.map(\.title) == ["Ada", "Cid"])
        #expect(saved.first === books[0])
    }

    /// The object has a part of its list, and was filled without the rest, as the call asked for.
    @Test func saveKeepsTheUnloadedPartOfAListInTheRecord() async throws {
        let phone = try await device("phone")
        let tablet = try await device("tablet")
        let books = ["Ada", "Cid"].map { phone.add(Book(BookFields(title: $0))) }
        let saved = phone.add(Shelf(ShelfFields(label: "Old", books: books)))
        for device in [phone, tablet] { try await device.sync() }
        let copy = try shelf(tablet)
        let new = phone.add(Book(BookFields(title: "Bov")))
        saved.edit { $0.books.insert(new, at: 1) }
        try await phone.mapping.save(saved)
        try await tablet.mapping.update(copy, from: try await phone.record(saved.syncID))
        #expect(copy.books.map(\.title) == ["Ada", "Cid"])
        copy.edit { $0.label = "New" }
        try await tablet.mapping.save(copy)
        for device in [phone, tablet] { try await device.sync() }
        #expect(saved.label == "New")
        #expect(saved.books.map(\.title) == ["Ada", "Bov", "Cid"])
        #expect(copy.books.map(\.title) == ["Ada", "Bov", "Cid"])
    }
}
