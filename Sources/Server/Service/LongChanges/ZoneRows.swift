import StratusRecords
import StratusStorage

/// The rows of a deleted zone that go in steps.
struct ZoneRows: Sendable {
    private let change: LongChangeRow

    init(of change: LongChangeRow) {
        self.change = change
    }

    /// Removes some; when none are left, what is written down of the removal.
    func step(in records: inout RecordWriter, _ limits: Limits) throws {
        let isMore = try records.removeRows(ofDeleted: change.zone, limit: limits.recordsPerStep)
        if !isMore { try records.transaction.delete(change) }
    }
}
