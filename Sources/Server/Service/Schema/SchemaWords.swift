import StratusRecords

/// The words of the schema language that both its reader and its writer need.
enum SchemaWords {
    /// Names that must be quoted.
    static let reserved: Set<String> = [
        "GRANT", "PREFERRED", "QUERYABLE", "SORTABLE", "SEARCHABLE",
    ]

    static let indexes: [(word: String, mark: FieldIndexes)] = [
        ("QUERYABLE", .queryable), ("SORTABLE", .sortable), ("SEARCHABLE", .searchable),
    ]

    static let permissions: [(word: String, permission: RecordPermissions)] = [
        ("READ", .read), ("CREATE", .create), ("WRITE", .write),
    ]

    /// The type of shares: its name and its fields' are no identifiers.
    static let shareType = "cloudkit.share"
    private static let sharePrefix = "cloudkit."

    /// The types that are no lists; the number's two faces are read apart.
    static func scalarType(_ word: String) -> FieldType? {
        switch word {
        case "ASSET": .asset
        case "BYTES": .bytes
        case "DOUBLE": .double
        case "INT64": .int64
        case "LOCATION": .location
        case "REFERENCE": .reference
        case "STRING": .string
        case "TIMESTAMP": .timestamp
        default: nil
        }
    }

    static func word(forScalar type: FieldType) -> String {
        type == .asset ? "ASSET" : type.rawValue
    }

    static func isTypeName(_ name: String) -> Bool {
        Names.isIdentifier(name) || name == shareType
    }

    static func isFieldName(_ name: String, of recordType: String) -> Bool {
        if recordType == shareType, name.hasPrefix(sharePrefix) {
            return Names.isIdentifier(name.dropFirst(sharePrefix.count))
        }
        return Names.isIdentifier(name)
    }
}

extension FieldType {
    /// The type of lists of this scalar type.
    var listType: FieldType? { Self.allCases.first { $0.element == self } }
}
