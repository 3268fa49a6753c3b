import StratusMatching
import StratusRecords
import StratusStorage
import StratusWire

extension RecordValues {
    /// The values of a stored record.
    ///
    /// - Parameter readingFields: Whether the stored bytes of the record's own fields are read.
    /// - Throws: ``WireError`` when the stored bytes cannot be read.
    package init(_ row: RecordRow, readingFields: Bool) throws(WireError) {
        self.init(
            row, fields: readingFields ? try RecordFields.encoded(row.payload).values() : [])
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
        return matches(try RecordValues(row, readingFields: readsFields))
    }
}
