/// Tidying a list: each method returns the actions to perform when the user confirms them.
extension ShoppingList {
    /// Removes bought items from the list.
    public var clearingBought: [ShoppingAction] {
        items.filter(\.isTicked).map { .remove(itemID: $0.id) }
    }

    /// Items to buy that are on the list twice, such as "milk" and "Milk": each group in the list's order.
    public var duplicates: [[ShoppingItem]] {
        var places: [[String]: Int] = [:]
        var groups: [[ShoppingItem]] = []
        for item in unticked {
            let words = ProductWords.split(item.name)
            guard !words.isEmpty else { continue }
            if let place = places[words] {
                groups[place].append(item)
            } else {
                places[words] = groups.count
                groups.append([item])
            }
        }
        return groups.filter { $0.count > 1 }
    }

    /// Keeps the first of some items and removes the others.
    ///
    /// The numbers are added up, and the notes of the removed items are appended to the first one's.
    public func merging(_ items: [ShoppingItem]) -> [ShoppingAction] {
        guard let first = items.first else { return [] }
        let notes = items.compactMap(\.note).filter { !$0.isEmpty }
        let note = notes.joined(separator: "; ")
        let noting: [ShoppingAction] =
            items.dropFirst().contains { $0.note?.isEmpty == false }
            ? [.note(itemID: first.id, text: note)] : []
        let number = min(items.map(\.quantity).reduce(0, +), Quantity.range.upperBound)
        return noting + [.quantity(itemID: first.id, number)]
            + items.dropFirst().map { .remove(itemID: $0.id) }
    }
}
