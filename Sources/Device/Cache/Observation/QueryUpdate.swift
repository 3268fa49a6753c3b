import StratusClient
import StratusRecords

/// A query's records as they are now, and what changed since the last update.
public struct QueryUpdate: Sendable {
    /// All records that the query finds now, up to its limit.
    public var records: QueryResults
    /// Empty in the first update. In the order of the records' names.
    public var changes: [RecordChange]
}

/// The records of a query, in its order. Each access makes a record of its own, which the app may change and
/// save.
public struct QueryResults: RandomAccessCollection, Sendable {
    private let found: [FoundRecord]
    /// What knows the files of assets; nil where there is no record.
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
            // The observer has made each of them once, and would have thrown.
            preconditionFailure("A record that was read cannot be read: \(error)")
        }
    }

    /// The identities alone, which cost less.
    public var recordIDs: [CKRecord.ID] { found.map { CKRecord.ID($0.record.id) } }
}

/// A record as it is now, and who changed it.
public struct RecordUpdate: Sendable {
    /// Nil where it is not on this device, or not any more.
    public var record: CKRecord?
    /// Nil in the first update.
    public var author: ChangeAuthor?
}
