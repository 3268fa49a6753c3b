import StratusRecords
import StratusWire

/// A record's values as queries see them: its own fields and those that every record has.
package struct RecordValues: Sendable {
    /// The values that a record has besides its own fields.
    package struct SystemValues: Sendable {
        package var recordName: String
        package var recordType: String
        /// The name of the parent record in the sharing hierarchy.
        package var parent: String?
        /// The name of the record's share, which a record has that is the root of one, as `CKRecord.share`.
        package var share: String?
        /// The user record name of the creator.
        package var creator: String
        package var modifier: String
        /// Milliseconds since 1970.
        package var createdMilliseconds: Int64
        package var modifiedMilliseconds: Int64

        package init(
            recordName: String, recordType: String, parent: String?, share: String?,
            creator: String, modifier: String, createdMilliseconds: Int64,
            modifiedMilliseconds: Int64
        ) {
            self.recordName = recordName
            self.recordType = recordType
            self.parent = parent
            self.share = share
            self.creator = creator
            self.modifier = modifier
            self.createdMilliseconds = createdMilliseconds
            self.modifiedMilliseconds = modifiedMilliseconds
        }
    }

    let system: SystemValues
    private let fields: [Field]

    /// - Parameter fields: The record's own fields; may be empty if a query names none of them.
    package init(_ system: SystemValues, fields: [Field]) {
        self.system = system
        self.fields = fields
    }

    package subscript(name: QueryDictionary.FieldName) -> FieldValue? {
        switch name {
        // Queries compare whole milliseconds, even if one of our devices sent a more exact date.
        case .user(let name): fields.first { $0.name == name }?.value?.inMilliseconds
        case .system(let field): self[field]
        }
    }

    private subscript(field: QueryDictionary.SystemField) -> FieldValue? {
        switch field {
        case .recordName: .reference(Reference(recordName: system.recordName))
        case .share: system.share.map { .reference(Reference(recordName: $0)) }
        case .parent: system.parent.map { .reference(Reference(recordName: $0)) }
        case .createdUserRecordName: .reference(Reference(recordName: system.creator))
        case .createdTimestamp: .timestamp(milliseconds: system.createdMilliseconds)
        case .modifiedTimestamp: .timestamp(milliseconds: system.modifiedMilliseconds)
        case .modifiedUserRecordName: .reference(Reference(recordName: system.modifier))
        }
    }
}

extension QueryDictionary.SystemField {
    /// The type of the field's values.
    package var type: FieldType {
        switch self {
        case .createdTimestamp, .modifiedTimestamp: .timestamp
        case .recordName, .share, .parent, .createdUserRecordName, .modifiedUserRecordName:
            .reference
        }
    }
}
