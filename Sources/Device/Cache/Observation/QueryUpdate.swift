import StratusClient
import StratusRecords

/// A query's records as they are now, and what changed since the last update.
public struct QueryUpdate: Sendable {
    /// All records that the query finds now, up to its limit.
    public var records: QueryResults
    /// The changes since the last update, in the order of the records' names; empty in the first update.
    public var changes: [RecordChange]
}

/// The records of a query, in its order. Each access makes a new object, which the app may change and save.
public struct QueryResults: RandomAccessCollection, Sendable {
    private let found: [FoundRecord]
    /// The cache's file, for the files of assets; nil if there is no record.
    private let file: CacheFile?

    init(_ found: [FoundRecord] = [], _ file: CacheFile? = nil) {
        self.found = found
        self.file = file
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { found.count }

    public subscript(position: Int) -> CKRecord {
        do {
            let record = try found[position].record.record()
            return file?.withFiles(record) ?? record
        } catch {
            // The observer has already made each of them once, and would have thrown.
            preconditionFailure("A record that was read cannot be read: \(error)")
        }
    }

    /// The IDs of the records, which cost less than the records.
    public var recordIDs: [CKRecord.ID] { found.map { CKRecord.ID($0.record.id) } }
}

/// A record as it is now, and who changed it.
public struct RecordUpdate: Sendable {
    /// The record; nil if it is not, or no longer, on this device.
    public var record: CKRecord?
    /// Who made the last change; nil in the first update.
    public var author: ChangeAuthor?
}
