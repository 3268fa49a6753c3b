/// Reads the indexes of a database.
public protocol IndexReader {
    /// All indexes, by key.
    func indexes() throws -> [IndexRow]

    /// The indexes of one record type, by key.
    func indexes(ofType recordType: String) throws -> [IndexRow]

    /// Whether the file had records before it had indexes.
    var hasRecordsOlderThanIndexes: Bool { get throws }

    /// The first entries strictly between two, in ascending or descending order.
    func entries(
        of index: IndexRow.Key, in zone: ZoneRow.Key, between bounds: (IndexEntry, IndexEntry),
        isAscending: Bool, limit: Int
    ) throws -> [IndexEntry]

    /// How many entries lie strictly between two; counting ends at `limit`.
    func entryCount(
        of index: IndexRow.Key, in zone: ZoneRow.Key, between bounds: (IndexEntry, IndexEntry),
        limit: Int
    ) throws -> Int

    /// The records of a zone by name after `name`, tombstones included, of any type.
    ///
    /// The result ends at `limit` records, or where their payloads reach that many bytes.
    func records(
        in zone: ZoneRow.Key, after name: String, limit: Int, payloadBytes: Int
    ) throws -> [RecordRow]

    /// The living records of a zone that a user created (with nil, all), by name after `name`. Reads `limit` records,
    /// by any creator, but not their fields.
    func names(
        madeBy creator: String?, in zone: ZoneRow.Key, after name: String, limit: Int
    ) throws -> CreatedNames
}

/// Some of the records that a user created, found by reading the names of a zone in order.
public struct CreatedNames: Hashable, Sendable {
    /// The names of the living records, in byte order.
    public var names: [String]
    /// The last name that was read; nil after the last record.
    public var last: String?

    /// Makes the result of reading part of a zone's names.
    public init(names: [String], last: String?) {
        self.names = names
        self.last = last
    }
}

/// Changes the indexes of a database in a transaction.
public protocol IndexWriter: IndexReader {
    /// Creates an index; its key has never been used before.
    func createIndex(
        _ definition: IndexRow.Definition, phase: IndexRow.Phase
    ) throws -> IndexRow

    /// Stores the phase and progress of an index.
    func update(_ index: IndexRow) throws

    /// Removes an index whose entries are gone.
    func deleteIndex(_ index: IndexRow.Key) throws

    /// Adds an entry, unless it is there.
    func put(_ entry: IndexEntry, of index: IndexRow.Key, in zone: ZoneRow.Key) throws

    /// Removes an entry, if it is there.
    func delete(_ entry: IndexEntry, of index: IndexRow.Key, in zone: ZoneRow.Key) throws
}
