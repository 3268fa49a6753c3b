import Synchronization
import Testing

@testable import StratusQuery

/// Which keys of a record a change removes from an index, and which it adds.
@Suite struct IndexKeyChangeTests {
    private final class Counter: Sendable {
        let comparisons = Atomic<Int>(0)
    }

    /// A key that counts how often it is compared.
    private struct Key: Hashable {
        let number: Int
        let counter: Counter

        static func == (left: Key, right: Key) -> Bool {
            left.counter.comparisons.add(1, ordering: .relaxed)
            return left.number == right.number
        }

        func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }

    /// A list in one record may have 100,000 values, and comparing each with each would take minutes.
    @Test func manyKeysAreNotComparedWithEachOther() {
        let counter = Counter()
        func keys(_ numbers: Range<Int>) -> [Key] {
            numbers.map { Key(number: $0, counter: counter) }
        }
        let change = IndexKeyChange(from: keys(0..<1_000), to: keys(900..<1_900))
        #expect(change.removed.map(\.number) == Array(0..<900))
        #expect(change.added.map(\.number) == Array(1_000..<1_900))
        let comparisons = counter.comparisons.load(ordering: .relaxed)
        #expect(comparisons < 50_000, "\(comparisons)")
    }

    @Test(arguments: [(0, 3), (3, 0), (1, 1), (3, 20), (20, 3), (20, 20)])
    func changeHasTheKeysOfOneSideOnly(_ countBefore: Int, _ countAfter: Int) {
        let before = (0..<countBefore).map { 2 * $0 }
        let after = (0..<countAfter).map { 3 * $0 }
        let change = IndexKeyChange(from: before, to: after)
        #expect(change.removed == before.filter { !after.contains($0) })
        #expect(change.added == after.filter { !before.contains($0) })
    }
}
