/// The limits of the shopping list.
public enum ShoppingLimits {
    /// Lines that one paste takes; the rest is counted, not added.
    public static let pastedLines = 1_000
    /// Characters of a pasted line that become an item's name; longer lines are cut.
    public static let nameCharacters = 200
    /// Unicode scalars of a name, a note or a title that are read and shown, even if another program wrote more.
    public static let textScalars = 1_000
    /// An entry counts as made at most this long after it reached the service: a year, in milliseconds. Later entries
    /// come after it, so an entry dated at the end of time would leave no time for them.
    public static let editTimeAheadMilliseconds: Int64 = 365 * 86_400_000
    /// Bytes of an item's picture, as the page takes it and shows it.
    public static let pictureBytes = 5 * 1_024 * 1_024
    /// Suggestions that one request returns at most.
    public static let suggestions = 20
    /// Changes buffered for an observer of a store that does not read them; the oldest are dropped.
    public static let bufferedChanges = 10_000
    /// Items bought longer ago than this are no longer shown: three hours, in milliseconds.
    public static let shownBoughtMilliseconds: Int64 = 3 * 3_600_000
    /// Older entries are compacted in the cloud, and a device that was away for longer fetches everything: 14 days, in
    /// milliseconds.
    public static let compactedAgeMilliseconds: Int64 = 14 * 86_400_000
    /// A device compacts a list at most this often: half an hour, in milliseconds.
    public static let compactionIntervalMilliseconds: Int64 = 30 * 60_000
    /// Entries that one step of a compaction deletes: with the root record, what one request may change.
    public static let compactedEntriesPerStep = 399
}
