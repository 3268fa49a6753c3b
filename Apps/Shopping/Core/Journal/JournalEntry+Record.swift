#if canImport(Darwin)
    import Foundation
    import StratusClient
    import StratusSync
#else
    import CloudKit
#endif

extension JournalEntry {
    /// The fields in which the cache leaves the times of local edits, today and before; an entry has its
    /// own.
    private static let fieldsOfTheCache: Set = [FieldWise.defaultFieldTimesKey, "editedAt"]

    /// The entry as a record that was not saved yet; its parent is the list's root, so that it is shared.
    func record(in listID: ListID) -> CKRecord {
        let record = CKRecord(
            recordType: ShoppingRecord.journalEntryType,
            recordID: CKRecord.ID(recordName: id, zoneID: listID.zoneID))
        record.setParent(listID.rootID)
        for (name, field) in fields {
            switch field {
            case .string(let text): record[name] = text
            case .int64(let number): record[name] = number
            case .date(let milliseconds):
                record[name] = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
            }
        }
        return record
    }

    /// Reads an entry; nil for a record that is not an entry.
    init?(_ record: CKRecord) {
        guard record.recordType == ShoppingRecord.journalEntryType else { return nil }
        var fields: [String: JournalField] = [:]
        for (name, value) in record where !Self.fieldsOfTheCache.contains(name) {
            fields[name] = JournalField(value)
        }
        self.init(id: record.recordID.recordName, fields: fields)
        // The same on every device: the service's own creation date.
        guard let came = record.creationDate else { return }
        let latest = Int64(came.timeIntervalSince1970 * 1_000)
        editTimeMilliseconds = min(
            max(editTimeMilliseconds, 0), latest + ShoppingLimits.editTimeAheadMilliseconds)
    }
}

extension JournalField {
    /// Nil for a kind that a journal does not use; the record itself keeps such a field.
    fileprivate init?(_ value: any CKRecordValueProtocol) {
        switch value {
        case let text as String: self = .string(text)
        case let date as Date:
            // The service takes dates that this cannot count; no app of ours writes them.
            guard let milliseconds = Int64(exactly: (date.timeIntervalSince1970 * 1_000).rounded())
            else { return nil }
            self = .date(milliseconds: milliseconds)
        case let number as NSNumber: self = .int64(number.int64Value)
        case let number as Int64: self = .int64(number)
        case let number as Int: self = .int64(Int64(number))
        default: return nil
        }
    }
}
