/// Something that came from another device or from the service, ready to be shown to the user.
public struct ShoppingChange: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case listAppeared
        /// The list was deleted elsewhere.
        case listDisappeared
        /// The user left it, or deleted it on this device.
        case left, deletedHere
        /// What happened to another person's list: one of four things, or one that is not known.
        case removedFromList, sharingStopped, listDeletedByOwner, listUnshared
        case personJoined(name: String)
        case personLeft(name: String)
        case listRenamed(title: String)
        case listRecoloured(colour: String)
        case itemAdded(name: String)
        case itemTicked(name: String)
        case itemUnticked(name: String)
        case itemRemoved(name: String)
        /// - Parameter laterName: the name the item keeps, when a later rename is known already.
        case itemRenamed(from: String, to: String, laterName: String?)
        case itemMoved(name: String)
        case itemNoted(name: String, note: String)
        case itemSorted(name: String, category: String)
        case itemPictured(name: String)
        case itemUnpictured(name: String)
        case itemCounted(name: String, quantity: Int)
        /// The service cannot be reached, or can be reached again.
        case serviceLost, serviceBack
        /// The service refuses a change, or syncing halted; the text is a sentence.
        case trouble(String)
    }

    public let kind: Kind
    /// Nil for what concerns no list.
    public let listID: ListID?
    /// The item that changed; nil for what concerns none.
    public let itemID: String?
    /// The list's title after the change.
    public let listTitle: String
    public let author: String
    public let device: String
    /// The user and device that made it; names do not identify them.
    public let origin: ChangeOrigin

    public init(
        _ kind: Kind, listID: ListID? = nil, itemID: String? = nil, listTitle: String = "",
        author: String = "",
        device: String = "", origin: ChangeOrigin = ChangeOrigin()
    ) {
        self.kind = kind
        self.listID = listID
        self.itemID = itemID
        self.listTitle = listTitle
        self.author = author
        self.device = device
        self.origin = origin
    }

    /// Whether the list is no longer on this device.
    public var endsList: Bool {
        [
            .listDisappeared, .left, .deletedHere, .removedFromList, .sharingStopped,
            .listDeletedByOwner, .listUnshared,
        ].contains(kind)
    }

    /// Whether the sentence says by itself which list it is about, or that it is about none.
    package var namesItsList: Bool {
        switch kind {
        case .listAppeared, .personJoined, .personLeft: true
        default: endsList || listID == nil
        }
    }

    /// The change in one line, such as "Milk added by alice on tablet".
    public var sentence: String {
        let text =
            switch kind {
            case .listAppeared: "list \(shown(listTitle)) appeared"
            case .listDisappeared: "list \(shown(listTitle)) was deleted elsewhere"
            case .left: "you left \(shown(listTitle)); its link brings it back"
            case .deletedHere: "you deleted \(shown(listTitle))"
            case .removedFromList: "you were removed from \(shown(listTitle))\(byWhom)"
            case .sharingStopped: "\(owner) stopped sharing \(shown(listTitle))"
            case .listDeletedByOwner: "\(owner) deleted \(shown(listTitle))"
            case .listUnshared: "\(shown(listTitle)) is no longer shared with you"
            case .personJoined(let name): "\(shown(name)) joined \(shown(listTitle))"
            case .personLeft(let name): "\(shown(name)) left \(shown(listTitle))"
            case .listRenamed(let title): "the list is now called \(shown(title))\(byWhom)"
            case .listRecoloured(let colour): "the list is now \(colour)\(byWhom)"
            case .itemAdded(let name): "\(shown(name)) added\(byWhom)"
            case .itemTicked(let name): "\(shown(name)) ticked\(byWhom)"
            case .itemUnticked(let name): "\(shown(name)) unticked\(byWhom)"
            case .itemRemoved(let name): "\(shown(name)) removed\(byWhom)"
            case .itemMoved(let name): "\(shown(name)) moved\(byWhom)"
            case .itemNoted(let name, let note):
                note.isEmpty
                    ? "\(shown(name)) has no note any more\(byWhom)"
                    : "\(shown(name)): \(note)\(byWhom)"
            case .itemSorted(let name, let category):
                category.isEmpty
                    ? "\(shown(name)) sorted into its aisle\(byWhom)"
                    : "\(shown(name)) sorted under \(category)\(byWhom)"
            case .itemPictured(let name): "\(shown(name)) has a new picture\(byWhom)"
            case .itemUnpictured(let name): "\(shown(name)) has no picture any more\(byWhom)"
            case .itemCounted(let name, let quantity):
                "\(quantity) × \(shown(name)) wanted\(byWhom)"
            case .itemRenamed(let from, let to, let laterName):
                "\(shown(from)) renamed to \(shown(to))\(byWhom)"
                    + (laterName.map { "; the later name \(shown($0)) stays" } ?? "")
            case .serviceLost:
                "the service cannot be reached; changes wait on this device, and are sent when it is back"
            case .serviceBack: "the service is back"
            case .trouble(let sentence): sentence
            }
        return ListText.oneLine(text)
    }

    private var byWhom: String {
        (author.isEmpty ? "" : " by \(author)") + (device.isEmpty ? "" : " on \(device)")
    }

    private var owner: String { author.isEmpty ? "its owner" : author }

    private func shown(_ name: String) -> String { name.isEmpty ? "(no name)" : name }
}
