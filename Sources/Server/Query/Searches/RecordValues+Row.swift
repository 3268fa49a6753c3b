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
        // Damaged bytes count as none: the doctor reports them, and only filters by the share need them.
        let share = row.sharing.isEmpty ? nil : (try? SharingHead(row.sharing))?.shareName
        self.init(
            SystemValues(
                recordName: row.name, recordType: row.type, parent: row.parent,
                share: share, creator: row.creator, modifier: row.modifier,
                createdMilliseconds: row.createdMilliseconds,
                modifiedMilliseconds: row.modifiedMilliseconds),
            fields: fields)
    }
}

/// The beginning of ``RecordRow/sharing``, which is the same in each of its formats: the format's byte, then the short
/// GUID and the share's name, both the byte 0 for nil, or the byte 1, the length as four bytes, and text.
package struct SharingHead: Sendable {
    package let format: UInt8
    /// The short GUID of the record's link.
    package let shortGUID: String?
    /// The name of the share whose root the record is.
    package let shareName: String?
    /// The bytes after the beginning.
    package let rest: ArraySlice<UInt8>

    /// The bytes end too early.
    package struct Malformed: Error {}

    package init(_ sharing: [UInt8]) throws(Malformed) {
        var rest = sharing[...]
        guard let format = rest.popFirst() else { throw Malformed() }
        self.format = format
        shortGUID = try Self.optionalString(&rest)
        shareName = try Self.optionalString(&rest)
        self.rest = rest
    }

    private static func optionalString(
        _ rest: inout ArraySlice<UInt8>
    ) throws(Malformed) -> String? {
        guard let isThere = rest.popFirst() else { throw Malformed() }
        guard isThere != 0 else { return nil }
        guard rest.count >= 4 else { throw Malformed() }
        let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(4)
        guard rest.count >= count else { throw Malformed() }
        defer { rest = rest.dropFirst(count) }
        return String(decoding: rest.prefix(count), as: UTF8.self)
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
