import StratusStorage

/// The size of the living records in bytes, as quotas count it (``RecordUsage``).
///
/// This maintainer does nothing: triggers on the table of records keep the sum, regardless of which statement changes a
/// row. It is listed so that readers find it here.
struct UsageMaintainer: RecordMaintainer {
    func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) {}

    /// A trigger adds the row's size, and subtracts that of the row it replaces.
    func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    /// Name and fields stay as they are.
    func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    /// A trigger subtracts the record's size; a tombstone counts nothing.
    func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    /// The store counts the bytes again before.
    func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    func finish(_ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter) {}

    /// A trigger subtracts each record that the store deletes with the zone.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) {}
}
