import StratusStorage

/// Keeps one kind of rows that are derived from records.
///
/// No function has a default: each maintainer says what it does on each occasion, if only that there is
/// nothing to do. It gets a ``DerivedRowWriter``, which cannot write a record.
protocol RecordMaintainer {
    /// Before the first record of a zone is written.
    ///
    /// - Parameter isShared: whether something of the zone is shared, before or afterwards.
    mutating func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) throws

    /// After the row of a living record was stored.
    mutating func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) throws

    /// After a record was stored whose place under the shares changed, and nothing else of it.
    mutating func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) throws

    /// After a record's tombstone was stored. `write.old` is the record as it was.
    mutating func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) throws

    /// After the last record of a zone was written.
    ///
    /// - Parameter version: the zone's version.
    mutating func finish(
        _ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter) throws

    /// Before a zone is deleted with its records, and with all rows of these that are in the same file.
    mutating func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) throws
}

/// The list of all maintainers.
enum RecordMaintainers {
    /// In the order in which they are called. Shares come before the outbox, which says who gained or lost
    /// access by a change.
    static func all(for author: RecordAuthor) -> [any RecordMaintainer] {
        [
            IndexMaintainer(),
            ReferenceMaintainer(),
            AncestorMaintainer(room: author.ancestorRoom),
            AssetMaintainer(),
            ShareMaintainer(),
            UsageMaintainer(),
            OutboxMaintainer(author: author),
        ]
    }
}

/// On whose behalf records are written, and who listens.
struct RecordAuthor: Sendable {
    var user: String
    /// It is not notified of its own changes; empty for an operator's, of which all are.
    var device: String
    var subscriptions: SubscriptionSummary
    var ancestorRoom: AncestorMaintainer.Room
    /// How many rows of records a zone may have to be deleted in one transaction.
    var recordsAtOnce: Int
}
