/// Reads what is left to do of changes that are carried out in steps.
public protocol LongChangeReader {
    /// The kinds of work that are left in a zone.
    func longChanges(in zone: ZoneRow.Key) throws -> Set<LongChangeRow.Kind>

    /// The rows of a kind that are left, by zone and name; `limit` at most.
    func longChanges(_ kind: LongChangeRow.Kind, limit: Int) throws -> [LongChangeRow]

    /// Whether work of a kind is left for the record with a name.
    func hasLongChange(_ kind: LongChangeRow.Kind, of name: String, in zone: ZoneRow.Key) throws
        -> Bool

    /// The detail of the work that is left for the record with a name; nil when there is none.
    func longChangeDetail(
        _ kind: LongChangeRow.Kind, of name: String, in zone: ZoneRow.Key
    ) throws -> String?

    /// The deletions that no claim holds back, by zone and name; `limit` at most.
    func decidedDeletions(limit: Int) throws -> [LongChangeRow]

    /// The deletions of a claim; `limit` at most.
    func claimedDeletions(_ claim: LongChangeRow, limit: Int) throws -> [LongChangeRow]

    /// The living children of a record after a name, by name in byte order, until there are `limit` of
    /// them or their payloads have that many bytes.
    func children(
        of parent: String, after name: String, in zone: ZoneRow.Key, limit: Int, payloadBytes: Int
    ) throws -> [RecordRow]

    /// Whether a zone has more than `count` rows of records, tombstones included.
    func holdsMoreRecords(than count: Int, in zone: ZoneRow.Key) throws -> Bool

    /// Whether any living record is stored as being under a shared root.
    func hasRecords(under root: String, in zone: ZoneRow.Key) throws -> Bool
}

/// Changes what is left to do.
public protocol LongChangeWriter: LongChangeReader {
    /// Adds a row, replacing one of the same kind and name.
    func put(_ row: LongChangeRow) throws

    /// Removes a row whose work is done.
    func delete(_ row: LongChangeRow) throws
}
