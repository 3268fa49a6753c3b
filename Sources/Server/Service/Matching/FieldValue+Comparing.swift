import StratusRecords

extension FieldValue {
    /// Whether two values are equal to a query. References are equal when they name the same record.
    func isEqual(to other: FieldValue) -> Bool {
        switch (self, other) {
        case (.reference(let one), .reference(let other)):
            one.recordName == other.recordName
                && (one.zoneID == nil || other.zoneID == nil
                    || one.zoneID?.name == other.zoneID?.name)
        case (.string(let name), .reference(let reference)),
            (.reference(let reference), .string(let name)):
            // Filters on system fields name records and users either way.
            reference.recordName == name
        case (.string(let one), .string(let other)): NormalisedText.isEqual(one, other)
        default:
            self == other || isBefore(other) == false && other.isBefore(self) == false
        }
    }

    /// Whether a value comes before another; nil when the two have no order.
    ///
    /// Text is ordered by its Unicode scalars, after normalisation, whatever the language.
    func isBefore(_ other: FieldValue) -> Bool? {
        switch (self, other) {
        case (.string(let one), .string(let other)): NormalisedText.isBefore(one, other)
        case (.int64(let one), .int64(let other)): one < other
        case (.double(let one), .double(let other)): one < other
        case (.int64(let one), .double(let other)): Double(one) < other
        case (.double(let one), .int64(let other)): one < Double(other)
        case (.timestamp(let one), .timestamp(let other)): one < other
        case (.bytes(let one), .bytes(let other)): one.lexicographicallyPrecedes(other)
        case (.reference(let one), .reference(let other)): one.recordName < other.recordName
        default: nil
        }
    }
}

extension FieldType {
    /// Whether a query can put the values of this type in order.
    var isOrdered: Bool {
        switch self {
        case .string, .int64, .double, .timestamp, .bytes, .reference: true
        default: false
        }
    }
}
