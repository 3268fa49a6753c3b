import StratusRecords

/// The words of the schema language that both ``SchemaParser`` and the printer need.
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

    /// The type of shares. Its name and the names of its fields are not identifiers.
    static let shareType = "cloudkit.share"
    private static let sharePrefix = "cloudkit."

    /// The types that are not lists, except NUMBER, which the parser reads with its preference.
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
