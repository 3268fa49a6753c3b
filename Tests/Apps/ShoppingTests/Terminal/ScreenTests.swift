import ShoppingCore
import Testing

@testable import shopping

/// The terminal's screen without a terminal.
@Suite struct ScreenTests {
    private func model(_ entries: [JournalEntry]? = nil) -> ScreenModel {
        let entries =
            entries ?? [
                alice.add("Milk", after: nil, at: 1), alice.add("Bread", after: "Milk", at: 2),
                bob.tick("Bread", at: 3), alice.renameList(to: "Weekly", at: 4),
            ]
        var model = ScreenModel(screen: ListScreen(list: list(entries), deviceID: "tablet"))
        model.syncLine = "Done"
        return model
    }

    private func text(_ model: ScreenModel, _ width: Int = 80, _ height: Int = 24) -> [String] {
        model.rows(width: width, height: height, hasColours: false)
    }

    @Test func itemsAreGroupedByAisle() {
        let rows = text(model(), 40, 9)
        #expect(
            rows == [
                "Weekly (1 to buy) [planning]", "Bakery", "> [x] Bread", "Dairy & Eggs",
                "  [ ] Milk",
                "", "", "a add  space tick  d remove  ? help", "Done",
            ])
    }

    @Test(arguments: [(80, 24), (20, 6), (5, 3), (1, 1), (0, 0)])
    func screenFitsAnyWindowSize(width: Int, height: Int) {
        var entries: [JournalEntry] = []
        for number in 0..<60 {
            entries.append(
                alice.add("Item 牛乳 number \(number)", after: nil, at: Int64(number)))
        }
        var model = model(entries)
        for page in [ScreenModel.Page.list, .help] {
            model.page = page
            let rows = text(model, width, height)
            #expect(rows.count == height)
            #expect(rows.allSatisfy { $0.count <= width })
        }
    }

    @Test func cursorStaysVisible() {
        let entries = (0..<60).map { alice.add("Item \($0)", after: nil, at: Int64($0)) }
        var model = model(entries)
        for key in [ScreenKey.end, .pageUp, .home, .pageDown] {
            _ = model.press(key)
            #expect(text(model).contains { $0.hasPrefix("> ") })
        }
    }

    @Test func keysBecomeActions() {
        var model = model()
        #expect(model.press(.character(" ")) == .perform([.untick(itemID: "Bread")]))
        #expect(model.press(.down) == nil)
        #expect(model.press(.enter) == .perform([.tick(itemID: "Milk")]))
        #expect(model.press(.character("d")) == .perform([.remove(itemID: "Milk")]))
        #expect(model.press(.character("c")) == .perform([.remove(itemID: "Bread")]))
        #expect(model.press(.character("m")) == .enter(.shopping))
        #expect(model.press(.character("q")) == .quit)
        #expect(model.press(.character("z")) == nil && !model.message.isEmpty)
    }

    @Test func typingSuggestsAndAdds() {
        var model = model()
        for character in "aban" { _ = model.press(.character(character)) }
        #expect(model.input == "ban" && model.suggestions.first == "Bananas")
        #expect(text(model).contains("  Bananas") && text(model).contains("Add: ban_"))
        _ = model.press(.tab)
        #expect(text(model).contains("> Bananas"))
        #expect(
            model.press(.enter) == .perform([.add(names: ["Bananas"], afterItemID: "Bread")]))
        #expect(model.input == "")
        #expect(model.press(.escape) == nil && model.input == nil)
    }

    @Test func colonTypesCommand() {
        var model = model()
        for character in ":people" { _ = model.press(.character(character)) }
        #expect(text(model).contains(":people_") && model.suggestions.isEmpty)
        #expect(model.press(.enter) == .command("people"))
        #expect(model.input == nil && !model.typesCommand)
    }

    @Test func changeOfOthersIsMarkedWithItsAuthor() {
        var model = model()
        let later = list([
            alice.add("Milk", after: nil, at: 1), alice.add("Bread", after: "Milk", at: 2),
            bob.tick("Milk", at: 5),
        ])
        var screen = model.screen
        screen.receive(later)
        model.receive(screen, changedBy: ["Milk": "Bob"])
        #expect(text(model).contains("  [x] Milk  * Bob"))
        #expect(model.cursorID == "Bread")
        _ = model.press(.down)
        #expect(!text(model).contains { $0.contains("* Bob") })
    }

    @Test func noticesAreShownAboveTheList() {
        var model = model()
        model.screen.enter(.shopping)
        model.screen.receive(
            list([
                alice.add("Milk", after: nil, at: 1), alice.add("Bread", after: "Milk", at: 2),
                bob.add("Eggs", after: "Milk", at: 9),
            ]))
        #expect(text(model)[1] == "+ Eggs (added by Bob)")
        #expect(model.press(.character("t")) == .takeNotices)
    }

    @Test func coloursAreOptional() {
        let coloured = model().rows(width: 80, height: 24, hasColours: true)
        #expect(coloured.contains("\u{1B}[7m> [x] Bread\u{1B}[0m"))
        #expect(!text(model()).contains { $0.contains("\u{1B}") })
    }

    @Test func bytesBecomeKeys() {
        let read = ScreenKey.read(Array("é\u{1B}[A\u{1B}[6~\r\u{7F}".utf8))
        #expect(read.keys == [.character("é"), .up, .pageDown, .enter, .backspace])
        #expect(ScreenKey.read([0x1B]).keys == [.escape])
        let half = ScreenKey.read([0x1B, 0x5B])
        #expect(half.keys.isEmpty && half.rest == [0x1B, 0x5B])
        #expect(ScreenKey.read([0xC3]).rest == [0xC3])
    }

    /// Participants can name things as they like; no name may control the terminal.
    @Test func controlCharactersOfOthersAreNotPrinted() {
        let evil = "\u{1B}[2J\u{9B}31m\u{202E}\u{7}\n"
        let mallory = Person("Mallory" + evil)
        let entries = [
            mallory.add("Milk" + evil, after: nil, at: 1),
            mallory.writer.category("Milk" + evil, "Shelf" + evil, id: "c", at: 2),
            mallory.renameList(to: "Food" + evil, at: 3),
        ]
        var model = model(entries)
        model.changedBy = ["Milk" + evil: "Mallory" + evil]
        model.message = evil
        model.syncLine = evil
        var texts = [text(model).joined(), ListText().render(list(entries))]
        model.page = .people
        model.pageLines = [evil]
        texts.append(text(model).joined())
        #expect(texts[0].contains("Shelf") && texts[1].contains("Shelf"))
        for text in texts {
            #expect(
                !text.unicodeScalars.contains {
                    ["\u{1B}", "\u{9B}", "\u{202E}", "\u{7}"].contains($0)
                })
        }
    }

    /// Emoji take two columns and combining marks none, so that no line is longer than the window.
    @Test(arguments: [
        ("☕☕☕☕☕☕", "☕☕☕☕…"), ("❤️❤️❤️❤️❤️❤️", "❤️❤️❤️❤️…"), ("👩‍👩‍👧👩‍👩‍👧", "👩‍👩‍👧👩‍👩‍👧"),
        ("e\u{301}e\u{301}", "e\u{301}e\u{301}"), ("牛乳牛乳牛乳", "牛乳牛乳…"), ("0123456789", "0123456789"),
    ])
    func lineIsTruncatedToTheWindowsColumns(text: String, shown: String) {
        #expect(ScreenModel.fit(text, 10) == shown)
    }

    /// Others may delete the list while it is shown.
    @Test func keysDoNothingWhileNoListIsOpen() {
        var model = model()
        model.close()
        #expect(text(model)[0] == "No list is open")
        #expect(text(model)[1].hasPrefix("No list is open; type :open"))
        #expect(model.press(.character(" ")) == nil && model.press(.character("d")) == nil)
        for key in [ScreenKey.down, .end, .pageUp] { #expect(model.press(key) == nil) }
        model.receive(ListScreen(list: list([alice.add("Eggs", after: nil, at: 1)]), deviceID: "t"))
        #expect(text(model).contains("> [ ] Eggs"))
    }

    @Test func helpIsReadInSmallWindow() {
        var model = model()
        model.page = .help
        #expect(!text(model, 40, 10).contains("Any key goes back to the list."))
        for _ in 0..<2 { _ = model.press(.pageDown) }
        #expect(text(model, 40, 10).contains("Any key goes back to the list."))
        for _ in 0..<40 { _ = model.press(.down) }
        #expect(model.page == .help && text(model, 40, 10)[1] == "Any key goes back to the list.")
    }

    @Test func cursorReachesTheEndOfALongList() {
        var model = model((0..<2_000).map { alice.add("Item \($0)", after: nil, at: Int64($0)) })
        let last = model.rows.last?.id
        _ = model.press(.end)
        #expect(model.cursorID == last && text(model, 40, 10).count == 10)
    }

    /// Bytes that are not text are no keys, and do not affect the next keys.
    @Test func invalidBytesAreNoKeys() {
        #expect(ScreenKey.read([0xFF, 0x71]).keys == [.character("q")])
        #expect(ScreenKey.read([0xC3, 0x71]).keys == [.character("q")])
        #expect(ScreenKey.read([0xE2, 0x82, 0x71]).keys == [.character("q")])
        #expect(ScreenKey.read([0x80, 0xC2, 0x9B, 0x71]).keys == [.character("q")])
        #expect(ScreenKey.read([0xE2, 0x82]).rest == [0xE2, 0x82])
    }
}
