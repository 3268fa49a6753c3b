import StratusRecords
import StratusStorage

/// The rows of a deleted zone, which are removed in steps.
struct ZoneRows: Sendable {
    private let change: LongChangeRow

    init(of change: LongChangeRow) {
        self.change = change
    }

    /// Removes some; when none are left, removes the row that says so too.
    func step(in records: inout RecordWriter, _ limits: Limits) throws {
        let isMore = try records.removeRows(ofDeleted: change.zone, limit: limits.recordsPerStep)
        if !isMore { try records.transaction.delete(change) }
    }
}
