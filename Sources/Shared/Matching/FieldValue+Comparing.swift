import StratusRecords

extension FieldValue {
    /// Whether a query treats two values as equal. References are equal when they name the same record.
    package func isEqual(to other: FieldValue) -> Bool {
        switch (self, other) {
        case (.reference(let one), .reference(let other)):
            one.recordName == other.recordName
                && (one.zoneID == nil || other.zoneID == nil
                    || one.zoneID?.name == other.zoneID?.name)
        case (.string(let name), .reference(let reference)),
            (.reference(let reference), .string(let name)):
            // Filters on system fields name records and users by reference or by name.
            reference.recordName == name
        case (.string(let one), .string(let other)): NormalisedText.isEqual(one, other)
        default:
            self == other || isBefore(other) == false && other.isBefore(self) == false
        }
    }

    /// Whether a value comes before another; nil when the two cannot be ordered.
    ///
    /// Text is ordered by its Unicode scalars, after normalisation, regardless of the language.
    package func isBefore(_ other: FieldValue) -> Bool? {
        switch (self, other) {
        case (.string(let one), .string(let other)): NormalisedText.isBefore(one, other)
        case (.int64(let one), .int64(let other)): one < other
        case (.double(let one), .double(let other)): one < other
        case (.int64(let one), .double(let other)): Double(one) < other
        case (.double(let one), .int64(let other)): one < Double(other)
        case (.timestamp(let one, _), .timestamp(let other, _)): one < other
        case (.bytes(let one), .bytes(let other)): one.lexicographicallyPrecedes(other)
        case (.reference(let one), .reference(let other)): one.recordName < other.recordName
        default: nil
        }
    }

    /// The members of a list; nil for a scalar.
    package var members: [FieldValue]? {
        switch self {
        case .stringList(let values): values.map { .string($0) }
        case .int64List(let values): values.map { .int64($0) }
        case .doubleList(let values): values.map { .double($0) }
        case .timestampList(let values, _): values.map { .timestamp(milliseconds: $0) }
        case .bytesList(let values): values.map { .bytes($0) }
        case .locationList(let values): values.map { .location($0) }
        case .referenceList(let values): values.map { .reference($0) }
        case .assetList(let values): values.map { .asset($0) }
        case .emptyList: []
        case .string, .int64, .double, .timestamp, .bytes, .location, .reference, .asset: nil
        }
    }
}

extension FieldType {
    /// Whether a query can sort by values of this type.
    package var isOrdered: Bool {
        switch self {
        case .string, .int64, .double, .timestamp, .bytes, .reference: true
        default: false
        }
    }
}
