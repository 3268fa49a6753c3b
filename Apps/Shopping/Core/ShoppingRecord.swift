/// The names under which a shopping list lives in the cloud: one zone for each list.
public enum ShoppingRecord {
    /// The record type of the list's root; the record's name is the list's identifier.
    public static let shoppingListType = "ShoppingList"
    /// The record type of an entry; the record's name is the entry's identifier.
    public static let journalEntryType = "JournalEntry"
    /// The root record's field that holds the title the list was created with.
    public static let titleField = "title"

    /// The root record's date up to which the journal in the cloud was compacted.
    public static let compressedUntilField = "CompressedUntil"

    /// The asset of an entry that gives an item a picture.
    public static let pictureField = "picture"
    /// The record type by which an owner who ends a sharing says so in the public database.
    public static let listEndType = "ListEnd"
    /// Its field: `stopped` or `deleted`.
    public static let endField = "end"

    private static let zonePrefix = "List-"

    /// Names the zone of a list.
    public static func zoneName(listID: String) -> String {
        zonePrefix + listID
    }

    /// Reads the list's identifier from a zone's name; nil for a zone that holds no list.
    public static func listID(zoneName: String) -> String? {
        guard zoneName.hasPrefix(zonePrefix), zoneName != zonePrefix else { return nil }
        return String(zoneName.dropFirst(zonePrefix.count))
    }

    /// The flat fields of a list's root record.
    public static func rootFields(title: String) -> [String: JournalField] {
        [titleField: .string(title)]
    }
}
