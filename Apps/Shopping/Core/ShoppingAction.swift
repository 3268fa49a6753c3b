/// Something a person does to a list; the store makes journal entries of it.
public enum ShoppingAction: Hashable, Sendable {
    /// Adds items one after the other, the first after the named item; nil is the list's start. A text such as
    /// "2 × milk" is two of milk (``Quantity``).
    case add(names: [String], afterItemID: String?)
    case tick(itemID: String)
    case untick(itemID: String)
    case remove(itemID: String)
    case rename(itemID: String, name: String)
    /// Moves an item after another one; nil is the list's start.
    case move(itemID: String, afterItemID: String?)
    /// Sets an item's note, such as the amount; an empty text removes it.
    case note(itemID: String, text: String)
    /// Sorts an item under a user-defined category; an empty name, under its aisle.
    case category(itemID: String, name: String)
    /// Restores a removed item, unticked.
    case addAgain(itemID: String, name: String, afterItemID: String?)
    /// Sets how many of an item, from 1.
    case quantity(itemID: String, Int)
    /// Removes the item's picture.
    case removePicture(itemID: String)
    case renameList(title: String)
    case recolour(colour: String)
}

extension ListJournalWriter {
    /// The entries of an action, in order; each is a millisecond later than the one before it.
    ///
    /// - Parameters:
    ///   - journal: what is known of the list before the action.
    ///   - newID: gives a fresh identifier at each call.
    public func entries(
        for action: ShoppingAction, in journal: Journal, at editTimeMilliseconds: Int64,
        newID: () -> String
    ) -> [JournalEntry] {
        let time = editTimeMilliseconds
        switch action {
        case .add(let names, let afterItemID):
            return addAll(names, after: afterItemID, at: time, newID: newID)
        case .tick(let itemID):
            return [tick(itemID, id: newID(), at: time)]
        case .untick(let itemID):
            let items = journal.list().items
            let place = items.firstIndex { $0.id == itemID }
            let unticked = untick(
                itemID, name: place.map { items[$0].name },
                after: place.flatMap { $0 > 0 ? items[$0 - 1].id : nil }, id: newID(), at: time)
            guard let number = place.map({ items[$0].quantity }), number > 1 else {
                return [unticked]
            }
            // In case other devices have compacted it.
            return [unticked, quantity(itemID, number, id: newID(), at: time + 1)]
        case .remove(let itemID):
            return [remove(itemID, id: newID(), at: time)]
        case .rename(let itemID, let name):
            return [rename(itemID, to: name, id: newID(), at: time)]
        case .move(let itemID, let afterItemID):
            return [reorder(itemID, after: afterItemID, id: newID(), at: time)]
        case .note(let itemID, let text):
            return [note(itemID, text, id: newID(), at: time)]
        case .category(let itemID, let name):
            return [category(itemID, name, id: newID(), at: time)]
        case .addAgain(let itemID, let name, let afterItemID):
            return addAgain(itemID, name, after: afterItemID, at: time, newID: newID)
        case .quantity(let itemID, let number):
            return [quantity(itemID, number, id: newID(), at: time)]
        case .removePicture(let itemID):
            return [noPicture(itemID, id: newID(), at: time)]
        case .renameList(let title):
            return [renameList(to: title, id: newID(), at: time)]
        case .recolour(let colour):
            return [recolour(to: colour, id: newID(), at: time)]
        }
    }
}
