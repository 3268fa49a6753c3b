import Foundation
import StratusMatching
import StratusRecords
import StratusWire

/// The conditions of a query as a tree of the protocol's filters. A local evaluation can also
/// answer OR and negated compounds, which the protocol does not have.
package indirect enum QueryCondition: Sendable {
    /// True if all conditions are true, or if there are none.
    case all([QueryCondition])
    /// True if any condition is true.
    case any([QueryCondition])
    case not(QueryCondition)
    case filter(QueryDictionary.Filter)
}

/// A parsed predicate, translated when a query runs.
package struct RecordPredicate: Sendable {
    private let expression: PredicateExpression

    package init(_ predicate: NSPredicate) {
        expression = predicate.expression
    }

    /// The predicate as conditions.
    ///
    /// - Parameter now: the value of `now()`.
    /// - Throws: `CKError.invalidArguments` that names the unsupported part.
    package func condition(now: Date) throws -> QueryCondition {
        try QueryTranslation(now: now).condition(expression)
    }

    /// A unique text of the predicate, for the keys of data that is stored for a query.
    package var archivedText: String {
        get throws {
            let tree = try JSONSerialization.data(withJSONObject: expression.archived)
            return String(decoding: tree, as: UTF8.self)
        }
    }
}

extension QueryTranslation {
    fileprivate func condition(_ expression: PredicateExpression) throws -> QueryCondition {
        switch expression {
        case .all: .all([])
        case .none: .any([])
        case .and(let members): .all(try members.map(condition))
        case .or(let members): .any(try members.map(condition))
        case .not(let member): try condition(member).negated
        case .comparison, .unreadable:
            .all(try (filters(expression) ?? []).map { .filter($0) })
        }
    }
}

extension QueryCondition {
    /// The negation. A filter becomes the opposite filter of the service: NOT a < b becomes a >= b,
    /// which a record without the field a does not satisfy either.
    package var negated: QueryCondition {
        switch self {
        case .all(let members): .any(members.map(\.negated))
        case .any(let members): .all(members.map(\.negated))
        case .not(let inner): inner
        case .filter(let filter):
            QueryTranslation.negations[filter.comparator].map { comparator in
                var opposite = filter
                opposite.comparator = comparator
                return .filter(opposite)
            } ?? .not(self)
        }
    }
}

extension CKQuery {
    /// The sort descriptors in the protocol's form.
    ///
    /// - Throws: `CKError.invalidArguments` for one without a field's name.
    package func sorts(now: Date) throws -> [QueryDictionary.Sort] {
        let sorted = QueryDefinition(
            recordType: recordType, predicate: .all, sortKeys: definition.sortKeys)
        return try QueryTranslation(now: now).query(sorted)?.sortBy ?? []
    }
}

extension QueryDictionary.FieldName {
    /// A field by its name; a system field may have any of its spellings.
    ///
    /// - Throws: `CKError.invalidArguments` when the text is not a valid name.
    package init(key: String) throws {
        self = try QueryTranslation(now: .distantPast).field(key)
    }
}

extension FieldValue {
    /// A value that an app compares with; nil when no field can hold it.
    package init?(compared value: Any) {
        var value: Any? = value
        switch value {
        case let record as CKRecord: value = CKReference(record: record, action: .none)
        case let id as CKRecordID: value = CKReference(recordID: id, action: .none)
        default: break
        }
        guard let stored = StoredValue(value)?.fieldValue else { return nil }
        self = stored.inMilliseconds
    }
}

extension String {
    /// The text without the words that a search ignores.
    package var withoutCommonWords: String { SearchWords.withoutCommonWords(self) }
}
