import ShoppingCore
import Testing

@Suite struct PastedTextTests {
    @Test func linesBecomeItemsWithoutBulletsAndNumbers() {
        let pasted = PastedText(
            """
            - milk
              * 2 pints cream\r
            • bread

            1. eggs
            12) tea
            - [ ] jam
            [x] 3 lemons
            ☐ soap
            1.5 l cola
            7up
            -
            """)
        #expect(
            pasted.names == [
                "milk", "2 pints cream", "bread", "eggs", "tea", "jam", "3 lemons", "soap",
                "1.5 l cola", "7up",
            ])
        #expect(pasted.leftOutCount == 0)
    }

    @Test func pasteIsBounded() {
        let count = ShoppingLimits.pastedLines + 5
        let pasted = PastedText((0..<count).map { "item \($0)" }.joined(separator: "\r\n"))
        #expect(pasted.names.count == ShoppingLimits.pastedLines)
        #expect(pasted.leftOutCount == 5)
        let long = PastedText(String(repeating: "x", count: 500))
        #expect(long.names.map(\.count) == [ShoppingLimits.nameCharacters])
        #expect(PastedText(" \n\t\n").names.isEmpty)
    }
}
