import StratusQuery
import StratusRecords
import StratusStorage

/// Keeps the entries of the database's indexes: ``RecordIndexing``.
struct IndexMaintainer: RecordMaintainer {
    private var indexing = RecordIndexing()

    func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) {}

    mutating func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        try indexing.update(write.row, fields: write.fields, old: write.old, in: rows)
    }

    /// No index contains sharing data.
    func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    mutating func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        try indexing.update(write.row, fields: [], old: write.old, in: rows)
    }

    mutating func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        try stored(write, in: rows)
    }

    func finish(_ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter) {}

    /// The store deletes a zone's entries with it. The indexes themselves stay: other zones use them too.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) {}
}
