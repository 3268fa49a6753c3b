import ShoppingCore
import Testing

@Suite struct JournalTests {
    @Test func listIsRebuiltFromItsEntries() {
        let entries = [
            alice.writer.create(title: "Weekly shop", id: "c", at: 1),
            alice.add("milk", after: nil, at: 2),
            alice.add("bread", after: "milk", at: 3),
            alice.add("eggs", after: "bread", at: 4),
            bob.tick("milk", at: 5),
            bob.remove("bread", at: 6),
            bob.rename("eggs", to: "6 eggs", at: 7),
            alice.writer.recolour(to: "green", id: "g", at: 8),
        ]
        let list = list(entries)
        #expect(list.title == "Weekly shop")
        #expect(list.colour == "green")
        #expect(list.items.map(\.name) == ["milk", "6 eggs"])
        #expect(list.items.map(\.isTicked) == [true, false])
        #expect(list.items.first?.tickedBy == "Bob")
        #expect(list.unticked.map(\.id) == ["eggs"])
    }

    @Test func addedItemFollowsItsAnchor() {
        let entries = [
            alice.add("milk", after: nil, at: 1), alice.add("bread", after: "milk", at: 2),
            alice.add("eggs", after: "milk", at: 3), alice.add("tea", after: nil, at: 4),
        ]
        #expect(names(entries) == ["tea", "milk", "eggs", "bread"])
    }

    @Test func moveLeavesFollowersAndAnchorsLaterAdditions() {
        let entries = [
            alice.add("milk", after: nil, at: 1), alice.add("bread", after: "milk", at: 2),
            alice.add("eggs", after: "bread", at: 3), alice.move("milk", after: "eggs", at: 4),
            alice.add("tea", after: "milk", at: 5),
        ]
        #expect(names(entries) == ["bread", "eggs", "milk", "tea"])
        #expect(names(entries + [bob.move("eggs", after: nil, at: 6)]).first == "eggs")
    }

    @Test func untickRemovesMark() {
        let entries = [
            alice.add("milk", after: nil, at: 1), bob.tick("milk", at: 2),
            alice.untick("milk", at: 3),
        ]
        #expect(list(entries).items.first?.isTicked == false)
        #expect(list(entries).items.first?.tickedBy == nil)
    }

    @Test func duplicateEntryIsNoChange() {
        var journal = Journal(listID: "weekly")
        let entry = alice.add("milk", after: nil, at: 1)
        #expect(journal.insert(entry) == .inserted)
        #expect(journal.insert(entry) == .duplicate)
        #expect(journal.count == 1)
        #expect(journal.list().items.count == 1)
    }

    @Test func entryOfOtherListIsRefused() {
        var journal = Journal(listID: "party")
        #expect(journal.insert(alice.add("milk", after: nil, at: 1)) == .otherList)
        #expect(journal.isEmpty)
    }

    @Test func conflictingEntriesWithSameIDConverge() {
        let one = alice.writer.add("milk", itemID: "m", after: nil, id: "same", at: 1)
        let two = alice.writer.add("bread", itemID: "m", after: nil, id: "same", at: 9)
        let journal = Journal(listID: "weekly", entries: [one, two])
        #expect(journal == Journal(listID: "weekly", entries: [two, one]))
        #expect(journal.count == 1)
    }

    @Test func unknownActionIsKeptAndIgnored() {
        let future = JournalEntry(
            id: "f", listID: "weekly", itemID: "milk", action: .init(rawValue: "photograph"),
            value: "x", editTimeMilliseconds: 9, device: "d", author: "Bob", appVersion: 7)
        let known = [alice.add("milk", after: nil, at: 1)]
        let journal = Journal(listID: "weekly", entries: known + [future])
        #expect(journal.list() == list(known))
        #expect(journal.entry(id: "f") == future)
        #expect(journal.history.last == future)
        #expect(!future.action.isKnown)
        #expect(journal.needsNewerApp)
        #expect(!Journal(listID: "weekly", entries: known).needsNewerApp)
    }

    @Test func editTimeIsLaterThanEveryEntry() {
        var journal = Journal(listID: "weekly")
        #expect(journal.editTime(nowMilliseconds: 5) == 5)
        journal.insert(alice.add("milk", after: nil, at: 100))
        #expect(journal.editTime(nowMilliseconds: 5) == 101)
        #expect(journal.editTime(nowMilliseconds: 200) == 200)
        journal.insert(alice.add("far", after: nil, at: .max))
        #expect(journal.editTime(nowMilliseconds: 200) == 200)
    }

    @Test func pastedItemsKeepOrder() {
        var number = 0
        let entries = alice.writer.addAll(["milk", "bread", "eggs"], after: nil, at: 10) {
            number += 1
            return "id\(number)"
        }
        #expect(names(entries) == ["milk", "bread", "eggs"])
        #expect(entries.map(\.editTimeMilliseconds) == [10, 11, 12])
        #expect(Set(entries.map(\.id) + entries.compactMap(\.itemID)).count == 6)
    }

    @Test func longListsAreRebuiltWithoutRecursion() {
        let chain = (0..<2_000).map { number in
            alice.add("\(number)", after: number == 0 ? nil : "\(number - 1)", at: Int64(number))
        }
        #expect(names(chain) == (0..<2_000).map { "\($0)" })
        let stack = (0..<2_000).map { alice.add("\($0)", after: nil, at: Int64($0)) }
        #expect(names(stack) == (0..<2_000).reversed().map { "\($0)" })
    }
}
