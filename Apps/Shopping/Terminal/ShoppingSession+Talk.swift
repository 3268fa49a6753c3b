import AppDevice
import Foundation
import ShoppingCore

extension ShoppingSession {
    /// Shows the screen if there is a terminal and a list; after that, or otherwise, takes line after line.
    func converse(hasScreen: Bool) async throws {
        if hasScreen, openListID != nil, let screen = TerminalScreen() {
            let colours = ProcessInfo.processInfo.environment["NO_COLOR"] ?? ""
            try await run(on: screen, hasColours: colours.isEmpty)
            return
        }
        let input = InputLines()
        while isOpen, !isSignedOut {
            terminal.prompt(promptText)
            guard let line = await input.next() else {
                // The end of the input ends the session; the shell's prompt needs its own line.
                if terminal.isInteractive { terminal.announce("") }
                break
            }
            await take(line: line)
        }
    }

    /// The open list for programs: its items in the order in which they are shown.
    func json() async throws -> String {
        struct Item: Encodable {
            let name, aisle, addedBy: String
            let isTicked: Bool
            let quantity: Int
            let note, tickedBy: String?
        }
        struct List: Encodable {
            let title: String
            let colour: String?
            let items: [Item]
        }
        let (_, list) = try await openedList()
        let items = catalogue.sections(of: list.items).flatMap { section in
            section.rows.map { item in
                Item(
                    name: item.name, aisle: section.aisle.name, addedBy: item.addedBy,
                    isTicked: item.isTicked, quantity: item.quantity, note: item.note,
                    tickedBy: item.tickedBy)
            }
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let data = try encoder.encode(List(title: list.title, colour: list.colour, items: items))
        return String(decoding: data, as: UTF8.self).jsonShownInTerminal
    }
}
