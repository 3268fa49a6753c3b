import StratusRecords
import StratusStorage
import StratusWire

/// A query's filters, checked against the schema: tells of a record whether it matches.
///
/// This is what a filter means, for queries and for subscriptions. The indexes only say where to look;
/// what they find is matched here again.
struct RecordMatcher: Sendable {
    /// A filter with a value of the field's type, and what else is worked out once.
    struct Condition: Sendable {
        var filter: QueryDictionary.Filter
        /// The field's type; nil when the schema does not know it and that was let pass.
        var type: FieldType?
        /// The words of a search, and the fields in which they are looked for.
        var words: [[UInt8]] = []
        var searchedFields: [(name: String, type: FieldType)] = []

        var comparator: QueryDictionary.Comparator { filter.comparator }
    }

    let recordType: String
    let conditions: [Condition]
    private let needsFields: Bool
    private let access: RecordAccess.OfType

    /// - Parameter access: What the caller may read: the rest does not match.
    /// - Parameter isLenient: Whether types, fields and marks that the schema does not have are let pass,
    ///   as for a subscription that is made before the first record.
    /// - Throws: ``ServiceError`` that names the field or comparator which cannot be served.
    init(
        _ query: QueryDictionary, schema: ContainerSchema,
        access: RecordAccess.OfType = .unrestricted,
        isLenient: Bool = false
    ) throws {
        let checking = FilterChecking(
            recordType: query.recordType, schema: schema, isLenient: isLenient)
        if query.filterBy.isEmpty, !isLenient {
            try checking.expect(.queryable, of: .system(.recordName))
        }
        self.access = access
        recordType = query.recordType
        conditions = try query.filterBy.map(checking.condition)
        needsFields = query.filterBy.contains { if case .user = $0.field { true } else { false } }
    }

    func matches(_ row: RecordRow) throws -> Bool {
        matches(row, try RecordValues(row, readingFields: needsFields))
    }

    /// Whether a record matches whose values are at hand.
    func matches(_ row: RecordRow, _ values: RecordValues) -> Bool {
        row.type == recordType && access.mayRead(row) && matches(values)
    }

    private func matches(_ values: RecordValues) -> Bool {
        guard isSearch else { return conditions.allSatisfy { $0.holds(for: values, words: [:]) } }
        // Each text is taken apart once, however many words are looked for.
        var words: [String: Set<[UInt8]>] = [:]
        for name in Set(conditions.flatMap(\.searchedFields).map(\.name)) {
            words[name] = Set(values[.user(name)]?.words ?? [])
        }
        return conditions.allSatisfy { $0.holds(for: values, words: words) }
    }

    private var isSearch: Bool { conditions.contains { !$0.searchedFields.isEmpty } }

    /// How much dearer a record's bytes are to compare than to read: long lists of values in filters
    /// count against what a query may look at.
    var weight: Int {
        let values = conditions.reduce(0) { sum, condition in
            sum + max(condition.filter.value.members?.count ?? 1, condition.words.count)
        }
        return 1 + values / 16
    }

    /// Whether the values of the record's own fields are looked at.
    var readsFields: Bool { needsFields }
}

extension RecordMatcher.Condition {
    fileprivate func holds(
        for values: RecordValues, words found: [String: Set<[UInt8]>]
    ) -> Bool {
        switch comparator {
        case .containsAllTokens, .containsAnyTokens: return holdsWords(found)
        default: return holds(comparator, for: values[filter.field])
        }
    }

    private func holdsWords(_ found: [String: Set<[UInt8]>]) -> Bool {
        func isThere(_ word: [UInt8]) -> Bool {
            searchedFields.contains { found[$0.name]?.contains(word) ?? false }
        }
        if comparator == .containsAnyTokens { return words.contains(where: isThere) }
        return !words.isEmpty && words.allSatisfy(isThere)
    }

    private func holds(_ comparator: QueryDictionary.Comparator, for value: FieldValue?) -> Bool {
        let wanted = filter.value
        switch comparator {
        case .equals: return value.map { $0.isEqual(to: wanted) } ?? false
        case .lessThan: return value?.isBefore(wanted) ?? false
        case .lessThanOrEquals: return wanted.isNotBefore(value)
        case .greaterThan: return value.flatMap { wanted.isBefore($0) } ?? false
        case .greaterThanOrEquals: return value?.isNotBefore(wanted) ?? false
        case .in:
            return wanted.members?.contains { value?.isEqual(to: $0) ?? false } ?? false
        case .listContains: return Self.contains(value, wanted)
        case .listContainsAny:
            return wanted.members?.contains { Self.contains(value, $0) } ?? false
        case .listContainsAll:
            return value != nil
                && wanted.members?.allSatisfy { Self.contains(value, $0) } ?? false
        case .beginsWith: return Self.begins(value, with: wanted)
        case .listMemberBeginsWith:
            return value?.members?.contains { Self.begins($0, with: wanted) } ?? false
        case .near: return isNear(value)
        case .notEquals: return !holds(.equals, for: value)
        case .notIn: return !holds(.in, for: value)
        case .notListContains: return !holds(.listContains, for: value)
        case .notListContainsAny: return !holds(.listContainsAny, for: value)
        case .notListContainsAll: return !holds(.listContainsAll, for: value)
        case .notBeginsWith: return !holds(.beginsWith, for: value)
        case .notListMemberBeginsWith: return !holds(.listMemberBeginsWith, for: value)
        case .containsAllTokens, .containsAnyTokens: return false  // answered above
        }
    }

    private func isNear(_ value: FieldValue?) -> Bool {
        guard case .location(let centre) = filter.value, let radius = filter.distanceMetres,
            let value
        else { return false }
        return (value.members ?? [value]).contains { value in
            guard case .location(let place) = value, place.isOnEarth else { return false }
            return centre.distance(to: place) <= radius
        }
    }

    private static func contains(_ list: FieldValue?, _ member: FieldValue) -> Bool {
        list?.members?.contains { $0.isEqual(to: member) } ?? false
    }

    private static func begins(_ value: FieldValue?, with prefix: FieldValue) -> Bool {
        guard case .string(let text) = value, case .string(let prefix) = prefix else {
            return false
        }
        return NormalisedText.begins(text, with: prefix)
    }
}

extension FieldValue {
    fileprivate func isNotBefore(_ other: FieldValue?) -> Bool {
        guard let other, let isBefore = isBefore(other) else { return false }
        return !isBefore
    }
}
