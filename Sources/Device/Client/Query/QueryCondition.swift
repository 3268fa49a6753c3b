import Foundation
import StratusMatching
import StratusRecords
import StratusWire

/// What a query asks of a record, as a tree of the protocol's filters: whoever has the records at hand can
/// answer OR and negated compounds too.
package indirect enum QueryCondition: Sendable {
    /// Holds where all hold; with none, always.
    case all([QueryCondition])
    /// Holds where one holds; with none, never.
    case any([QueryCondition])
    case not(QueryCondition)
    case filter(QueryDictionary.Filter)
}

/// A predicate as it was written, to be read when a query runs.
package struct RecordPredicate: Sendable {
    private let expression: PredicateExpression

    package init(_ predicate: NSPredicate) {
        expression = predicate.expression
    }

    /// The predicate as conditions.
    ///
    /// - Parameter now: what `now()` stands for.
    /// - Throws: `CKError.invalidArguments` that names the part which no query has.
    package func condition(now: Date) throws -> QueryCondition {
        try QueryTranslation(now: now).condition(expression)
    }

    /// The predicate as text that tells it from every other, for keys of what is stored for a query.
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
    /// The opposite. Of a filter it is the one that the service has for it: NOT a < b is a >= b, which a
    /// record without a does not satisfy either.
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
    /// The sort descriptors as the protocol has them.
    ///
    /// - Throws: `CKError.invalidArguments` for one without a field's name.
    package func sorts(now: Date) throws -> [QueryDictionary.Sort] {
        let sorted = QueryDefinition(
            recordType: recordType, predicate: .all, sortKeys: definition.sortKeys)
        return try QueryTranslation(now: now).query(sorted)?.sortBy ?? []
    }
}

extension QueryDictionary.FieldName {
    /// A field by its name, in any of the spellings of the system's fields.
    ///
    /// - Throws: `CKError.invalidArguments` for what is no name.
    package init(key: String) throws {
        self = try QueryTranslation(now: .distantPast).field(key)
    }
}

extension FieldValue {
    /// The value that an app gives to a query; nil when no field can hold it.
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
    /// The text without the words that a search leaves out.
    package var withoutCommonWords: String { SearchWords.withoutCommonWords(self) }
}
