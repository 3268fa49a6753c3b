import StratusStorage

/// The bytes of the living records, as quotas count them (``RecordUsage``).
///
/// Nothing is to be done: triggers on the table of the records keep the sum, whichever statement changes a
/// row. This maintainer stands in the list so that nobody looks for the one that is missing.
struct UsageMaintainer: RecordMaintainer {
    func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) {}

    /// A trigger adds the row, and takes away the one that it replaces.
    func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    /// Name and fields stay as they are.
    func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    /// A trigger takes the record away; a tombstone counts nothing.
    func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    func finish(_ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter) {}

    /// A trigger takes away each record that the store deletes with the zone.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) {}
}
