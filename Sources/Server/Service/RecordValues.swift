import StratusRecords
import StratusStorage
import StratusWire

/// A record's values as queries see them: its own fields and those that every record has.
struct RecordValues {
    private let row: RecordRow
    private let fields: [Field]

    /// - Throws: ``WireError`` when the stored bytes cannot be read.
    init(_ row: RecordRow, readingFields: Bool) throws(WireError) {
        self.row = row
        fields = readingFields ? try RecordFields.encoded(row.payload).values() : []
    }

    /// A record whose fields have been read already.
    init(_ row: RecordRow, fields: [Field]) {
        self.row = row
        self.fields = fields
    }

    subscript(name: QueryDictionary.FieldName) -> FieldValue? {
        switch name {
        case .user(let name): fields.first { $0.name == name }?.value
        case .system(let field): self[field]
        }
    }

    private subscript(field: QueryDictionary.SystemField) -> FieldValue? {
        switch field {
        case .recordName: .reference(Reference(recordName: row.name))
        case .share: row.shareRoot.map { .reference(Reference(recordName: $0)) }
        case .parent: row.parent.map { .reference(Reference(recordName: $0)) }
        case .createdUserRecordName: .reference(Reference(recordName: row.creator))
        case .createdTimestamp: .timestamp(milliseconds: row.createdMilliseconds)
        case .modifiedTimestamp: .timestamp(milliseconds: row.modifiedMilliseconds)
        case .modifiedUserRecordName: .reference(Reference(recordName: row.modifier))
        }
    }
}

extension QueryDictionary.SystemField {
    var type: FieldType {
        switch self {
        case .createdTimestamp, .modifiedTimestamp: .timestamp
        case .recordName, .share, .parent, .createdUserRecordName, .modifiedUserRecordName:
            .reference
        }
    }
}
