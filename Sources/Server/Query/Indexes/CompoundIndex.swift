import StratusMatching
import StratusRecords
import StratusStorage
import StratusWire

/// A compound index that serves a filter and the first sort key of a query together: for each of the filter's few
/// values, it has the records in the query's order.
struct CompoundIndex: Sendable {
    /// The most values of a filter that are read side by side.
    private static let maximumGroups = 16

    let definition: IndexRow.Definition
    /// The index of only the filter's field.
    let filtered: IndexRow.Definition
    /// The first bytes of the keys of each value.
    let groups: [[UInt8]]

    /// - Returns: Nil when the filter is not for a few values, or the order is not by values.
    init?(_ condition: RecordMatcher.Condition, _ key: RecordOrder.Key, of recordType: String) {
        guard let type = condition.type, condition.filter.field != .system(.share),
            condition.filter.field != .system(.recordName), key.field != .system(.recordName),
            let definition = IndexRow.Definition.compound(
                condition.filter.field, type, key, of: recordType),
            let values = Self.values(of: condition), !values.isEmpty,
            values.count <= Self.maximumGroups
        else { return nil }
        let isReference = (type.element ?? type) == .reference
        let groups = values.compactMap { value in
            if isReference, case .string(let name) = value {
                IndexKey.group(ofName: name)
            } else {
                IndexKey.group(of: value)
            }
        }
        guard groups.count == values.count else { return nil }
        self.definition = definition
        filtered = .value(condition.filter.field, type, of: recordType)
        self.groups = Set(groups).sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// About how many records must be read for a page of this length: of each value those before the page's end as far
    /// as it is known, and the first after it.
    func recordsRead(forPageOf limit: Int) -> Int {
        (1...groups.count).reduce(groups.count) { $0 + limit / $1 }
    }

    /// The values of which a matching record has one; for a list, one member that it must have.
    private static func values(of condition: RecordMatcher.Condition) -> [FieldValue]? {
        switch condition.comparator {
        case .equals, .listContains: [condition.filter.value]
        case .in: condition.filter.value.members
        default: nil
        }
    }
}
