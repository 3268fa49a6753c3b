import StratusRecords
import StratusStorage
import StratusWire

extension ShareLink.Target {
    /// Stores the share after a person who followed its link changed it.
    mutating func put(in records: inout RecordWriter) throws {
        let old = try records.transaction.records(named: [row.name], in: zone.key)[row.name]
        sharing.share = share
        row.sharing = sharing.bytes
        let fields = try RecordFields.encoded(row.payload).values()
        let write = RecordWrite(
            row: row, fields: fields, references: ActingReference.all(in: fields), old: old)
        var stored = row
        try records.write(1, in: zone, isShared: true) { stored = try $0.put(write) }
        row = stored
    }
}
