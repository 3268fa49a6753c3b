import ShoppingCore
import TestSeeds
import Testing

/// Compaction removes only entries that are no longer needed.
@Suite struct CompactionTests {
    private func journal(_ entries: [JournalEntry]) -> Journal {
        Journal(listID: "weekly", entries: entries)
    }

    private func compacted(_ journal: Journal, _ compaction: Compaction) -> Journal {
        var journal = journal
        for entry in compaction.dropped { journal.remove(id: entry.id) }
        return journal
    }

    @Test func oldBoughtAndRemovedItemsAreDropped() {
        let journal = journal([
            alice.add("milk", after: nil, at: 1), alice.add("bread", after: "milk", at: 2),
            alice.add("eggs", after: "bread", at: 3), bob.tick("milk", at: 4),
            bob.remove("eggs", at: 5),
        ])
        let compaction = Compaction(of: journal, before: 10)
        #expect(compaction.dropped.map(\.itemID) == ["milk", "eggs", "milk", "eggs"])
        #expect(compacted(journal, compaction).list().items.map(\.name) == ["bread"])
        #expect(compaction.isComplete)
    }

    /// The document's second example: an item that was just bought is kept, so that others see that it was bought.
    @Test func recentTickKeepsItem() {
        let journal = journal([
            alice.add("milk", after: nil, at: 1), bob.tick("milk", at: 10),
        ])
        #expect(Compaction(of: journal, before: 10).dropped.isEmpty)
        #expect(journal.list().squeezed(before: 10).items.map(\.name) == ["milk"])
        #expect(journal.list().squeezed(before: 11).items.isEmpty)
    }

    @Test func overwrittenEntriesOfKeptItemsAreDropped() {
        let journal = journal([
            alice.add("milk", after: nil, at: 1), alice.rename("milk", to: "cream", at: 2),
            alice.rename("milk", to: "oat milk", at: 3), alice.tick("milk", at: 4),
            alice.untick("milk", at: 5), alice.renameList(to: "Food", at: 6),
            alice.renameList(to: "Weekly", at: 7),
        ])
        let compaction = Compaction(of: journal, before: 10)
        #expect(compaction.dropped.map(\.editTimeMilliseconds) == [2, 4, 6])
        #expect(compacted(journal, compaction).list() == journal.list())
    }

    @Test func journalOfNewerAppIsNotCompacted() {
        let newer = ListJournalWriter(
            listID: "weekly", device: "d", author: "d",
            appVersion: JournalEntry.currentAppVersion + 1)
        let journal = journal([
            alice.add("milk", after: nil, at: 1), alice.tick("milk", at: 2),
            newer.tick("milk", id: "newer", at: 3),
        ])
        #expect(Compaction(of: journal, before: 10).dropped.isEmpty)
    }

    /// Items added in the middle of the list refer to items that were bought long ago.
    @Test func compactionKeepsTheOrderOfItems() {
        let journal = journal([
            alice.add("milk", after: nil, at: 1), alice.add("bread", after: "milk", at: 2),
            alice.add("eggs", after: "milk", at: 3), alice.tick("milk", at: 4),
            alice.add("ham", after: nil, at: 5), alice.add("salt", after: "milk", at: 6),
        ])
        let order = journal.list().squeezed(before: 10).items.map(\.name)
        #expect(order == ["ham", "salt", "eggs", "bread"])
        let kept = compacted(journal, Compaction(of: journal, before: 10))
        #expect(kept.list().squeezed(before: 10).items.map(\.name) == order)
    }

    /// Users never remove bought items: a year of shopping is compacted to the items still to buy.
    @Test func longHistoryIsCompactedToItemsToBuy() {
        var entries: [JournalEntry] = []
        var last: String?
        var time: Int64 = 0
        for week in 0..<50 {
            for number in 0..<20 {
                let item = "\(week)-\(number)"
                time += 1
                entries.append(alice.add(item, after: last, at: time))
                last = item
            }
            for number in 1..<20 {
                time += 1
                entries.append(bob.tick("\(week)-\(number)", at: time))
            }
        }
        let journal = journal(entries)
        let kept = compacted(journal, Compaction(of: journal, before: time + 1))
        #expect(kept.list().items == journal.list().unticked)
        #expect(kept.count == 50)
    }

    /// Bob was offline for months and wants an item again that the others have bought and compacted.
    @Test func untickAfterCompactionRestoresTheItem() {
        var journal = journal([alice.add("milk", after: nil, at: 1), alice.tick("milk", at: 2)])
        let made = bob.writer.entries(
            for: .untick(itemID: "milk"), in: journal, at: 3, newID: { "late" })
        journal = compacted(journal, Compaction(of: journal, before: 10))
        #expect(journal.isEmpty)
        journal.insert(made)
        #expect(journal.list().items.map(\.name) == ["milk"])
        #expect(journal.list().items.first?.isTicked == false)
        journal.insert(bob.add("bread", after: "milk", at: 4))
        #expect(journal.list().items.map(\.name) == ["milk", "bread"])
    }

    /// Any journal, compacted at any time in steps of any size: the list is the same after each step, recent entries
    /// are untouched, and late entries of devices that were offline lose nothing.
    @Test(arguments: Seeds.forTest("CompactionTests", count: 25))
    func compactionOfAnyJournalKeepsItsList(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let entries = randomEntries(using: &generator)
        let full = journal(entries)
        let cutoff = Int64.random(in: 1...80, using: &generator)
        let limit = [1, 3, 7, Int.max].randomElement(using: &generator) ?? 1
        let wanted = full.list().squeezed(before: cutoff)
        var kept = full
        var isComplete = false
        for _ in 0...entries.count where !isComplete {
            let step = Compaction(of: kept, before: cutoff, atMost: limit)
            #expect(step.dropped.count <= limit)
            #expect(step.dropped.allSatisfy { $0.editTimeMilliseconds < cutoff })
            kept = compacted(kept, step)
            let list = kept.list().squeezed(before: cutoff)
            #expect(list.items == wanted.items)
            #expect(list.title == wanted.title && list.colour == wanted.colour)
            isComplete = step.isComplete || step.dropped.isEmpty
        }
        #expect(
            kept.history.filter { $0.editTimeMilliseconds >= cutoff }
                == full.history.filter { $0.editTimeMilliseconds >= cutoff })
        // A device's own entries from meanwhile, written with all that it knew.
        var late: [JournalEntry] = []
        var known = full
        for number in 0..<8 {
            let time = Int64.random(in: 0..<120, using: &generator)
            let items = known.list().items
            let entry: JournalEntry
            if let item = items.randomElement(using: &generator), number.isMultiple(of: 2) {
                entry = bob.writer.untick(item.id, name: item.name, id: "late\(number)", at: time)
            } else {
                let after = items.randomElement(using: &generator)?.id
                entry = bob.add("late\(number)", after: after, at: time)
            }
            known.insert(entry)
            late.append(entry)
        }
        for entry in late { kept.insert(entry) }
        let ids = Set(kept.list().unticked.map(\.id))
        #expect(ids.isSuperset(of: known.list().unticked.map(\.id)))
    }

    private func randomEntries(using generator: inout SeededGenerator) -> [JournalEntry] {
        let actions: [JournalEntry.Action] = [
            .create, .add, .add, .add, .tick, .tick, .untick, .remove, .rename, .recolour, .reorder,
            .init(rawValue: "later"),
        ]
        return (0..<Int.random(in: 1...150, using: &generator)).map { number in
            let action = actions.randomElement(using: &generator) ?? .add
            let device = "d\(Int.random(in: 0..<3, using: &generator))"
            return JournalEntry(
                id: "e\(number)", listID: "weekly",
                itemID: Int.random(in: 0..<10, using: &generator) == 0
                    ? nil : "i\(Int.random(in: 0..<30, using: &generator))",
                action: action,
                value: Int.random(in: 0..<9, using: &generator) == 0 ? nil : "value \(number)",
                afterItemID: Int.random(in: 0..<4, using: &generator) == 0
                    ? nil : "i\(Int.random(in: 0..<34, using: &generator))",
                editTimeMilliseconds: Int64.random(in: 0..<100, using: &generator), device: device,
                author: device)
        }
    }
}
