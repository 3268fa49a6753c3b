// How a list is rebuilt: a pure function of the SET of entries. Entries are put into their total
// order first, so arrival order cannot matter. The rules:
//
// 1. An item begins with its first add, whatever the clocks say: every other entry of the item counts as later. (A tick
//    from a device with a slow clock is not lost.) Where compaction has removed the adds, it begins with its first
//    untick that has a name: an item that is wanted again is never lost.
// 2. Name, mark, number and presence: the later entry wins. A later add of the same item restores it, unticked, one of
//    it and with the new name; a tick never restores a removed item.
// 3. Position: see PlacementTree. Removed items keep their place, so what stands after them stays.
// 4. Entries of an item that was never added have no effect until its add arrives.
// 5. Title and colour: the later entry wins; the first create counts as the title's beginning and
//    later creates are ignored.
// 6. Unknown actions, and entries that lack the item or value their action needs, are ignored.

extension Journal {
    /// Rebuilds the list; equal sets of entries give equal lists. O(n log n) in the entries.
    public func list() -> ShoppingList {
        var builder = ListBuilder(entries: history)
        return builder.build(listID: listID)
    }
}

extension JournalEntry {
    /// Whether the entry changes its item, as far as this version knows.
    fileprivate var countsForItem: Bool {
        switch action {
        case .add, .tick, .untick, .remove, .reorder, .picture: true
        case .rename, .note, .category: value != nil
        case .quantity: Quantity.number(of: value) != nil
        default: false
        }
    }
}

/// An item while its list is rebuilt.
struct ItemDraft {
    var item: ShoppingItem
    var isRemoved = false
    let firstAddRank: Int
    /// The item's placements: the first add's, then the others by rank.
    var placements: [Int] = []
}

/// The work of rebuilding one list.
struct ListBuilder {
    /// In total order; an entry's index is its rank.
    let entries: [JournalEntry]
    private(set) var drafts: [ItemDraft] = []
    private(set) var draftByItemID: [String: Int] = [:]
    /// The places as they were attached, and the rank of each.
    private(set) var places = PlacementTree()
    private(set) var rankByPlacement: [Int] = []
    private var title: String?
    private var colour: String?

    init(entries: [JournalEntry]) {
        self.entries = entries
    }

    mutating func build(listID: String) -> ShoppingList {
        beginItems()
        title = entries.first { $0.action == .create && $0.itemID == nil }?.value
        for (rank, entry) in entries.enumerated() {
            if let itemID = entry.itemID {
                guard let index = draftByItemID[itemID], drafts[index].firstAddRank != rank else {
                    continue
                }
                Self.apply(entry, to: &drafts[index])
            } else {
                applyToList(entry)
            }
        }
        return ShoppingList(
            id: ListID(listID), title: title ?? "", colour: colour, items: orderedItems())
    }

    private mutating func beginItems() {
        var untickRanks: [Int] = []
        // By rank: iterating over the entries themselves would copy each.
        for rank in entries.indices {
            if entries[rank].action == .add {
                begin(with: rank)
            } else if entries[rank].action == .untick, entries[rank].value != nil {
                untickRanks.append(rank)
            }
        }
        for rank in untickRanks { begin(with: rank) }
    }

    private mutating func begin(with rank: Int) {
        guard let itemID = entries[rank].itemID, draftByItemID[itemID] == nil else { return }
        draftByItemID[itemID] = drafts.count
        let entry = entries[rank]
        let item = ShoppingItem(
            id: itemID, name: entry.value ?? "", isTicked: false, tickedBy: nil,
            addedBy: entry.author, addedFrom: entry.origin,
            addedAtMilliseconds: entry.editTimeMilliseconds,
            changedAtMilliseconds: entry.editTimeMilliseconds)
        drafts.append(ItemDraft(item: item, firstAddRank: rank))
    }

    /// Static: a method of the builder would hold all drafts while one changes, and each entry would copy them.
    private static func apply(_ entry: JournalEntry, to draft: inout ItemDraft) {
        if entry.countsForItem {
            draft.item.changedAtMilliseconds = max(
                draft.item.changedAtMilliseconds, entry.editTimeMilliseconds)
        }
        switch entry.action {
        case .add:
            draft.isRemoved = false
            draft.item.isTicked = false
            draft.item.tickedBy = nil
            draft.item.quantity = 1
            if let name = entry.value { draft.item.name = name }
            draft.item.addedBy = entry.author
            draft.item.addedFrom = entry.origin
            draft.item.addedAtMilliseconds = entry.editTimeMilliseconds
        case .tick:
            draft.item.isTicked = true
            draft.item.tickedBy = entry.author
        case .untick:
            draft.item.isTicked = false
            draft.item.tickedBy = nil
        case .remove:
            draft.isRemoved = true
        case .rename:
            if let name = entry.value { draft.item.name = name }
        case .note:
            if let note = entry.value { draft.item.note = note.isEmpty ? nil : note }
        case .category:
            if let name = entry.value { draft.item.category = name.isEmpty ? nil : name }
        case .quantity:
            if let quantity = Quantity.number(of: entry.value) { draft.item.quantity = quantity }
        case .picture:
            draft.item.pictureEntryID = entry.value == "" ? nil : entry.id
        default:
            break
        }
    }

    private mutating func applyToList(_ entry: JournalEntry) {
        switch entry.action {
        case .rename:
            if let value = entry.value { title = value }
        case .recolour:
            if let value = entry.value { colour = value }
        default:
            break
        }
    }

    /// The items that are there, in the order of the placements that count.
    private mutating func orderedItems() -> [ShoppingItem] {
        var tree = PlacementTree()
        var draftByPlacement: [Int] = []
        rankByPlacement = []
        var afterItemIDs: [String?] = []
        for rank in entries.indices {
            guard let itemID = entries[rank].itemID, let index = draftByItemID[itemID],
                entries[rank].action == .add || entries[rank].action == .reorder
                    || drafts[index].firstAddRank == rank
            else { continue }
            rankByPlacement.append(rank)
            let placement = tree.append(rank: rank)
            draftByPlacement.append(index)
            afterItemIDs.append(entries[rank].afterItemID)
            if rank == drafts[index].firstAddRank {
                drafts[index].placements.insert(placement, at: 0)
            } else {
                drafts[index].placements.append(placement)
            }
        }
        for (placement, afterItemID) in afterItemIDs.enumerated() {
            guard let afterItemID else { continue }
            if let anchor = draftByItemID[afterItemID] {
                tree.attach(placement, after: drafts[anchor].placements)
            } else {
                tree.attach(placement, afterUnknown: afterItemID)
            }
        }
        places = tree
        return tree.order().compactMap { placement in
            let draft = drafts[draftByPlacement[placement]]
            return draft.isRemoved || draft.placements.last != placement ? nil : draft.item
        }
    }
}
