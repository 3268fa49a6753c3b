import StratusMatching
import StratusRecords
import StratusStorage
import StratusWire

extension RecordValues {
    /// The values of a stored record.
    ///
    /// - Parameter names: The names of the record's own fields to read; nil for all.
    /// - Throws: ``WireError`` when the stored bytes cannot be read.
    package init(_ row: RecordRow, readingFields names: [String]? = nil) throws(WireError) {
        let fields = RecordFields.encoded(row.payload)
        if let names {
            self.init(row, fields: try fields.values(named: names))
        } else {
            self.init(row, fields: try fields.values())
        }
    }

    /// The values of a stored record whose fields have been read already.
    init(_ row: RecordRow, fields: [Field]) {
        self.init(
            SystemValues(
                recordName: row.name, recordType: row.type, parent: row.parent,
                shareRoot: row.shareRoot, creator: row.creator, modifier: row.modifier,
                createdMilliseconds: row.createdMilliseconds,
                modifiedMilliseconds: row.modifiedMilliseconds),
            fields: fields)
    }
}

extension RecordMatcher {
    /// Whether a stored record matches.
    ///
    /// - Throws: ``WireError`` when the stored bytes cannot be read.
    package func matches(_ row: RecordRow) throws(WireError) -> Bool {
        guard row.type == recordType else { return false }
        return matches(try RecordValues(row, readingFields: fieldNames))
    }
}
