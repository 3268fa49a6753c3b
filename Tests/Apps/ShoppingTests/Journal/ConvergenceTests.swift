import ShoppingCore
import TestSeeds
import Testing

@Suite struct ConvergenceTests {
    /// Entries of a few people about a few items, with equal times, unknown items and unknown actions.
    private func randomEntries(using generator: inout SeededGenerator) -> [JournalEntry] {
        let actions: [JournalEntry.Action] = [
            .create, .add, .add, .add, .tick, .untick, .remove, .rename, .recolour, .reorder,
            .reorder, .init(rawValue: "later"),
        ]
        let count = Int.random(in: 1...120, using: &generator)
        return (0..<count).map { number in
            let action = actions.randomElement(using: &generator) ?? .add
            let item = "i\(Int.random(in: 0..<25, using: &generator))"
            let after = "i\(Int.random(in: 0..<30, using: &generator))"
            let device = "d\(Int.random(in: 0..<3, using: &generator))"
            return JournalEntry(
                id: "e\(number)", listID: "weekly",
                itemID: Int.random(in: 0..<8, using: &generator) == 0 ? nil : item, action: action,
                value: Int.random(in: 0..<9, using: &generator) == 0 ? nil : "value \(number)",
                afterItemID: Int.random(in: 0..<5, using: &generator) == 0 ? nil : after,
                editTimeMilliseconds: Int64.random(in: 0..<60, using: &generator), device: device,
                author: device)
        }
    }

    @Test(arguments: Seeds.forTest("ConvergenceTests", count: 60))
    func arrivalOrderAndDuplicatesDoNotChangeList(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let entries = randomEntries(using: &generator)
        let journal = Journal(listID: "weekly", entries: entries)
        let list = journal.list()
        let text = ListText().render(list)
        for _ in 0..<6 {
            var arrivals = entries
            for _ in 0..<entries.count / 3 {
                if let entry = entries.randomElement(using: &generator) { arrivals.append(entry) }
            }
            arrivals.shuffle(using: &generator)
            let other = Journal(listID: "weekly", entries: arrivals)
            #expect(other == journal)
            #expect(other.list() == list)
            #expect(ListText().render(other.list()) == text)
        }
        expectNothingLost(entries: entries, list: list)
    }

    /// Checks that every item that was added and never removed is in the list exactly once.
    private func expectNothingLost(entries: [JournalEntry], list: ShoppingList) {
        let added = Set(
            entries.filter { $0.action == .add || $0.action == .untick && $0.value != nil }
                .compactMap(\.itemID))
        let removed = Set(entries.filter { $0.action == .remove }.compactMap(\.itemID))
        let shown = list.items.map(\.id)
        #expect(Set(shown).count == shown.count)
        #expect(added.subtracting(removed).isSubset(of: shown))
        #expect(Set(shown).isSubset(of: added))
    }

    /// Two devices that edit, sync and edit again, with `editTime`: their edits stay as made.
    @Test(arguments: Seeds.forTest("ConvergenceTests, meeting", count: 20))
    func mergedDevicesConverge(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let people = [alice, bob]
        // Bob's clock is a minute slow.
        let clocks: [Int64] = [100_000, 40_000]
        var journals = [Journal(listID: "weekly"), Journal(listID: "weekly")]
        for round in 0..<10 {
            for (index, person) in people.enumerated() {
                for step in 0..<4 {
                    let items = journals[index].list().items
                    let after = items.randomElement(using: &generator)?.id
                    let time = journals[index].editTime(nowMilliseconds: clocks[index])
                    let item = "\(person.writer.author)-\(round)-\(step)"
                    journals[index].insert(person.add(item, after: after, at: time))
                    let ids = journals[index].list().items.map(\.id)
                    let place = after.flatMap { ids.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
                    #expect(ids[place] == item)
                }
            }
            let both = journals.flatMap(\.history)
            for entry in both {
                journals[0].insert(entry)
                journals[1].insert(entry)
            }
            #expect(journals[0].list() == journals[1].list())
            #expect(journals[0].list().items.count == (round + 1) * 8)
        }
    }
}
