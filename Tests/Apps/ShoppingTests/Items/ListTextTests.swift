import ShoppingCore
import Testing

@Suite struct ListTextTests {
    private let entries = [
        alice.writer.create(title: "Weekly shop", id: "c", at: 1),
        alice.add("cat litter", after: nil, at: 2), alice.add("bread", after: "cat litter", at: 3),
        alice.add("2 pints milk", after: "bread", at: 4),
        alice.add("flux capacitor", after: "2 pints milk", at: 5),
        alice.add("eggs", after: "flux capacitor", at: 6),
        alice.add("apples", after: "eggs", at: 7),
        bob.tick("eggs", at: 8),
    ]

    @Test func listIsGroupedByAisleWithMarks() {
        #expect(
            ListText().render(list(entries)) == """
                Weekly shop (5 to buy, 1 ticked)
                Fruit & Vegetables
                  [ ] apples
                Bakery
                  [ ] bread
                Dairy & Eggs
                  [ ] 2 pints milk
                  [x] eggs
                Pets
                  [ ] cat litter
                Other
                  [ ] flux capacitor

                """)
    }

    @Test func screenShowsNoticesAndRemovedRows() {
        var screen = ListScreen(
            list: list(Array(entries.prefix(3))), deviceID: "Alice 1", mode: .shopping)
        let more = [
            bob.add("jam", after: nil, at: 20), bob.remove("bread", at: 21),
            alice.writer.recolour(to: "red", id: "r", at: 22),
        ]
        screen.receive(list(entries.prefix(3) + more))
        #expect(
            ListText().render(screen) == """
                Weekly shop (2 to buy, 0 ticked, red)
                + jam (added by Bob)
                Bakery
                  [-] bread
                Pets
                  [ ] cat litter

                """)
    }

    @Test func emptyListHasAHeading() {
        #expect(ListText().render(list([])) == "Untitled list (0 to buy, 0 ticked)\n")
    }

    @Test func itemNamesCannotInjectControlCharacters() {
        let text = ListText().render(
            list([
                alice.add("a\nb\u{1B}[2J\u{2028}c", after: nil, at: 1),
                alice.add("", after: nil, at: 2),
            ]))
        #expect(text.contains("  [ ] a b [2J c\n"))
        #expect(text.contains("  [ ] (no name)\n"))
        #expect(!text.contains("\u{1B}"))
    }
}
