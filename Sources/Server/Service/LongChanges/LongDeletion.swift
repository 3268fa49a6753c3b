import StratusRecords
import StratusStorage

/// The person for whom a deletion's dependent records are deleted, and one step of that deletion.
///
/// Until its step, a record can still be read. For writes it is already gone: it cannot be saved or needed by another
/// record, and the records that it needs may be deleted (`StoredRecords.goingAway`).
struct LongDeletion: Sendable {
    let user: String
    let device: String
    let milliseconds: Int64
    /// The text in the rows.
    let text: String

    /// - Parameter number: Distinguishes claims of one person made in the same millisecond.
    init(user: String, device: String, milliseconds: Int64, number: UInt64) {
        self.user = user
        self.device = device
        self.milliseconds = milliseconds
        text = ["\(milliseconds)", user, device, "\(number)"]
            .joined(separator: String(Self.separator))
    }

    private static let separator: Character = "\n"

    /// Leaves out the person when the text is not one of ours: the record is deleted anyway.
    init(text: String) {
        self.text = text
        let parts = text.split(
            separator: Self.separator, maxSplits: 3, omittingEmptySubsequences: false)
        milliseconds = parts.first.flatMap { Int64($0) } ?? 0
        user = parts.count >= 3 ? String(parts[1]) : ""
        device = parts.count >= 3 ? String(parts[2]) : ""
    }

    // MARK: A step

    /// Records that are read at a time: they may be large.
    private static let recordsPerRead = 50

    func step(in records: inout RecordWriter, _ limits: Limits) throws {
        let writer = records.transaction
        let rows = try writer.decidedDeletions(limit: limits.recordsPerStep)
        guard let key = rows.first?.zone else { return }
        // Rows of one request only: a step is one person's change.
        let entries = rows.filter { $0.zone == key && $0.detail == text }
        guard let zone = try writer.zones().first(where: { $0.key == key }) else {
            for entry in rows where entry.zone == key { try writer.delete(entry) }
            return
        }
        var going: [RecordRow] = []
        var room = limits.recordBytesPerModify
        var next = 0
        while next < entries.count, room > 0 {
            let part = entries[next..<min(next + Self.recordsPerRead, entries.count)]
            let found = try writer.records(named: part.map(\.name), in: key)
            for entry in part {
                if let row = found[entry.name], !row.isDeleted {
                    going.append(row)
                    room -= row.payload.count
                }
                try writer.delete(entry)
            }
            next += part.count
        }
        guard !going.isEmpty else { return }
        let roots = Set(try writer.shares(in: key, limit: .max).compactMap(\.root))
        try records.write(going.count, in: zone, isShared: writer.hasShares(in: key)) { records in
            for row in going {
                var old = row
                // The share does not exist any more, so no participant is notified that the record left it.
                if let root = old.shareRoot, !roots.contains(root) { old.shareRoot = nil }
                try records.put(
                    RecordWrite(row: tombstone(of: row), fields: [], references: [], old: old))
            }
        }
    }

    private func tombstone(of record: RecordRow) -> RecordRow {
        record.tombstone(
            modifier: user.isEmpty ? record.modifier : user, device: device,
            milliseconds: milliseconds)
    }
}

extension RecordRow {
    /// The tombstone of the deleted record.
    func tombstone(modifier: String, device: String, milliseconds: Int64) -> RecordRow {
        var row = self
        row.isDeleted = true
        row.payload = []
        row.parent = nil
        row.shareRoot = nil
        row.sharing = []
        row.modifiedMilliseconds = milliseconds
        row.modifier = modifier
        row.modifierDevice = device
        return row
    }
}
