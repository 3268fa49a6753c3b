// Invariants
// 1. An entry is written once and never changed: its identifier names exactly one content.
// 2. Entries have one total order (`precedes`): edit time, then device, then identifier. Everything
//    that says "the later wins" means this order, so every device names the same winner.
// 3. What this version does not understand (an action, a field) is kept as it came and ignored.

/// One change that a person made to a shopping list; a list is the sum of its entries.
public struct JournalEntry: Hashable, Sendable, Identifiable {
    /// What an entry does; an open set, because newer versions add actions.
    public struct Action: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Creates the list; the value is its title.
        public static let create = Action(rawValue: "create")
        /// Adds the item after another one; the value is its name.
        public static let add = Action(rawValue: "add")
        /// Marks the item as bought.
        public static let tick = Action(rawValue: "tick")
        /// Removes the item's mark.
        public static let untick = Action(rawValue: "untick")
        /// Removes the item.
        public static let remove = Action(rawValue: "remove")
        /// Renames the item or, without an item, the list; the value is the new name.
        public static let rename = Action(rawValue: "rename")
        /// Gives the list another colour; the value is the colour's name.
        public static let recolour = Action(rawValue: "recolour")
        /// Moves the item after another one.
        public static let reorder = Action(rawValue: "reorder")

        /// Sets the item's note, such as the amount; an empty value removes it. Format 2.
        public static let note = Action(rawValue: "note")
        /// Sorts the item under a user-defined category; an empty value, under its aisle. Format 2.
        public static let category = Action(rawValue: "category")
        /// Gives the item a picture, the asset of this entry's record. Format 2.
        public static let picture = Action(rawValue: "picture")

        /// Sets how many of the item; the value is a number from 1. Format 2.
        public static let quantity = Action(rawValue: "quantity")

        /// Whether this version knows what the action means.
        public var isKnown: Bool { Action.known.contains(self) }

        private static let known: Set<Action> = [
            .create, .add, .tick, .untick, .remove, .rename, .recolour, .reorder, .note,
            .category, .picture, .quantity,
        ]
    }

    /// The app version that entries of this build carry.
    public static let currentAppVersion: Int64 = 2

    /// The entry's identifier, which is also its record name.
    public let id: String
    /// The list the entry belongs to.
    public let listID: String
    /// The item that the entry concerns; nil when it concerns the list itself.
    public let itemID: String?
    /// What the entry does.
    public let action: Action
    /// The name, title or colour, by action; nil if the action needs none. Longer ones are cut to
    /// ``ShoppingLimits/textScalars``.
    public let value: String?
    /// The item that add and reorder place their item after; nil is the list's start.
    public let afterItemID: String?
    /// When the change was made, in milliseconds since 1970; see ``Journal/editTime(nowMilliseconds:)``.
    public internal(set) var editTimeMilliseconds: Int64
    /// The name of the device on which the change was made; it is displayed, and decides only the
    /// order of entries.
    public let device: String
    /// The identifier of the device; nil in entries of older apps.
    public let deviceID: String?
    /// The person who made the change.
    public internal(set) var author: String
    /// The version of the app that wrote the entry; 0 when the record does not say.
    public let appVersion: Int64
    /// Fields this version does not know, kept as they came.
    public let otherFields: [String: JournalField]
    /// The user who saved the entry's record, if it is another person; from the record's system
    /// fields.
    public internal(set) var creatorName: String?

    public init(
        id: String, listID: String, itemID: String? = nil, action: Action, value: String? = nil,
        afterItemID: String? = nil, editTimeMilliseconds: Int64, device: String,
        deviceID: String? = nil, author: String,
        appVersion: Int64 = JournalEntry.currentAppVersion,
        otherFields: [String: JournalField] = [:]
    ) {
        self.id = id
        self.listID = listID
        self.itemID = itemID
        self.action = action
        self.value = value.map(ListText.shortened)
        self.afterItemID = afterItemID
        self.editTimeMilliseconds = editTimeMilliseconds
        self.device = ListText.shortened(device)
        self.deviceID = deviceID
        self.author = ListText.shortened(author)
        self.appVersion = appVersion
        self.otherFields = otherFields
    }

    /// Whose device the change was made on.
    public var origin: ChangeOrigin { ChangeOrigin(creatorName: creatorName, deviceID: deviceID) }

    /// Whether a newer version of the app wrote the entry, so that the person should update.
    public var needsNewerApp: Bool { appVersion > JournalEntry.currentAppVersion }

    /// Whether this entry comes before the other in the order that decides every merge.
    public func precedes(_ other: JournalEntry) -> Bool {
        if editTimeMilliseconds != other.editTimeMilliseconds {
            return editTimeMilliseconds < other.editTimeMilliseconds
        }
        if device != other.device { return device < other.device }
        return id < other.id
    }
}
