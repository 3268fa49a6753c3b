/// An item of a shopping list as its journal leaves it.
public struct ShoppingItem: Hashable, Sendable, Identifiable {
    public let id: String
    /// What the person typed, such as "2 pints milk".
    public internal(set) var name: String
    public internal(set) var isTicked: Bool
    /// How many; 1 unless an entry sets it.
    public internal(set) var quantity = 1
    /// Who ticked the item; nil while it is unticked.
    public internal(set) var tickedBy: String?
    /// Who added the item.
    public internal(set) var addedBy: String
    /// Whose device the item was added on.
    public internal(set) var addedFrom: ChangeOrigin
    /// When the item was added, in milliseconds since 1970.
    public internal(set) var addedAtMilliseconds: Int64
    /// The note besides its name, such as the amount; nil for none.
    public internal(set) var note: String?
    /// The user-defined category; nil leaves it in its aisle.
    public internal(set) var category: String?
    /// The entry with the item's picture; nil without one.
    public internal(set) var pictureEntryID: String?
    /// The name with how many, such as "2 × milk".
    public var text: String { Quantity.text(quantity, name) }
    /// When the item was last changed, in milliseconds since 1970.
    public internal(set) var changedAtMilliseconds: Int64
}

/// A shopping list after all its entries; never stored, always rebuilt.
public struct ShoppingList: Hashable, Sendable, Identifiable {
    public let id: ListID
    /// The title; empty while neither the creating entry nor a rename has arrived.
    public let title: String
    /// The colour's name; nil until one was chosen.
    public let colour: String?
    /// The items that are not removed, in the order people gave them.
    public let items: [ShoppingItem]
    /// The items that were bought so long ago that they are no longer shown; see ``squeezed(before:)``.
    public internal(set) var boughtIDs: Set<String> = []

    /// The items still to be bought.
    public var unticked: [ShoppingItem] { items.filter { !$0.isTicked } }

    /// The list under the identity and the title by which this device knows it.
    func known(as id: ListID, title: String) -> ShoppingList {
        var list = ShoppingList(id: id, title: title, colour: colour, items: items)
        list.boughtIDs = boughtIDs
        return list
    }

    /// The list as a person sees it: without what was bought before a time and not touched since.
    ///
    /// It is the same before and after any ``Compaction`` up to that time.
    public func squeezed(before cutoffMilliseconds: Int64) -> ShoppingList {
        func isBought(_ item: ShoppingItem) -> Bool {
            item.isTicked && item.changedAtMilliseconds < cutoffMilliseconds
        }
        var list = ShoppingList(
            id: id, title: title, colour: colour, items: items.filter { !isBought($0) })
        list.boughtIDs = boughtIDs.union(items.lazy.filter(isBought).map(\.id))
        return list
    }
}
