/// What a schema lets queries do with a field: its words QUERYABLE, SORTABLE and SEARCHABLE.
///
/// The raw value is what is stored. Source: "Integrating a Text-Based Schema into Your Workflow" in
/// Apple's documentation.
public struct FieldIndexes: OptionSet, Hashable, Sendable {
    /// Filters may name the field.
    public static let queryable = FieldIndexes(rawValue: 1)
    /// Sort keys may name the field.
    public static let sortable = FieldIndexes(rawValue: 2)
    /// Filters may search for words in the field.
    public static let searchable = FieldIndexes(rawValue: 4)

    public var rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }
}

extension FieldType {
    /// The marks that a schema may give a plain field of this type, as in exported schemas of CloudKit. An encrypted
    /// field has none.
    public var possibleIndexes: FieldIndexes {
        switch self {
        case .string, .stringList: [.queryable, .sortable, .searchable]
        case .asset, .assetList: []
        default: [.queryable, .sortable]
        }
    }

    /// The marks that a plain field of this type gets when a save creates it.
    public var firstIndexes: FieldIndexes {
        switch self {
        case .string: [.queryable, .sortable, .searchable]
        case .int64, .double, .timestamp, .location: [.queryable, .sortable]
        case .reference, .stringList, .int64List, .doubleList, .timestampList, .locationList,
            .referenceList:
            .queryable
        case .bytes, .asset, .bytesList, .assetList: []
        }
    }
}

extension FieldType {
    /// Whether fields of this type may be encrypted: all but references and assets.
    public var canBeEncrypted: Bool {
        switch element ?? self {
        case .reference, .asset: false
        default: true
        }
    }
}

/// A field that every record has automatically. A schema can only mark it.
///
/// The raw values are the schema language's spelling.
public enum SchemaSystemField: String, Hashable, Sendable, CaseIterable {
    /// When the record was created.
    case createTime = "___createTime"
    /// The user who created the record.
    case createdBy = "___createdBy"
    /// The change tag of the record.
    case etag = "___etag"
    /// When the record was last saved.
    case modTime = "___modTime"
    /// The user who saved the record last.
    case modifiedBy = "___modifiedBy"
    /// The name of the record.
    case recordID = "___recordID"

    /// The type with which the schema language writes the field.
    public var type: FieldType {
        switch self {
        case .createTime, .modTime: .timestamp
        case .createdBy, .modifiedBy, .recordID: .reference
        case .etag: .string
        }
    }

    /// The marks in a record type that a save created: enough for queries without filters, by record name, and for the
    /// newest first.
    public var firstIndexes: FieldIndexes {
        switch self {
        case .recordID, .createdBy, .modifiedBy: .queryable
        case .createTime, .modTime: [.queryable, .sortable]
        case .etag: []
        }
    }
}
