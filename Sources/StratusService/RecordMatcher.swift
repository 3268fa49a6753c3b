import StratusRecords
import StratusStorage
import StratusWire

/// A query's filters, checked against the schema: tells of a record whether it matches.
struct RecordMatcher: Sendable {
    private let recordType: String
    private let filters: [QueryDictionary.Filter]
    private let needsFields: Bool
    private let access: RecordAccess.OfType

    /// - Parameter access: What the caller may read: the rest does not match.
    /// - Parameter isLenient: Whether types and fields that the schema does not have are let pass, as
    ///   for a subscription that is made before the first record.
    /// - Throws: ``ServiceError`` that names the field or comparator which cannot be served.
    init(
        _ query: QueryDictionary, schema: ContainerSchema,
        access: RecordAccess.OfType = .unrestricted,
        isLenient: Bool = false
    ) throws {
        self.access = access
        recordType = query.recordType
        filters = try query.filterBy.map { filter in
            try Self.checked(filter, of: query.recordType, schema: schema, isLenient: isLenient)
        }
        needsFields = query.filterBy.contains { if case .user = $0.field { true } else { false } }
    }

    func matches(_ row: RecordRow) throws -> Bool {
        guard row.type == recordType, access.mayRead(row) else { return false }
        guard !filters.isEmpty else { return true }
        let values = try RecordValues(row, readingFields: needsFields)
        return filters.allSatisfy { Self.holds($0, for: values[$0.field]) }
    }

    // MARK: Checking filters

    private static func checked(
        _ filter: QueryDictionary.Filter, of recordType: String, schema: ContainerSchema,
        isLenient: Bool
    ) throws -> QueryDictionary.Filter {
        switch filter.comparator {
        case .near, .containsAllTokens, .containsAnyTokens:
            throw ServiceError.invalid(
                "The comparator \(filter.comparator.rawValue) is not served yet.")
        default: break
        }
        guard
            let type = try fieldType(
                filter.field, of: recordType, schema: schema, isLenient: isLenient)
        else { return filter }
        let expected = filter.comparator.valueTypes(forField: type)
        let value = expected.lazy.compactMap {
            filter.value.fitted(to: $0, isDeclared: filter.isTypeDeclared)
        }.first
        guard let value else {
            guard let first = expected.first else {
                throw ServiceError.invalid(
                    "The comparator \(filter.comparator.rawValue) does not fit the field's type.")
            }
            throw ServiceError.expected(first)
        }
        var filter = filter
        filter.value = value
        return filter
    }

    /// The type of a field; nil when it is unknown and that is let pass.
    static func fieldType(
        _ field: QueryDictionary.FieldName, of recordType: String, schema: ContainerSchema,
        isLenient: Bool
    ) throws -> FieldType? {
        switch field {
        case .system(let field): return field.type
        case .user(let name):
            guard let rule = schema.rule(for: name, of: recordType) else {
                if isLenient { return nil }
                throw ServiceError.invalid("Unknown field '\(name)'")
            }
            guard !rule.isEncrypted else {
                throw ServiceError.invalid("Field '\(name)' is encrypted and cannot be queried.")
            }
            return rule.type
        }
    }

    // MARK: Comparing

    private static func holds(_ filter: QueryDictionary.Filter, for value: FieldValue?) -> Bool {
        switch filter.comparator {
        case .equals: return value.map { $0.isEqual(to: filter.value) } ?? false
        case .lessThan: return value?.isBefore(filter.value) ?? false
        case .lessThanOrEquals: return filter.value.isNotBefore(value)
        case .greaterThan: return value.flatMap { filter.value.isBefore($0) } ?? false
        case .greaterThanOrEquals: return value?.isNotBefore(filter.value) ?? false
        case .in:
            return filter.value.members?.contains { value?.isEqual(to: $0) ?? false } ?? false
        case .listContains: return contains(value, filter.value)
        case .listContainsAny:
            return filter.value.members?.contains { contains(value, $0) } ?? false
        case .listContainsAll:
            return value != nil
                && filter.value.members?.allSatisfy { contains(value, $0) } ?? false
        case .beginsWith: return begins(value, with: filter.value)
        case .listMemberBeginsWith:
            return value?.members?.contains { begins($0, with: filter.value) } ?? false
        case .notEquals: return !holds(filter.with(.equals), for: value)
        case .notIn: return !holds(filter.with(.in), for: value)
        case .notListContains: return !holds(filter.with(.listContains), for: value)
        case .notListContainsAny: return !holds(filter.with(.listContainsAny), for: value)
        case .notListContainsAll: return !holds(filter.with(.listContainsAll), for: value)
        case .notBeginsWith: return !holds(filter.with(.beginsWith), for: value)
        case .notListMemberBeginsWith:
            return !holds(filter.with(.listMemberBeginsWith), for: value)
        case .near, .containsAllTokens, .containsAnyTokens:
            // Refused when the filter was checked.
            return false
        }
    }

    private static func contains(_ list: FieldValue?, _ member: FieldValue) -> Bool {
        list?.members?.contains { $0.isEqual(to: member) } ?? false
    }

    private static func begins(_ value: FieldValue?, with prefix: FieldValue) -> Bool {
        guard case .string(let text) = value, case .string(let prefix) = prefix else {
            return false
        }
        return text.utf8.starts(with: prefix.utf8)
    }
}

extension FieldValue {
    fileprivate func isNotBefore(_ other: FieldValue?) -> Bool {
        guard let other, let isBefore = isBefore(other) else { return false }
        return !isBefore
    }
}

extension QueryDictionary.Filter {
    fileprivate func with(_ comparator: QueryDictionary.Comparator) -> Self {
        var filter = self
        filter.comparator = comparator
        return filter
    }
}

extension QueryDictionary.Comparator {
    /// The types that a filter's value may have for a field's type; empty when the comparator does not
    /// fit the field at all.
    fileprivate func valueTypes(forField type: FieldType) -> [FieldType] {
        let element = type.element
        switch self {
        case .equals, .notEquals:
            return element == nil ? type.alsoNamed : []
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals:
            return type.isOrdered ? type.alsoNamed : []
        case .in, .notIn:
            return element == nil ? type.alsoNamed.compactMap(\.list) : []
        case .listContains, .notListContains:
            return element.map { $0.alsoNamed } ?? []
        case .listContainsAny, .notListContainsAny, .listContainsAll, .notListContainsAll:
            return element == nil ? [] : [type]
        case .beginsWith, .notBeginsWith:
            return type == .string ? [.string] : []
        case .listMemberBeginsWith, .notListMemberBeginsWith:
            return type == .stringList ? [.string] : []
        case .near, .containsAllTokens, .containsAnyTokens:
            return []
        }
    }
}

extension FieldType {
    /// The type itself, and for references plain names.
    fileprivate var alsoNamed: [FieldType] {
        self == .reference ? [.reference, .string] : [self]
    }

    fileprivate var list: FieldType? {
        FieldType.allCases.first { $0.element == self }
    }
}
