import ShoppingCore
import Testing

@testable import shopping

/// The share sheet on the terminal's screen: who shares the list, and the keys for it.
@Suite struct ShareSheetTests {
    private func sheet() -> ScreenModel {
        let entries = [alice.add("Milk", after: nil, at: 1)]
        var model = ScreenModel(screen: ListScreen(list: list(entries), deviceID: "tablet"))
        model.page = .people
        model.pageLines = [
            "1 Alice (owner, you)", "2 Bob (may write)", "Link: https://example.org/share/a",
        ]
        return model
    }

    private func rows(_ model: ScreenModel) -> [String] {
        model.rows(width: 80, height: 6, hasColours: false)
    }

    @Test func upAndDownKeysMoveTheCursorOverPeople() {
        var model = sheet()
        #expect(rows(model)[1...2] == ["> 1 Alice (owner, you)", "  2 Bob (may write)"])
        #expect(model.press(.down) == nil && model.page == .people)
        #expect(rows(model)[1...2] == ["  1 Alice (owner, you)", "> 2 Bob (may write)"])
        for _ in 0..<5 { _ = model.press(.down) }
        #expect(rows(model)[3] == "> Link: https://example.org/share/a")
        for _ in 0..<5 { _ = model.press(.up) }
        #expect(model.sheetPlace == 0)
    }

    /// A link is shown completely so that it can be copied, though it is longer than most terminals are wide.
    @Test(arguments: [(80, 24), (40, 12)]) func linkAndKeysAreShownCompletely(
        _ width: Int, _ height: Int
    ) {
        var model = sheet()
        let link =
            "https://cloud.example.org/share/m27TNvIeAOIFM5fj3z8sjfbn#Groceries~"
            + "fUBVeH55EK973tPDSU8uyjZUkKtw49_pCt4aveNgKBs"
        model.pageLines[2] = "Link: " + link
        func shown() -> [String] {
            model.rows(width: width, height: height, hasColours: false)
        }
        func words(_ text: String) -> String {
            text.split(separator: " ").joined(separator: " ")
        }
        #expect(shown().count == height && shown().allSatisfy { $0.count <= width })
        #expect(shown().joined().contains(link))
        #expect(words(shown().joined(separator: " ")).contains(words(ScreenModel.sheetKeys)))
        model.message = "Nothing was changed: this needs the service. Try again later."
        #expect(words(shown().joined(separator: " ")).contains(model.message))
    }

    @Test func helpIsShownCompletelyAtAnyWidth() {
        var model = sheet()
        model.page = .help
        for width in [30, 40, 80] {
            model.scroll = 0
            for line in ScreenModel.help {
                let rows = model.rows(width: width, height: 10, hasColours: false)
                let words = rows.joined(separator: " ").split(separator: " ")
                #expect(line.split(separator: " ").allSatisfy(words.contains), "\(line)")
                _ = model.press(.down)
            }
        }
    }

    @Test func keysStartSharingCommands() {
        var model = sheet()
        #expect(model.press(.character("s")) == .command("share"))
        #expect(model.press(.character("y")) == .command("approve"))
        #expect(model.press(.character("n")) == .command("deny"))
        #expect(rows(model)[4] == ScreenModel.sheetKeys)
        for (key, command) in [("i", "invite bob@example.org"), ("l", "link read")] {
            _ = model.press(.character(Character(key)))
            #expect(rows(model)[4] == ":\(command.prefix { $0 != " " }) _")
            for character in command.drop(while: { $0 != " " }).dropFirst() {
                #expect(model.press(.character(character)) == nil)
            }
            #expect(model.press(.enter) == .command(command))
            #expect(model.page == .people)
        }
    }

    /// An action that ends something for others needs Enter; Escape changes nothing.
    @Test func commandsThatEndSharingNeedEnter() {
        var model = sheet()
        _ = model.press(.down)
        for (key, command) in [
            (ScreenKey.character("d"), "dismiss 2"), (.delete, "dismiss 2"),
            (.character("x"), "stop"), (.character("v"), "leave"),
        ] {
            #expect(model.press(key) == nil)
            #expect(rows(model)[4] == ":\(command)_")
            #expect(model.press(.escape) == nil && model.page == .people)
            #expect(model.press(key) == nil)
            #expect(model.press(.enter) == .command(command))
        }
        _ = model.press(.end)
        #expect(model.page == .list)
    }

    @Test func removeKeyOnTheLinkDoesNothing() {
        var model = sheet()
        for _ in 0..<2 { _ = model.press(.down) }
        #expect(model.press(.character("d")) == nil && model.input == nil)
        #expect(!model.message.isEmpty)
    }

    /// A person who asks to join may have a name that looks like another person's number.
    @Test func requesterNamedLikeANumberIsNotRemoved() {
        var model = sheet()
        model.pageLines[2] = "2 asks to join: approve, or deny."
        for _ in 0..<2 { _ = model.press(.down) }
        #expect(model.press(.character("d")) == nil && model.input == nil)
    }
}
