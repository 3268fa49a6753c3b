// The flat form of an entry. The record's name is the entry's identifier, its type
// `ShoppingRecord.journalEntryType`, its zone `ShoppingRecord.zoneName(listID:)`.

extension JournalEntry {
    /// The names of the fields in the record.
    public enum FieldName {
        public static let listID = "listID"
        public static let itemID = "itemID"
        public static let action = "action"
        public static let value = "value"
        public static let afterItemID = "afterItemID"
        public static let editTime = "editTime"
        public static let device = "device"
        public static let deviceID = "deviceID"
        public static let author = "author"
        public static let appVersion = "appVersion"
    }

    /// The entry as flat fields, those of a newer version included; a nil property has no field.
    public var fields: [String: JournalField] {
        var fields = otherFields
        fields[FieldName.listID] = .string(listID)
        fields[FieldName.action] = .string(action.rawValue)
        fields[FieldName.editTime] = .date(milliseconds: editTimeMilliseconds)
        fields[FieldName.device] = .string(device)
        fields[FieldName.author] = .string(author)
        fields[FieldName.appVersion] = .int64(appVersion)
        if let deviceID { fields[FieldName.deviceID] = .string(deviceID) }
        if let itemID { fields[FieldName.itemID] = .string(itemID) }
        if let value { fields[FieldName.value] = .string(value) }
        if let afterItemID { fields[FieldName.afterItemID] = .string(afterItemID) }
        return fields
    }

    /// Reads an entry back from its record's name and fields.
    ///
    /// Unknown fields, and known ones of an unexpected kind, end in ``otherFields``. Nil when the
    /// list, the action or the edit time is missing: such a record is no journal entry.
    public init?(id: String, fields: [String: JournalField]) {
        var rest = fields
        func takeString(_ name: String) -> String? {
            guard case .string(let text) = rest[name] else { return nil }
            rest[name] = nil
            return text
        }
        guard let listID = takeString(FieldName.listID),
            let action = takeString(FieldName.action),
            case .date(let editTimeMilliseconds) = rest[FieldName.editTime]
        else { return nil }
        rest[FieldName.editTime] = nil
        var appVersion: Int64 = 0
        if case .int64(let version) = rest[FieldName.appVersion] {
            appVersion = version
            rest[FieldName.appVersion] = nil
        }
        let itemID = takeString(FieldName.itemID)
        let value = takeString(FieldName.value)
        let afterItemID = takeString(FieldName.afterItemID)
        let device = takeString(FieldName.device) ?? ""
        let deviceID = takeString(FieldName.deviceID)
        let author = takeString(FieldName.author) ?? ""
        self.init(
            id: id, listID: listID, itemID: itemID, action: Action(rawValue: action),
            value: value, afterItemID: afterItemID, editTimeMilliseconds: editTimeMilliseconds,
            device: device, deviceID: deviceID, author: author, appVersion: appVersion,
            otherFields: rest)
    }
}
