import StratusMatching
import StratusRecords
import StratusSchema
import StratusWire

/// Checks the filters and sort keys of a query against the schema: the fields exist and have the marks
/// that the query needs, and the values fit their types.
struct FilterChecking {
    let recordType: String
    let schema: ContainerSchema
    /// Whether types, fields and marks that the schema does not have are accepted.
    let isLenient: Bool

    func condition(_ filter: QueryDictionary.Filter) throws -> RecordMatcher.Condition {
        switch filter.comparator {
        case .containsAllTokens, .containsAnyTokens: return try search(filter)
        default: break
        }
        guard let rule = try rule(of: filter.field) else {
            if filter.comparator == .near { try checkCircle(filter) }
            return RecordMatcher.Condition(filter: filter)
        }
        guard !rule.isEncrypted else {
            throw ServiceError.invalid(
                "Field '\(filter.field.spelling)' has a value type of "
                    + "ENCRYPTED_\(rule.type.rawValue) and cannot be queried using filter type "
                    + filter.comparator.rawValue)
        }
        try expect(.queryable, of: filter.field)
        var filter = filter
        filter.value = try fitted(filter, to: rule.type)
        if filter.comparator == .near { try checkCircle(filter) }
        return RecordMatcher.Condition(filter: filter, type: rule.type)
    }

    private func fitted(
        _ filter: QueryDictionary.Filter, to type: FieldType
    ) throws -> FieldValue {
        let expected = filter.comparator.valueTypes(forField: type)
        let value = expected.lazy.compactMap {
            filter.value.fitted(to: $0, isDeclared: filter.isTypeDeclared)
        }.first
        if let value { return value }
        guard let first = expected.first else { throw ServiceError.misfit(filter, type) }
        throw ServiceError.expected(first)
    }

    private func checkCircle(_ filter: QueryDictionary.Filter) throws {
        guard case .location(let centre) = filter.value, centre.isOnEarth,
            let radius = filter.distanceMetres, radius >= 0
        else {
            throw ServiceError.invalid(
                "The filter on '\(filter.field.spelling)' with NEAR has no place on the earth or no"
                    + " distance in metres; give it both.")
        }
    }

    // MARK: Searches

    private func search(_ filter: QueryDictionary.Filter) throws -> RecordMatcher.Condition {
        guard case .string(let text) = filter.value else { throw ServiceError.expected(.string) }
        var condition = RecordMatcher.Condition(
            filter: filter, words: SearchTokens.tokens(of: text))
        for name in try searchedFields(filter) {
            guard let rule = try rule(of: .user(name)) else { continue }
            guard rule.type == .string || rule.type == .stringList else {
                throw ServiceError.misfit(filter, rule.type)
            }
            if !isLenient { try expect(.searchable, of: .user(name)) }
            condition.searchedFields.append((name, rule.type))
        }
        return condition
    }

    private func searchedFields(_ filter: QueryDictionary.Filter) throws -> [String] {
        guard filter.field == .anySearchable else {
            guard case .user(let name) = filter.field else {
                throw ServiceError.notMarked(.searchable, filter.field.spelling)
            }
            return [name]
        }
        let fields = schema.searchableFields(of: recordType)
        guard isLenient || !fields.isEmpty else {
            throw ServiceError.invalid("No field of the record type is marked searchable")
        }
        return fields
    }

    // MARK: Fields

    struct Rule {
        var type: FieldType
        var isEncrypted: Bool
    }

    /// The rule of a field; nil when the schema has none and that is accepted.
    func rule(of field: QueryDictionary.FieldName) throws -> Rule? {
        switch field {
        case .system(let field): return Rule(type: field.type, isEncrypted: false)
        case .user(let name):
            guard let rule = schema.rule(for: name, of: recordType) else {
                if isLenient { return nil }
                throw ServiceError.invalid("Unknown field '\(name)'")
            }
            return Rule(type: rule.type, isEncrypted: rule.isEncrypted)
        }
    }

    /// Refuses a field without a mark. Parent and share cannot have marks: filters may always name them,
    /// sort keys never.
    func expect(_ mark: FieldIndexes, of field: QueryDictionary.FieldName) throws {
        let name: String
        switch field {
        case .user(let field): name = field
        case .system(.parent) where mark == .queryable, .system(.share) where mark == .queryable:
            return
        case .system(let field): name = field.schemaName
        }
        let marks = schema.rule(for: name, of: recordType)?.indexes ?? []
        guard isLenient || marks.contains(mark) else {
            throw ServiceError.notMarked(mark, field.spelling)
        }
    }
}

extension RecordMatcher {
    /// The filters of a query, checked against a schema.
    ///
    /// - Parameter isLenient: Whether types, fields and marks that the schema does not have are accepted,
    ///   as for a subscription that is made before the first record.
    /// - Throws: ``ServiceError`` that names the field or comparator which cannot be served.
    package init(
        _ query: QueryDictionary, schema: ContainerSchema, isLenient: Bool = false
    ) throws {
        let checking = FilterChecking(
            recordType: query.recordType, schema: schema, isLenient: isLenient)
        if query.filterBy.isEmpty, !isLenient {
            try checking.expect(.queryable, of: .system(.recordName))
        }
        self.init(
            recordType: query.recordType,
            conditions: try query.filterBy.map(checking.condition))
    }
}

extension QueryDictionary.FieldName {
    /// The field as the protocol spells it.
    var spelling: String {
        switch self {
        case .user(let name): name
        case .system(let field): field.rawValue
        }
    }
}

extension ServiceError {
    /// A comparator that the type of a filter's field does not have.
    fileprivate static func misfit(
        _ filter: QueryDictionary.Filter, _ type: FieldType
    ) -> ServiceError {
        invalid(
            "The comparator \(filter.comparator.rawValue) does not fit the field"
                + " '\(filter.field.spelling)', which has the type \(type.rawValue).")
    }

    static func notMarked(_ mark: FieldIndexes, _ field: String) -> ServiceError {
        let word =
            mark == .queryable ? "queryable" : mark == .sortable ? "sortable" : "searchable"
        return invalid("Field '\(field)' is not marked \(word)")
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
        case .near:
            return type == .location || type == .locationList ? [.location] : []
        case .containsAllTokens, .containsAnyTokens:
            return [.string]
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
