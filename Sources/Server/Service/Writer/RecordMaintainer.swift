import StratusStorage

/// Keeps one kind of rows that are derived from records.
///
/// No function has a default: each maintainer states what it does on each occasion, even if it is nothing. It gets a
/// ``DerivedRowWriter``, which cannot write a record.
protocol RecordMaintainer {
    /// Called before the first record of a zone is written.
    ///
    /// - Parameter isShared: whether something of the zone is shared, before or afterwards.
    mutating func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) throws

    /// Called after the row of a living record was stored.
    mutating func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) throws

    /// Called after a record was stored of which only the share changed.
    mutating func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) throws

    /// Called after a record's tombstone was stored. `write.old` is the record as it was.
    mutating func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) throws

    /// Called for each living record when the derived rows of a database are rebuilt; the old ones were removed
    /// before (`rebuildDerivedRows(of:dropsDamaged:_:)`). `write.old` is nil.
    mutating func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) throws

    /// Called after the last record of a zone was written.
    ///
    /// - Parameter version: the zone's version.
    mutating func finish(
        _ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter) throws

    /// Called before a zone is deleted with its records and all their derived rows in the same file.
    mutating func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) throws
}

/// The list of all maintainers.
enum RecordMaintainers {
    /// In the order in which they are called. Shares come before the outbox, whose events name the users who gained or
    /// lost access.
    static func all(for author: RecordAuthor) -> [any RecordMaintainer] {
        [
            IndexMaintainer(),
            ReferenceMaintainer(),
            AncestorMaintainer(limits: author.ancestorLimits),
            AssetMaintainer(),
            ShareMaintainer(),
            UsageMaintainer(),
            OutboxMaintainer(author: author),
        ]
    }
}

/// The user and device for whom records are written.
struct RecordAuthor: Sendable {
    var user: String
    /// The device that is not notified of its own changes; empty for an operator's, of which all are notified.
    var device: String
    var subscriptions: SubscriptionSummary
    var ancestorLimits: AncestorMaintainer.AncestorLimits
    /// How many rows of records a zone may have to be deleted in one transaction.
    var recordsAtOnce: Int
}
