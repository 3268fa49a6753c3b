import ShoppingCore
import TestSeeds
import Testing

/// Expects the same list whatever the order of arrival, and returns it.
private func merged(_ entries: [JournalEntry]) -> ShoppingList {
    let forward = list(entries)
    #expect(forward == list(entries.reversed()))
    for seed in Seeds.forTest("MergeTests", count: 5) {
        var generator = SeededGenerator(seed: seed)
        #expect(forward == list(entries.shuffled(using: &generator)), "seed \(seed)")
    }
    return forward
}

@Suite struct MergeTests {
    private let milk = alice.add("milk", after: nil, at: 10)

    @Test func concurrentAddsAfterSameItemAreKept() {
        let list = merged([
            milk, alice.add("bread", after: "milk", at: 20), bob.add("eggs", after: "milk", at: 21),
        ])
        #expect(list.items.map(\.name) == ["milk", "eggs", "bread"])
    }

    @Test func concurrentRunsDoNotInterleave() {
        let list = merged([
            milk, alice.add("a1", after: "milk", at: 20), bob.add("b1", after: "milk", at: 21),
            alice.add("a2", after: "a1", at: 22), bob.add("b2", after: "b1", at: 23),
            alice.add("a3", after: "a2", at: 24),
        ])
        #expect(list.items.map(\.name) == ["milk", "b1", "b2", "a1", "a2", "a3"])
    }

    @Test func laterListRenameWins() {
        let list = merged([
            alice.writer.create(title: "List", id: "c", at: 1),
            alice.renameList(to: "Weekly shop", at: 1_000),
            bob.renameList(to: "Alice's and Bob's list", at: 2_000),
        ])
        #expect(list.title == "Alice's and Bob's list")
    }

    @Test func simultaneousRenamesAreDecidedByDevice() {
        let list = merged([
            bob.renameList(to: "Bob's", at: 1_000), alice.renameList(to: "Alice's", at: 1_000),
        ])
        #expect(list.title == "Bob's")
    }

    @Test func firstCreateGivesTheTitle() {
        let list = merged([
            alice.writer.create(title: "First", id: "c1", at: 5),
            bob.writer.create(title: "Second", id: "c2", at: 6),
        ])
        #expect(list.title == "First")
    }

    @Test(arguments: [[20, 30], [30, 20]] as [[Int64]])
    func removedItemStaysRemovedAfterTick(times: [Int64]) {
        let list = merged([
            milk, alice.tick("milk", at: times[0]), bob.remove("milk", at: times[1]),
        ])
        #expect(list.items.isEmpty)
    }

    @Test func laterAddRestoresItemUnticked() {
        let again = alice.writer.add("fresh milk", itemID: "milk", after: nil, id: "again", at: 40)
        let list = merged([milk, alice.tick("milk", at: 20), bob.remove("milk", at: 30), again])
        #expect(list.items.map(\.name) == ["fresh milk"])
        #expect(list.items.map(\.isTicked) == [false])
    }

    @Test func addAfterRemovedItemTakesItsPlace() {
        let list = merged([
            milk, alice.add("bread", after: "milk", at: 11),
            alice.add("eggs", after: "bread", at: 12),
            alice.remove("bread", at: 20), bob.add("butter", after: "bread", at: 21),
        ])
        #expect(list.items.map(\.name) == ["milk", "butter", "eggs"])
    }

    @Test func addAfterUnknownItemWaitsAtTheEnd() {
        let bread = alice.add("bread", after: nil, at: 12)
        let early = [
            milk, bob.add("butter", after: "bread", at: 20), alice.add("a", after: nil, at: 30),
        ]
        #expect(merged(early).items.map(\.name) == ["a", "milk", "butter"])
        #expect(merged(early + [bread]).items.map(\.name) == ["a", "bread", "butter", "milk"])
    }

    @Test func changesOfUnknownItemApplyWhenItArrives() {
        let early = [
            bob.tick("milk", at: 20), bob.rename("milk", to: "oat milk", at: 21),
            bob.move("milk", after: "bread", at: 22), bob.add("bread", after: nil, at: 15),
        ]
        #expect(merged(early).items.map(\.name) == ["bread"])
        let list = merged(early + [milk])
        #expect(list.items.map(\.name) == ["bread", "oat milk"])
        #expect(list.items.map(\.isTicked) == [false, true])
    }

    @Test func changesWithSlowClockApplyAfterFirstAdd() {
        let list = merged([
            milk, bob.tick("milk", at: 3), bob.rename("milk", to: "oat milk", at: 4),
            bob.add("bread", after: "milk", at: 5),
        ])
        #expect(list.items.map(\.name) == ["oat milk", "bread"])
        #expect(list.items.map(\.isTicked) == [true, false])
        #expect(merged([milk, bob.remove("milk", at: 3)]).items.isEmpty)
    }

    @Test func laterMoveWins() {
        let list = merged([
            milk, alice.add("bread", after: "milk", at: 11),
            alice.add("eggs", after: "bread", at: 12),
            alice.move("milk", after: "eggs", at: 20), bob.move("milk", after: "bread", at: 21),
        ])
        #expect(list.items.map(\.name) == ["bread", "milk", "eggs"])
    }

    @Test func mutualMovesLoseNoItem() {
        let list = merged([
            milk, alice.add("bread", after: "milk", at: 11),
            alice.move("milk", after: "bread", at: 20), bob.move("bread", after: "milk", at: 20),
        ])
        #expect(Set(list.items.map(\.name)) == ["milk", "bread"])
    }

    @Test func anchorCyclesLoseNoItem() {
        let list = merged([
            milk, alice.add("a", after: "c", at: 20), bob.add("b", after: "a", at: 21),
            alice.add("c", after: "b", at: 22), bob.add("self", after: "self", at: 23),
            bob.add("d", after: "a", at: 24),
        ])
        #expect(list.items.map(\.name) == ["milk", "c", "a", "d", "b", "self"])
    }

    @Test func anchorCycleThroughMoveLosesNoItem() {
        let list = merged([
            milk, alice.add("bread", after: "milk", at: 100),
            bob.move("milk", after: "bread", at: 95),
        ])
        #expect(Set(list.items.map(\.name)) == ["milk", "bread"])
    }
}
