/// Something a person does to a list; the store makes journal entries of it.
public enum ShoppingAction: Hashable, Sendable {
    /// Adds items one after the other, the first after the named item; nil is the list's start.
    case add(names: [String], afterItemID: String?)
    case tick(itemID: String)
    case untick(itemID: String)
    case remove(itemID: String)
    case rename(itemID: String, name: String)
    /// Moves an item after another one; nil is the list's start.
    case move(itemID: String, afterItemID: String?)
    case renameList(title: String)
    case recolour(colour: String)
}

extension JournalWriter {
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
            return [
                untick(
                    itemID, name: place.map { items[$0].name },
                    after: place.flatMap { $0 > 0 ? items[$0 - 1].id : nil }, id: newID(), at: time)
            ]
        case .remove(let itemID):
            return [remove(itemID, id: newID(), at: time)]
        case .rename(let itemID, let name):
            return [rename(itemID, to: name, id: newID(), at: time)]
        case .move(let itemID, let afterItemID):
            return [reorder(itemID, after: afterItemID, id: newID(), at: time)]
        case .renameList(let title):
            return [renameList(to: title, id: newID(), at: time)]
        case .recolour(let colour):
            return [recolour(to: colour, id: newID(), at: time)]
        }
    }
}
