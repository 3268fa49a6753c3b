import Testing

@testable import ShoppingCore

@Suite struct ItemFinderTests {
    private let finder = ItemFinder(
        items: list([
            alice.add("Milk", after: nil, at: 1), alice.add("Oat Milk", after: "Milk", at: 2),
            alice.add("Rye Bread", after: "Oat Milk", at: 3),
            alice.add("White Bread", after: "Rye Bread", at: 4),
        ]).items, numberedIDs: ["Rye Bread", "Gone"])

    @Test(arguments: [
        ("Milk", "Milk"), ("milk", "Milk"), ("oat", "Oat Milk"), ("rye", "Rye Bread"),
        ("hite", "White Bread"), ("1", "Rye Bread"),
    ])
    func itemIsFoundByNumberNamePrefixOrPart(text: String, name: String) throws {
        #expect(try finder.item(text).name == name)
    }

    @Test(arguments: [
        ("bread", "\"bread\" may be \"Rye Bread\", \"White Bread\"; type show and use a number."),
        ("tea", "There is no item \"tea\" on this list; type show to see its items."),
        ("2", "The item with the number 2 was removed meanwhile; type show to see the others."),
        ("3", "There was no number 3 when the list was last shown; type show to see the numbers."),
        ("", "No item was named; give its name or its number."),
    ])
    func ambiguousOrMissingItemThrowsReason(text: String, sentence: String) {
        #expect(throws: ItemFinder.NotFound(description: sentence)) { try finder.item(text) }
    }
}
