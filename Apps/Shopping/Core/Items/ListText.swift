/// A list as plain text, the same on every device: grouped by aisle, with marks.
///
///     Weekly shop (1 to buy, 1 ticked)
///     Bakery
///       [ ] bread
///     Dairy & Eggs
///       [x] 2 pints milk
public struct ListText: Sendable {
    private let catalogue: Catalogue
    private let numbersRows: Bool

    /// - Parameter numbersRows: whether rows and notices have numbers, from 1, by which a person
    ///   can refer to them; see ``rows(of:)``.
    public init(catalogue: Catalogue = .standard, numbersRows: Bool = false) {
        self.catalogue = catalogue
        self.numbersRows = numbersRows
    }

    /// The rows of a screen in the order in which they are rendered: by aisle.
    public func rows(of screen: ListScreen) -> [ListScreen.Row] {
        catalogue.sections(of: screen.rows).flatMap(\.rows)
    }

    /// Renders a list; lines end with a newline, the last one too.
    public func render(_ list: ShoppingList) -> String {
        var lines = [heading(of: list)]
        for section in catalogue.sections(of: list.items) {
            lines.append(Self.oneLine(section.aisle.name))
            lines += section.rows.map { line(for: $0, isRemoved: false) }
        }
        return joined(lines)
    }

    /// Renders a screen: the heading, the notices with who added them, then the rows by aisle.
    ///
    /// A removed row has the mark `[-]`.
    public func render(_ screen: ListScreen) -> String {
        var lines = [heading(of: screen.list)]
        for (index, item) in screen.notices.enumerated() {
            let number = numbersRows ? " \(index + 1)" : ""
            lines.append("+\(number) \(shownName(of: item)) (added by \(shownAuthor(of: item)))")
        }
        var rowCount = 0
        for section in catalogue.sections(of: screen.rows) {
            lines.append(Self.oneLine(section.aisle.name))
            for row in section.rows {
                rowCount += 1
                lines.append(
                    (numbersRows ? number(rowCount) : "")
                        + line(for: row.item, isRemoved: row.isRemoved))
            }
        }
        return joined(lines)
    }

    private func heading(of list: ShoppingList) -> String {
        let toBuyCount = list.items.count { !$0.isTicked }
        let title = list.title.isEmpty ? "Untitled list" : Self.oneLine(list.title)
        let colour = list.colour.map { ", \(Self.oneLine($0))" } ?? ""
        let tickedCount = list.items.count - toBuyCount
        return "\(title) (\(toBuyCount) to buy, \(tickedCount) ticked\(colour))"
    }

    /// A row's number, right-aligned so that rows are aligned.
    private func number(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: " ", count: max(0, 3 - digits.count)) + digits
    }

    private func line(for item: ShoppingItem, isRemoved: Bool) -> String {
        let mark = isRemoved ? "-" : item.isTicked ? "x" : " "
        let note = item.note.map { " (\(Self.oneLine($0)))" } ?? ""
        return "  [\(mark)] \(shownName(of: item))\(note)"
    }

    private func shownName(of item: ShoppingItem) -> String {
        item.name.isEmpty ? "(no name)" : Self.oneLine(item.text)
    }

    private func shownAuthor(of item: ShoppingItem) -> String {
        item.addedBy.isEmpty ? "somebody" : Self.oneLine(item.addedBy)
    }

    /// Keeps other people's text from breaking lines or controlling the terminal.
    public static func oneLine(_ text: String) -> String {
        var plain = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: plain += " "
            // Scalars that change the direction of a whole line; letters have their own direction.
            case .format where Self.turnsDirection(scalar): continue
            default: plain.unicodeScalars.append(scalar)
            }
        }
        return plain
    }

    /// Another person's text, shortened for display.
    static func shortened(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard
            let end = scalars.index(
                scalars.startIndex, offsetBy: ShoppingLimits.textScalars,
                limitedBy: scalars.endIndex), end < scalars.endIndex
        else { return text }
        return String(scalars[..<end]) + "…"
    }

    private static func turnsDirection(_ scalar: Unicode.Scalar) -> Bool {
        (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
    }

    private func joined(_ lines: [String]) -> String {
        lines.joined(separator: "\n") + "\n"
    }
}
