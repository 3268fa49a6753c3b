import StratusRecords
import StratusWire

/// Decides whether a record matches the filters of a query.
///
/// This defines the meaning of filters: for queries and subscriptions on the service, and on the device. Indexes only
/// say where to look; the records that they find are matched here again.
package struct RecordMatcher: Sendable {
    /// A filter with a value of the field's type, and everything that is computed once for it.
    package struct Condition: Sendable {
        package var filter: QueryDictionary.Filter
        /// The field's type; nil when it is unknown.
        package var type: FieldType?
        /// The words of a search.
        package var words: [[UInt8]]
        /// The fields in which the words are searched for.
        package var searchedFields: [(name: String, type: FieldType)]

        package var comparator: QueryDictionary.Comparator { filter.comparator }

        package init(
            filter: QueryDictionary.Filter, type: FieldType? = nil, words: [[UInt8]] = [],
            searchedFields: [(name: String, type: FieldType)] = []
        ) {
            self.filter = filter
            self.type = type
            self.words = words
            self.searchedFields = searchedFields
        }
    }

    package let recordType: String
    package let conditions: [Condition]
    /// The names of the record's own fields in the conditions.
    package let fieldNames: [String]

    package init(recordType: String, conditions: [Condition]) {
        self.recordType = recordType
        self.conditions = conditions
        var names: Set<String> = []
        for condition in conditions {
            names.formUnion(condition.searchedFields.map(\.name))
            if case .user(let name) = condition.filter.field { names.insert(name) }
        }
        fieldNames = names.sorted()
    }

    /// Whether a record matches.
    package func matches(_ values: RecordValues) -> Bool {
        var words: [String: Set<[UInt8]>] = [:]
        return matches(values, words: &words)
    }

    /// Whether a record matches.
    ///
    /// - Parameter words: The words of the record's texts by field. Each text is split once, for all matchers that get
    ///   the same words, and however many words are searched for.
    package func matches(_ values: RecordValues, words: inout [String: Set<[UInt8]>]) -> Bool {
        guard values.system.recordType == recordType else { return false }
        if isSearch {
            for field in conditions.flatMap(\.searchedFields) where words[field.name] == nil {
                words[field.name] = Set(values[.user(field.name)]?.searchTokens ?? [])
            }
        }
        return conditions.allSatisfy { $0.holds(for: values, words: words) }
    }

    private var isSearch: Bool { conditions.contains { !$0.searchedFields.isEmpty } }
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
        case .containsAllTokens, .containsAnyTokens: return false  // holdsWords
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
