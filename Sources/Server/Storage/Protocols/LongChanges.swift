/// Reads what is still to be done of changes that are carried out in steps.
public protocol LongChangeReader {
    /// The kinds of which something is still to be done in a zone.
    func longChanges(in zone: ZoneRow.Key) throws -> Set<LongChangeRow.Kind>

    /// What is still to be done of a kind, by zone and name; `limit` at most.
    func longChanges(_ kind: LongChangeRow.Kind, limit: Int) throws -> [LongChangeRow]

    /// Whether something is still to be done with the record of a name.
    func hasLongChange(_ kind: LongChangeRow.Kind, of name: String, in zone: ZoneRow.Key) throws
        -> Bool

    /// What is written down of something that is still to be done with the record of a name; nil where nothing
    /// is.
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

    /// Whether a zone has more rows of records than that, tombstones included.
    func holdsMoreRecords(than count: Int, in zone: ZoneRow.Key) throws -> Bool

    /// Whether the share of a root is said to cover any living record.
    func hasRecords(under root: String, in zone: ZoneRow.Key) throws -> Bool
}

/// Changes what is still to be done.
public protocol LongChangeWriter: LongChangeReader {
    /// Adds what is to be done, in place of what is there of the same kind and name.
    func put(_ row: LongChangeRow) throws

    /// Removes what was done.
    func delete(_ row: LongChangeRow) throws
}
