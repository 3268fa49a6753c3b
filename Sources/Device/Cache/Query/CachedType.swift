import StratusClient

/// How an app queries one record type on this device: which fields have a column with an index, and which are
/// searched for words.
///
/// Declare types when you open the cache. Without a declaration a query reads every record of the
/// type; with one it reads only what it finds. Opening a file updates it to the declaration: the
/// records of a new or changed type are read once. Processes that share a file must declare the
/// same types, or none.
///
/// ```swift
/// let cache = try CloudCache(
///     path: path, container: .default(),
///     types: [
///         CachedType(
///             "Note", indexed: ["isDone", "date"], searchable: ["text"], columns: ["title"])
///     ])
/// ```
///
/// For the app's own SQL there is a view for each declared type, `records_Note` here, with the columns
/// `_recordName`, `_zoneName`, `_zoneOwner`, `_database`, `_created`, `_modified` and one for each field that
/// the declaration names: text, numbers, dates in milliseconds since 1970, names of references, JSON of lists and
/// places, Base64 of bytes.
public struct CachedType: Hashable, Sendable {
    /// The record type, which may be declared only once in a cache.
    public var recordType: CKRecord.RecordType
    /// Fields that queries filter and sort by; `creationDate` and `modificationDate` may be among
    /// them. A list or a location has no order, and is read from the record.
    public var indexed: [CKRecord.FieldKey]
    /// Fields that are searched for words (`TOKENMATCHES`, `SELF CONTAINS`).
    public var searchable: [CKRecord.FieldKey]
    /// Further fields that the view shows.
    public var columns: [CKRecord.FieldKey]

    /// Makes a declaration. Opening the cache throws `invalidTypes` for a name that no record can have.
    public init(
        _ recordType: CKRecord.RecordType, indexed: [CKRecord.FieldKey] = [],
        searchable: [CKRecord.FieldKey] = [], columns: [CKRecord.FieldKey] = []
    ) {
        self.recordType = recordType
        self.indexed = indexed
        self.searchable = searchable
        self.columns = columns
    }
}
