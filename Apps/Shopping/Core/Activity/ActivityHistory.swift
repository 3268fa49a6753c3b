/// What happened to a list, in words: who did what, when, and how to take it back.
///
///     let history = ActivityHistory(try await store.activity(of: weekly))
///     print(history.purchases(of: "coffee").first?.sentence)
public struct ActivityHistory: Sendable {
    public struct Line: Sendable, Identifiable {
        public let event: ActivityEvent
        /// What happened, such as "Milk ticked by Bob on tablet".
        public let sentence: String
        /// The item's name at that time; empty for an event of the list.
        public let itemName: String
        /// The action that undoes it; nil if nothing does.
        public let undo: ShoppingAction?

        public var id: String { event.id }
    }

    /// Oldest first.
    public let lines: [Line]

    public init(_ events: [ActivityEvent]) {
        var names: [String: String] = [:]
        var quantities: [String: Int] = [:]
        var title: String?
        var colour: String?
        var lines: [Line] = []
        for event in events.sorted(by: Self.precede) {
            let former = event.itemID.flatMap { names[$0] }
            var undo: ShoppingAction?
            switch (event.action, event.itemID) {
            case (.add, let itemID?):
                names[itemID] = event.value ?? former
                quantities[itemID] = 1
                undo = .remove(itemID: itemID)
            case (.quantity, let itemID?):
                undo = .quantity(itemID: itemID, quantities[itemID] ?? 1)
                quantities[itemID] = Quantity.number(of: event.value) ?? quantities[itemID]
            case (.tick, let itemID?): undo = .untick(itemID: itemID)
            case (.untick, let itemID?): undo = .tick(itemID: itemID)
            case (.remove, let itemID?):
                let number = quantities[itemID] ?? 1
                undo = former.map {
                    .addAgain(itemID: itemID, name: Quantity.text(number, $0), afterItemID: nil)
                }
            case (.rename, let itemID?):
                names[itemID] = event.value ?? former
                undo = former.map { .rename(itemID: itemID, name: $0) }
            case (.create, nil): title = title ?? event.value
            case (.rename, nil):
                undo = title.map { .renameList(title: $0) }
                title = event.value ?? title
            case (.recolour, nil):
                undo = colour.map { .recolour(colour: $0) }
                colour = event.value ?? colour
            default: break
            }
            let name = former ?? event.value ?? ""
            guard let kind = ShoppingChange.Kind(event, itemName: name, title: title ?? "") else {
                continue
            }
            let change = ShoppingChange(
                kind, listTitle: title ?? "", author: event.author, device: event.device)
            lines.append(
                Line(
                    event: event, sentence: change.sentence,
                    itemName: event.itemID.flatMap { names[$0] } ?? "", undo: undo))
        }
        self.lines = lines
    }

    private static func precede(_ one: ActivityEvent, _ other: ActivityEvent) -> Bool {
        (one.milliseconds, one.device, one.id) < (other.milliseconds, other.device, other.id)
    }

    /// When something was bought, latest first: items whose name means the product, in any amount.
    ///
    /// An item that was unticked or removed afterwards counts: it was in the trolley.
    public func purchases(of text: String, catalogue: Catalogue = .standard) -> [Line] {
        let wanted = ProductWords.split(text)
        guard !wanted.isEmpty else { return [] }
        let product = catalogue.product(matching: text)
        return lines.filter { line in
            guard line.event.action == .tick else { return false }
            return Set(wanted).isSubset(of: ProductWords.split(line.itemName))
                || product != nil && catalogue.product(matching: line.itemName) == product
        }.reversed()
    }
}

extension ShoppingChange.Kind {
    /// An event in words; nil for one that is not shown.
    fileprivate init?(_ event: ActivityEvent, itemName name: String, title: String) {
        switch (event.action, event.itemID) {
        case (.create, nil): self = .listRenamed(title: event.value ?? "")
        case (.add, .some): self = .itemAdded(name: event.value ?? name)
        case (.tick, .some): self = .itemTicked(name: name)
        case (.untick, .some): self = .itemUnticked(name: name)
        case (.remove, .some): self = .itemRemoved(name: name)
        case (.reorder, .some): self = .itemMoved(name: name)
        case (.rename, .some):
            self = .itemRenamed(from: name, to: event.value ?? "", laterName: nil)
        case (.note, .some): self = .itemNoted(name: name, note: event.value ?? "")
        case (.category, .some): self = .itemSorted(name: name, category: event.value ?? "")
        case (.picture, .some):
            self = event.value == "" ? .itemUnpictured(name: name) : .itemPictured(name: name)
        case (.quantity, .some):
            self = .itemCounted(name: name, quantity: Quantity.number(of: event.value) ?? 1)
        case (.rename, nil): self = .listRenamed(title: event.value ?? "")
        case (.recolour, nil): self = .listRecoloured(colour: event.value ?? "")
        case (.joined, nil): self = .personJoined(name: event.author)
        case (.left, nil): self = .personLeft(name: event.author)
        case (.trouble, nil): self = .trouble(event.value ?? "")
        default: return nil
        }
    }
}

extension JournalEntry.Action {
    /// An action that is only in the activity, never in a journal.
    static let joined = Self(rawValue: "joined")
    static let left = Self(rawValue: "left")
    static let trouble = Self(rawValue: "trouble")
}
