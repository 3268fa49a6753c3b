import StratusRecords
import StratusStorage

/// The rows of a deleted zone, which are removed in steps.
struct ZoneRows: Sendable {
    private let change: LongChangeRow

    init(of change: LongChangeRow) {
        self.change = change
    }

    /// Removes some of the rows; when none are left, also removes the row of this change.
    func step(in records: inout RecordWriter, _ limits: Limits) throws {
        let isMore = try records.removeRows(ofDeleted: change.zone, limit: limits.recordsPerStep)
        if !isMore { try records.transaction.delete(change) }
    }
}
