import Foundation
import StratusRecords
import StratusWire

/// Translates a query into the protocol's filters, or throws an error that names the part which has
/// none.
struct QueryTranslation {
    /// The value of `now()`.
    var now: Date

    /// - Returns: nil for a predicate that is never true.
    /// - Throws: `CKError.invalidArguments`.
    func query(_ query: QueryDefinition) throws -> QueryDictionary? {
        guard let filters = try filters(query.predicate) else { return nil }
        let sorts = try query.sortKeys.map { sort in
            guard let key = sort.key else {
                throw Self.invalid(
                    "A sort descriptor names no field; create it with the name of one.")
            }
            return QueryDictionary.Sort(
                try field(key), isAscending: sort.isAscending,
                relativeLocation: sort.relativeLocation.map { Location($0) })
        }
        return QueryDictionary(recordType: query.recordType, filterBy: filters, sortBy: sorts)
    }

    /// The filters of a predicate; nil when it is never true.
    func filters(_ expression: PredicateExpression) throws -> [QueryDictionary.Filter]? {
        switch expression {
        case .all: return []
        case .none: return nil
        case .and(let members):
            var filters: [QueryDictionary.Filter] = []
            for member in members {
                guard let some = try self.filters(member) else { return nil }
                filters += some
            }
            return filters
        case .or(let members) where members.count == 1: return try filters(members[0])
        case .or:
            throw Self.invalid(
                "CloudKit's predicates have no OR; run one query for each side.")
        case .not(.all): return nil
        case .not(.none): return []
        case .not(.not(let inner)): return try filters(inner)
        case .not(.and(let members)) where members.count == 1,
            .not(.or(let members)) where members.count == 1:
            return try filters(.not(members[0]))
        case .not(.comparison(let comparison)): return [try negated(comparison)]
        case .not(.unreadable(let sentence)), .unreadable(let sentence):
            throw Self.invalid(sentence)
        case .not:
            throw Self.invalid(
                "NOT is used before several conditions; negate each by itself.")
        case .comparison(let comparison): return try filters(comparison)
        }
    }

    private func negated(_ comparison: PredicateComparison) throws -> QueryDictionary.Filter {
        guard let filter = try filters(comparison).first, comparison.operation != .between,
            let comparator = Self.negations[filter.comparator]
        else {
            throw Self.invalid(
                "BETWEEN, token searches and distances cannot be negated; leave NOT out.")
        }
        var negated = filter
        negated.comparator = comparator
        return negated
    }

    static let negations: [QueryDictionary.Comparator: QueryDictionary.Comparator] = [
        .equals: .notEquals, .notEquals: .equals, .lessThan: .greaterThanOrEquals,
        .lessThanOrEquals: .greaterThan, .greaterThan: .lessThanOrEquals,
        .greaterThanOrEquals: .lessThan, .in: .notIn, .notIn: .in, .beginsWith: .notBeginsWith,
        .listContains: .notListContains, .listContainsAny: .notListContainsAny,
        .listContainsAll: .notListContainsAll, .listMemberBeginsWith: .notListMemberBeginsWith,
    ]

    private func filters(_ comparison: PredicateComparison) throws -> [QueryDictionary.Filter] {
        switch (comparison.left, comparison.right) {
        case (.record, let text):
            guard comparison.operation == .contains else {
                throw Self.invalid(
                    "SELF is used outside of a search for words; use it with CONTAINS and a"
                        + " word only.")
            }
            return [try search(.anySearchable, text)]
        case (.key("allTokens"), let text) where comparison.operation == .tokenMatches:
            return [try search(.anySearchable, text)]
        case (.key(let key), let text) where comparison.operation == .tokenMatches:
            return [try search(try field(key), text)]
        case (.distance(let one, let other), let radius):
            return [try near(one, other, comparison.operation, radius)]
        case (let radius, .distance(let one, let other)):
            return [
                try near(one, other, Self.mirrored(comparison.operation), radius)
            ]
        case (let value, .key(let key)):
            return try filters(value, comparison.operation, key, comparison.quantifier)
        case (.key(let key), let value):
            return try filters(key, comparison.operation, value, comparison.quantifier)
        default:
            throw Self.invalid("A condition has no field on its left; put the field's name there.")
        }
    }

    /// `value IN listField`, and comparisons written the other way around.
    private func filters(
        _ value: PredicateOperand, _ operation: PredicateComparison.Operation, _ key: String,
        _ quantifier: PredicateComparison.Quantifier
    ) throws -> [QueryDictionary.Filter] {
        if case .key(let name) = value {
            throw Self.invalid("“\(name)” is compared with another field; compare it with a value.")
        }
        guard quantifier == .none else {
            // `ANY {a, b} IN listField`
            guard operation == .in else {
                throw Self.invalid(
                    "A condition has no field on its left; put the field's name there.")
            }
            let values = try self.value(value, of: key)
            guard values.isList else {
                throw Self.invalid(
                    "ANY or ALL has no list of values; give it one.")
            }
            return [
                .init(
                    quantifier == .any ? .listContainsAny : .listContainsAll, try field(key),
                    values)
            ]
        }
        guard let mirrored = Self.mirrored(operation) else {
            throw Self.invalid("A condition has no field on its left; put the field's name there.")
        }
        return try filters(key, mirrored, value, .none)
    }

    /// The equivalent operation with exchanged sides.
    private static func mirrored(
        _ operation: PredicateComparison.Operation
    ) -> PredicateComparison.Operation? {
        switch operation {
        case .equals, .notEquals: operation
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        case .in: .contains
        default: nil
        }
    }

    private func filters(
        _ key: String, _ operation: PredicateComparison.Operation, _ operand: PredicateOperand,
        _ quantifier: PredicateComparison.Quantifier
    ) throws -> [QueryDictionary.Filter] {
        if quantifier == .all {
            throw Self.invalid(
                "ALL is used before the field “\(key)”, but CloudKit does not support it; use"
                    + " ANY.")
        }
        let field = try field(key)
        let value = try value(operand, of: key)
        let isAny = quantifier == .any
        if isAny, ![.equals, .beginsWith, .in, .contains].contains(operation) {
            throw Self.invalid(
                "ANY “\(key)” is used with an operator that it does not support; use ==, IN,"
                    + " CONTAINS or BEGINSWITH.")
        }
        if operation == .contains, value.isList {
            throw Self.invalid(
                "CONTAINS has a list of values; give it one, or write ALL {…} IN “\(key)”"
                    + " for several.")
        }
        let comparator: QueryDictionary.Comparator
        switch operation {
        case .equals: comparator = isAny ? .listContains : .equals
        case .notEquals: comparator = .notEquals
        case .less: comparator = .lessThan
        case .lessOrEqual: comparator = .lessThanOrEquals
        case .greater: comparator = .greaterThan
        case .greaterOrEqual: comparator = .greaterThanOrEquals
        case .beginsWith: comparator = isAny ? .listMemberBeginsWith : .beginsWith
        case .contains: comparator = .listContains
        case .in: comparator = isAny ? .listContainsAny : .in
        case .tokenMatches: comparator = .containsAllTokens
        case .between:
            guard let (low, high) = value.bounds else {
                throw Self.invalid(
                    "“\(key)” BETWEEN does not have two values of one kind; give it two.")
            }
            return [.init(.greaterThanOrEquals, field, low), .init(.lessThanOrEquals, field, high)]
        }
        if operation == .in, !value.isList {
            throw Self.invalid(
                "“\(key)” IN has no list of values; give it one.")
        }
        return [.init(comparator, field, value)]
    }

    /// A search for words; common words are ignored unless there are no others.
    private func search(
        _ field: QueryDictionary.FieldName, _ text: PredicateOperand
    ) throws -> QueryDictionary.Filter {
        guard case .string(let text) = try value(text) else {
            throw Self.invalid(
                "Words can only be searched for with a string; give a string.")
        }
        let words = SearchWords.withoutCommonWords(text)
        return .init(.containsAllTokens, field, .string(words))
    }

    private func near(
        _ one: PredicateOperand, _ other: PredicateOperand,
        _ operation: PredicateComparison.Operation?, _ radius: PredicateOperand
    ) throws -> QueryDictionary.Filter {
        let (key, place): (String, PredicateOperand)
        switch (one, other) {
        case (.key(let name), let operand), (let operand, .key(let name)):
            (key, place) = (name, operand)
        default: throw Self.invalid("The distance has no field or no CLLocation; give it both.")
        }
        let metres: Double
        switch try value(radius) {
        case .int64(let number): metres = Double(number)
        case .double(let number): metres = number
        default: throw Self.invalid("The distance in metres is not a number; give one.")
        }
        guard operation == .less || operation == .lessOrEqual,
            case .location = try value(place, of: key)
        else {
            throw Self.invalid(
                "A condition on a distance asks for something other than places nearer to a"
                    + " CLLocation; ask for those.")
        }
        return .init(.near, try field(key), try value(place, of: key), distanceMetres: metres)
    }

    /// - Parameter key: The field that is compared, if it is known.
    private func value(
        _ operand: PredicateOperand, of key: String? = nil
    ) throws -> FieldValue {
        let field = key.map { "The field “\($0)”" } ?? "A field"
        switch operand {
        case .value(let stored):
            guard let value = stored?.fieldValue else {
                throw Self.invalid(
                    "\(field) is compared with a value of an unknown kind; compare it with"
                        + " a string, number, date, reference or location, or a list of one.")
            }
            return value.inMilliseconds
        case .list(let members):
            let objects = try members.map { member -> Any in
                guard case .value(let stored) = member, let object = stored?.object else {
                    throw Self.invalid(
                        "A list of the predicate has something other than values; put only"
                            + " values into it.")
                }
                return object
            }
            return try value(.value(StoredValue(NSArray(array: objects))), of: key)
        case .now: return .timestamp(milliseconds: (now as NSDate).wholeMilliseconds)
        case .key(let name):
            throw Self.invalid(
                "The field “\(name)” is used where a value belongs; compare with a value.")
        case .record, .distance:
            throw Self.invalid(
                "\(field) is compared with SELF or a distance; compare it with a value.")
        }
    }

    /// A field by its name; a system field may have any of its spellings.
    func field(_ key: String) throws -> QueryDictionary.FieldName {
        switch key {
        case CKRecord.SystemFieldKey.recordID, "recordID", "recordName": .system(.recordName)
        case CKRecord.SystemFieldKey.creationDate, "creationDate": .system(.createdTimestamp)
        case CKRecord.SystemFieldKey.modificationDate, "modificationDate":
            .system(.modifiedTimestamp)
        case CKRecord.SystemFieldKey.creatorUserRecordID, "creatorUserRecordID":
            .system(.createdUserRecordName)
        case CKRecord.SystemFieldKey.lastModifiedUserRecordID, "lastModifiedUserRecordID":
            .system(.modifiedUserRecordName)
        case CKRecord.SystemFieldKey.parent: .system(.parent)
        case CKRecord.SystemFieldKey.share: .system(.share)
        default:
            if Names.isIdentifier(key) {
                .user(key)
            } else {
                throw Self.invalid(
                    "The field's name “\(key)” has other characters than letters,"
                        + " digits and underscores; leave them out.")
            }
        }
    }

    static func invalid(_ sentence: String) -> CKError {
        CKError(.invalidArguments, sentence)
    }
}

extension FieldValue {
    fileprivate var isList: Bool { self == .emptyList || type?.isList == true }

    /// The two elements of a list of two.
    fileprivate var bounds: (FieldValue, FieldValue)? {
        switch self {
        case .stringList(let list) where list.count == 2: (.string(list[0]), .string(list[1]))
        case .int64List(let list) where list.count == 2: (.int64(list[0]), .int64(list[1]))
        case .doubleList(let list) where list.count == 2: (.double(list[0]), .double(list[1]))
        case .timestampList(let list, _) where list.count == 2:
            (.timestamp(milliseconds: list[0]), .timestamp(milliseconds: list[1]))
        default: nil
        }
    }
}
