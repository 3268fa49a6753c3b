import Foundation
import ShoppingCore
import Testing

/// The quantity of an item.
@Suite(.timeLimit(.minutes(20)))
struct QuantityTests {
    @Test func typedQuantityIsSplitFromTheName() throws {
        for text in ["2 × milk", "2x milk", "2 X milk", "×2 milk", "milk x2", "milk × 2"] {
            let split = try #require(Quantity.split(text), "\(text)")
            #expect(split.quantity == 2 && split.name == "milk", "\(text)")
        }
        for text in [
            "2 pints milk", "milk", "x", "2 ×", "0 × milk", "10000 x milk", "mix 2 cake", "extra x",
        ] {
            #expect(Quantity.split(text) == nil, "\(text)")
        }
        var number = 0
        let newID: () -> String = {
            number += 1
            return "id\(number)"
        }
        let made = alice.writer.entries(
            for: .add(names: ["2 × Milk", "Bread"], afterItemID: nil),
            in: Journal(listID: "weekly"), at: 1, newID: newID)
        #expect(made.map(\.action) == [.add, .quantity, .add])
        #expect(made.map(\.editTimeMilliseconds) == [1, 2, 3])
        let items = list(made).items
        #expect(items.map(\.name) == ["Milk", "Bread"] && items.map(\.quantity) == [2, 1])
        #expect(ListText().render(list(made)).contains("[ ] 2 × Milk\n"))
    }

    @Test func laterQuantityWinsAndAddingAgainResetsIt() {
        let entries = [
            alice.add("Milk", after: nil, at: 1),
            alice.writer.quantity("Milk", 3, id: "a", at: 5),
            bob.writer.quantity("Milk", 4, id: "b", at: 4),
        ]
        #expect(list(entries).items.map(\.quantity) == [3])
        #expect(list(entries.reversed()).items.map(\.quantity) == [3])
        let again = entries + [bob.remove("Milk", at: 6), bob.add("Milk", after: nil, at: 7)]
        #expect(list(again).items.map(\.quantity) == [1])
        // A quantity that is not a number is ignored.
        let odd = JournalEntry(
            id: "c", listID: "weekly", itemID: "Milk", action: .quantity, value: "many",
            editTimeMilliseconds: 9, device: "tablet", author: "Bob")
        #expect(list(entries + [odd]).items.map(\.quantity) == [3])
    }

    @Test func mergedDuplicatesAddTheirQuantities() throws {
        let whole = list([
            alice.add("milk", after: nil, at: 1), bob.add("Milk", after: "milk", at: 2),
            bob.writer.quantity("Milk", 3, id: "q", at: 3),
        ])
        let group = try #require(whole.duplicates.first)
        #expect(
            whole.merging(group) == [.quantity(itemID: "milk", 4), .remove(itemID: "Milk")])
    }

    @Test func quantityChangeIsInTheActivityAndIsUndone() throws {
        let entries = [
            alice.add("Milk", after: nil, at: 1),
            alice.writer.quantity("Milk", 2, id: "a", at: 2),
            bob.writer.quantity("Milk", 5, id: "b", at: 3), bob.remove("Milk", at: 4),
        ]
        let lines = ActivityHistory(
            entries.map {
                ActivityEvent(
                    id: $0.id, milliseconds: $0.editTimeMilliseconds, action: $0.action,
                    itemID: $0.itemID, value: $0.value, device: $0.device, author: $0.author)
            }
        ).lines
        #expect(lines[2].sentence == "5 × Milk wanted by Bob on Bob's phone")
        #expect(lines[2].undo == .quantity(itemID: "Milk", 2))
        #expect(
            lines[3].undo == .addAgain(itemID: "Milk", name: "5 × Milk", afterItemID: nil))
    }

    @Test func compactionKeepsTheQuantity() {
        var journal = Journal(
            listID: "weekly",
            entries: [
                alice.add("Milk", after: nil, at: 1),
                alice.writer.quantity("Milk", 2, id: "a", at: 2),
                alice.writer.quantity("Milk", 3, id: "b", at: 3),
            ])
        let dropped = Compaction(of: journal, before: 100).dropped
        #expect(dropped.map(\.id) == ["a"])
        for entry in dropped { journal.remove(id: entry.id) }
        #expect(journal.list().items.map(\.quantity) == [3])
    }
}
