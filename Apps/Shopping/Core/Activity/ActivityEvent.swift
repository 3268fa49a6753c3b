/// Something that happened to a list, as the activity view shows it; compaction does not touch it.
public struct ActivityEvent: Hashable, Sendable, Identifiable {
    /// The identifier of the entry that recorded it.
    public let id: String
    /// When it was done, in milliseconds since 1970.
    public let milliseconds: Int64
    public let action: JournalEntry.Action
    /// The item that it was about; nil for the list itself.
    public let itemID: String?
    /// The name, title or colour, by action.
    public let value: String?
    public let device: String
    public let author: String

    public init(
        id: String, milliseconds: Int64, action: JournalEntry.Action, itemID: String?,
        value: String?, device: String, author: String
    ) {
        self.id = id
        self.milliseconds = milliseconds
        self.action = action
        self.itemID = itemID
        self.value = value
        self.device = device
        self.author = author
    }
}
