import Foundation
import ShoppingCore
import Testing

/// What happened, as sentences, and undoing it.
@Suite struct ActivityTests {
    private func events(_ entries: [JournalEntry]) -> [ActivityEvent] {
        entries.map {
            ActivityEvent(
                id: $0.id, milliseconds: $0.editTimeMilliseconds, action: $0.action,
                itemID: $0.itemID, value: $0.value, device: $0.device, author: $0.author)
        }
    }

    private var week: [JournalEntry] {
        [
            alice.add("Coffee", after: nil, at: 1),
            alice.rename("Coffee", to: "Ground coffee", at: 2),
            bob.tick("Coffee", at: 3), bob.remove("Coffee", at: 4),
            alice.add("Milk", after: nil, at: 5), bob.tick("Milk", at: 6),
            alice.add("2 bags coffee", after: nil, at: 7), bob.tick("2 bags coffee", at: 8),
        ]
    }

    @Test func historyNamesAuthorAndItemNameAtTheTime() {
        let sentences = ActivityHistory(events(week).shuffled()).lines.map(\.sentence)
        #expect(
            Array(sentences.prefix(4)) == [
                "Coffee added by Alice on Alice's phone",
                "Coffee renamed to Ground coffee by Alice on Alice's phone",
                "Ground coffee ticked by Bob on Bob's phone",
                "Ground coffee removed by Bob on Bob's phone",
            ])
    }

    @Test func purchasesOfProductAreFoundUnderAnyName() {
        let bought = ActivityHistory(events(week)).purchases(of: "coffee")
        #expect(bought.map(\.event.milliseconds) == [8, 3])
        #expect(ActivityHistory(events(week)).purchases(of: "tea").isEmpty)
        // Two names of one product.
        let vegetables = [
            alice.add("Courgettes", after: nil, at: 1), bob.tick("Courgettes", at: 2),
        ]
        #expect(ActivityHistory(events(vegetables)).purchases(of: "zucchini").count == 1)
    }

    @Test func undoRevertsEachAction() throws {
        let base = [alice.add("Milk", after: nil, at: 1), alice.renameList(to: "Food", at: 2)]
        let changes = [
            bob.tick("Milk", at: 10), bob.remove("Milk", at: 10),
            bob.rename("Milk", to: "Oats", at: 10), bob.renameList(to: "Party", at: 10),
            bob.add("Bread", after: nil, at: 10),
        ]
        let before = list(base)
        for change in changes {
            let journal = Journal(listID: "weekly", entries: base + [change])
            let line = try #require(ActivityHistory(events(base + [change])).lines.last)
            let undo = try #require(line.undo)
            var undone = journal
            var number = 0
            for entry in alice.writer.entries(
                for: undo, in: journal, at: 20,
                newID: {
                    number += 1
                    return "undo\(number)"
                })
            { undone.insert(entry) }
            #expect(undone.list().items.map(\.name) == before.items.map(\.name))
            #expect(undone.list().items.map(\.isTicked) == before.items.map(\.isTicked))
            #expect(undone.list().title == before.title)
        }
    }

    @Test func duplicatesAreOfferedAndMerged() throws {
        let journal = Journal(
            listID: "weekly",
            entries: [
                alice.add("milk", after: nil, at: 1), alice.add("Bread", after: "milk", at: 2),
                bob.add("Milk", after: "Bread", at: 3),
                bob.writer.note("Milk", "2 pints", id: "n", at: 4),
            ])
        let groups = journal.list().duplicates
        #expect(groups.map { $0.map(\.name) } == [["milk", "Milk"]])
        #expect(
            journal.list().merging(try #require(groups.first))
                == [
                    .note(itemID: "milk", text: "2 pints"), .quantity(itemID: "milk", 2),
                    .remove(itemID: "Milk"),
                ])
    }

    @Test func notesAndCategoriesAreRendered() {
        let list = list([
            alice.add("Milk", after: nil, at: 1), alice.add("Candles", after: "Milk", at: 2),
            alice.writer.note("Milk", "2 pints", id: "n", at: 3),
            bob.writer.category("Candles", "Birthday", id: "c", at: 4),
        ])
        #expect(
            ListText().render(list)
                == """
                Untitled list (2 to buy, 0 ticked)
                Birthday
                  [ ] Candles
                Dairy & Eggs
                  [ ] Milk (2 pints)

                """)
        #expect(list.clearingBought.isEmpty)
    }

    @Test func pictureIsSetAndRemoved() {
        let given = [
            alice.add("Milk", after: nil, at: 1), alice.writer.picture("Milk", id: "p", at: 2),
        ]
        let taken = given + [bob.writer.noPicture("Milk", id: "q", at: 3)]
        #expect(list(given).items.map(\.pictureEntryID) == ["p"])
        #expect(list(taken).items.map(\.pictureEntryID) == [nil])
        let again = taken + [alice.writer.picture("Milk", id: "r", at: 4)]
        #expect(list(again).items.map(\.pictureEntryID) == ["r"])
        #expect(
            ActivityHistory(events(taken)).lines.suffix(2).map(\.sentence) == [
                "Milk has a new picture by Alice on Alice's phone",
                "Milk has no picture any more by Bob on Bob's phone",
            ])
        // Compaction keeps the latest entry.
        #expect(
            Compaction(of: Journal(listID: "weekly", entries: taken), before: 100).dropped
                .map(\.id) == ["p"])
    }

    @Test func onlyChosenChangesNotify() {
        let added = ShoppingChange(.itemAdded(name: "Milk"), listTitle: "Food", author: "Bob")
        let ticked = ShoppingChange(.itemTicked(name: "Milk"), listTitle: "Food", author: "Bob")
        #expect(NotificationChoice().text(for: added) == nil)
        let choice = NotificationChoice(tellsAdds: true)
        #expect(choice.text(for: added) == "Food: Milk added by Bob")
        #expect(choice.text(for: ticked) == nil)
        #expect(
            NotificationChoice(tellsTicks: true).text(for: ticked) == "Food: Milk ticked by Bob")
    }

    @Test func shoppingScreenIsRestoredWithItsNotices() {
        let first = [
            alice.add("Milk", after: nil, at: 1), alice.add("Bread", after: "Milk", at: 2),
        ]
        var screen = ListScreen(list: list(first), deviceID: "tablet", mode: .shopping)
        let later = first + [bob.add("Eggs", after: "Milk", at: 3)]
        screen.receive(list(later))
        let again = ListScreen(
            list: list(later), deviceID: "tablet", shoppingWith: screen.rows.map(\.id))
        #expect(again == screen)
        #expect(again.notices.map(\.name) == ["Eggs"])
    }
}
