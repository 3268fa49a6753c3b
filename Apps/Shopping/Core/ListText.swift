/// A list as plain text, the same on every device: grouped by aisle, with marks.
///
///     Weekly shop (1 to buy, 1 ticked)
///     Bakery
///       [ ] bread
///     Dairy & Eggs
///       [x] 2 pints milk
public struct ListText: Sendable {
    private let catalogue: Catalogue

    public init(catalogue: Catalogue = .standard) {
        self.catalogue = catalogue
    }

    /// Renders a list; lines end with a newline, the last one too.
    public func render(_ list: ShoppingList) -> String {
        var lines = [heading(of: list)]
        for section in catalogue.sections(of: list.items) {
            lines.append(section.aisle.name)
            lines += section.rows.map { line(for: $0, isRemoved: false) }
        }
        return joined(lines)
    }

    /// Renders a screen: the heading, the notices with who added them, then the rows by aisle.
    ///
    /// A removed row has the mark `[-]`.
    public func render(_ screen: ListScreen) -> String {
        var lines = [heading(of: screen.list)]
        lines += screen.notices.map { "+ \(shownName(of: $0)) (added by \(shownAuthor(of: $0)))" }
        for section in catalogue.sections(of: screen.rows) {
            lines.append(section.aisle.name)
            lines += section.rows.map { line(for: $0.item, isRemoved: $0.isRemoved) }
        }
        return joined(lines)
    }

    private func heading(of list: ShoppingList) -> String {
        let toBuyCount = list.items.count { !$0.isTicked }
        let title = list.title.isEmpty ? "Untitled list" : oneLine(list.title)
        let colour = list.colour.map { ", \(oneLine($0))" } ?? ""
        let tickedCount = list.items.count - toBuyCount
        return "\(title) (\(toBuyCount) to buy, \(tickedCount) ticked\(colour))"
    }

    private func line(for item: ShoppingItem, isRemoved: Bool) -> String {
        let mark = isRemoved ? "-" : item.isTicked ? "x" : " "
        return "  [\(mark)] \(shownName(of: item))"
    }

    private func shownName(of item: ShoppingItem) -> String {
        item.name.isEmpty ? "(no name)" : oneLine(item.name)
    }

    private func shownAuthor(of item: ShoppingItem) -> String {
        item.addedBy.isEmpty ? "somebody" : oneLine(item.addedBy)
    }

    /// Keeps other people's text from breaking lines or steering the terminal.
    private func oneLine(_ text: String) -> String {
        var plain = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: plain += " "
            default: plain.unicodeScalars.append(scalar)
            }
        }
        return plain
    }

    private func joined(_ lines: [String]) -> String {
        lines.joined(separator: "\n") + "\n"
    }
}
