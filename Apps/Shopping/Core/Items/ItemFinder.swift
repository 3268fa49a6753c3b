/// Finds the item that a person means by a number or a part of a name.
public struct ItemFinder: Sendable {
    /// Why no single item was found, as a sentence.
    public struct NotFound: Error, Hashable, CustomStringConvertible {
        public let description: String
    }

    /// Candidates that a sentence names at most.
    private static let namedCandidates = 5

    private let items: [ShoppingItem]
    private let numberedIDs: [String]

    /// - Parameter numberedIDs: the items that the person saw under the numbers from 1.
    public init(items: [ShoppingItem], numberedIDs: [String] = []) {
        self.items = items
        self.numberedIDs = numberedIDs
    }

    /// The item: by number, by its whole name, by the beginning of its name, by a part of it.
    public func item(_ text: String) throws(NotFound) -> ShoppingItem {
        let wanted = text.lowercased()
        guard !wanted.isEmpty else {
            throw NotFound(description: "No item was named; give its name or its number.")
        }
        if let number = Int(wanted) { return try item(number: number) }
        let tests: [(String) -> Bool] = [
            { $0 == wanted }, { $0.hasPrefix(wanted) }, { $0.contains(wanted) },
        ]
        for test in tests {
            let found = items.filter { test($0.name.lowercased()) }
            if let item = found.first, found.count == 1 { return item }
            if !found.isEmpty { throw ambiguous(text, found) }
        }
        throw NotFound(
            description: "There is no item \"\(text)\" on this list; type show to see its items.")
    }

    private func item(number: Int) throws(NotFound) -> ShoppingItem {
        // The smallest integer has none before it.
        guard numberedIDs.indices.contains(number &- 1) else {
            throw NotFound(
                description: numberedIDs.isEmpty
                    ? "The items were not shown yet; type show, which numbers them."
                    : "There was no number \(number) when the list was last shown; type show to see "
                        + "the numbers.")
        }
        guard let item = items.first(where: { $0.id == numberedIDs[number - 1] }) else {
            throw NotFound(
                description: "The item with the number \(number) was removed meanwhile; type "
                    + "show to see the others.")
        }
        return item
    }

    private func ambiguous(_ text: String, _ found: [ShoppingItem]) -> NotFound {
        let names = found.prefix(Self.namedCandidates).map { "\"\(ListText.oneLine($0.name))\"" }
        let rest = found.count > names.count ? " and others" : ""
        return NotFound(
            description: "\"\(text)\" may be \(names.joined(separator: ", "))\(rest); "
                + "type show and use a number.")
    }
}
