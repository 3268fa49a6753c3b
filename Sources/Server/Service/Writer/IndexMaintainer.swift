import StratusQuery
import StratusRecords
import StratusStorage

/// Keeps the entries of the database's indexes: ``RecordIndexing``.
struct IndexMaintainer: RecordMaintainer {
    /// Entries that one record may change at no cost beyond that of its save: as many as the longest text has words.
    private static let freeEntriesPerRecord = 1_000

    /// Is charged for more entries: a list of 100,000 values in one record has as many.
    private let work: RequestWork?
    private var indexing = RecordIndexing()

    init(work: RequestWork?) { self.work = work }

    func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) {}

    mutating func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        let entries = try indexing.update(
            write.row, fields: write.fields, old: write.old, in: rows)
        charge(entries)
    }

    /// No index contains sharing data.
    func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    mutating func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        let entries = try indexing.update(write.row, fields: [], old: write.old, in: rows)
        charge(entries)
    }

    mutating func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        try stored(write, in: rows)
    }

    func finish(_ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter) {}

    /// The store deletes a zone's entries with it. The indexes themselves stay: other zones use them too.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) {}

    private func charge(_ entries: Int) {
        guard entries > Self.freeEntriesPerRecord else { return }
        work?.add(entriesWritten: entries - Self.freeEntriesPerRecord)
    }
}
