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
                share: row.shareName, creator: row.creator, modifier: row.modifier,
                createdMilliseconds: row.createdMilliseconds,
                modifiedMilliseconds: row.modifiedMilliseconds),
            fields: fields)
    }
}

extension RecordRow {
    /// The name of the share whose root the record is. ``sharing`` has it after a byte with the format and the optional
    /// short GUID, in each format of `RecordSharing`; damaged bytes count as none here.
    fileprivate var shareName: String? {
        var rest = sharing.dropFirst()
        _ = Self.optionalString(&rest)
        return Self.optionalString(&rest)
    }

    /// Reads the byte 0 for nil, or the byte 1, the length as four bytes, and text.
    private static func optionalString(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard rest.popFirst() == 1 else { return nil }
        let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(4)
        defer { rest = rest.dropFirst(count) }
        return rest.count < count ? nil : String(decoding: rest.prefix(count), as: UTF8.self)
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
