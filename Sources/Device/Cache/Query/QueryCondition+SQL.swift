import Foundation
import GRDB
import StratusClient
import StratusMatching
import StratusRecords
import StratusWire

/// A condition on columns that is true for every record that matches the query; the remaining
/// records are checked one by one.
struct ColumnFilter: Sendable {
    var sql: String
    var arguments: [DatabaseValue] = []

    static let none = ColumnFilter(sql: "0")
}

extension QueryCondition {
    /// The filter by the columns of a type; nil if they cannot exclude any record.
    ///
    /// The table of the columns is called `i`, that of the records `r`.
    func columnFilter(_ type: IndexedType?) -> ColumnFilter? {
        switch self {
        case .all(let members):
            let known = members.compactMap { $0.columnFilter(type) }
            return known.isEmpty ? nil : Self.joined(known, " AND ")
        case .any(let members):
            let known = members.map { $0.columnFilter(type) }
            guard !known.contains(where: { $0 == nil }) else { return nil }
            return known.isEmpty ? ColumnFilter.none : Self.joined(known.compactMap(\.self), " OR ")
        case .not: return nil
        case .filter(let filter): return filter.columnFilter(type)
        }
    }

    private static func joined(_ filters: [ColumnFilter], _ word: String) -> ColumnFilter {
        ColumnFilter(
            sql: "(" + filters.map(\.sql).joined(separator: word) + ")",
            arguments: filters.flatMap(\.arguments))
    }
}

extension QueryDictionary.Filter {
    fileprivate func columnFilter(_ type: IndexedType?) -> ColumnFilter? {
        if field == .system(.recordName) { return nameFilter }
        guard let type else { return nil }
        if isSearch { return wordFilter(type) }
        guard let index = type.column(of: field) else { return nil }
        let (column, kinds) = ("i.k\(index)", type.columns[index].kinds)
        switch comparator {
        case .equals:
            return KeySpan.equal(to: value, kinds).map { $0.filter(column) }
        case .in:
            let spans = (value.members ?? []).map { KeySpan.equal(to: $0, kinds) }
            guard !spans.contains(where: { $0 == nil }) else { return nil }
            return Self.any(spans.compactMap(\.self), column)
        case .lessThan, .lessThanOrEquals:
            return KeySpan.upTo(value, kinds).map { $0.filter(column) }
        case .greaterThan, .greaterThanOrEquals:
            return KeySpan.from(value, kinds).map { $0.filter(column) }
        case .beginsWith:
            guard case .string(let prefix) = value else { return nil }
            let low = IndexKey.counted(NormalisedText.utf8(prefix))
            return KeySpan(low: low, high: low + IndexKey.last).filter(column)
        default: return nil
        }
    }

    private static func any(_ spans: [KeySpan], _ column: String) -> ColumnFilter {
        if spans.isEmpty { return .none }
        if spans.allSatisfy({ $0.low == $0.high }) {
            return ColumnFilter(
                sql: "\(column) IN (" + spans.map { _ in "?" }.joined(separator: ", ") + ")",
                arguments: spans.map { Data($0.low).databaseValue })
        }
        let filters = spans.map { $0.filter(column) }
        return ColumnFilter(
            sql: "(" + filters.map(\.sql).joined(separator: " OR ") + ")",
            arguments: filters.flatMap(\.arguments))
    }

    private var nameFilter: ColumnFilter? {
        var names: [String] = []
        let wanted = comparator == .equals ? [value] : comparator == .in ? value.members : nil
        for name in wanted ?? [] {
            switch name {
            case .reference(let reference): names.append(reference.recordName)
            case .string(let text): names.append(text)
            default: return nil
            }
        }
        guard wanted != nil else { return nil }
        if names.isEmpty { return ColumnFilter.none }
        return ColumnFilter(
            sql: "r.name IN (" + names.map { _ in "?" }.joined(separator: ", ") + ")",
            arguments: names.map(\.databaseValue))
    }

    private func wordFilter(_ type: IndexedType) -> ColumnFilter? {
        let words = self.words
        guard !type.searchable.isEmpty, !words.isEmpty else { return nil }
        if case .user(let name) = field, field != .anySearchable, !type.searchable.contains(name) {
            return nil
        }
        let word = "i.record IN (SELECT record FROM \(type.wordTable) WHERE word = ?)"
        return ColumnFilter(
            sql: "("
                + words.map { _ in word }.joined(
                    separator: comparator == .containsAllTokens ? " AND " : " OR ") + ")",
            arguments: words.map { Data($0).databaseValue })
    }
}

/// An inclusive range of keys.
private struct KeySpan {
    var low: [UInt8]
    var high: [UInt8]

    /// How much a floating-point number may differ from an integer that it equals.
    private static let rounding = 2_048.0

    func filter(_ column: String) -> ColumnFilter {
        low == high
            ? ColumnFilter(sql: "\(column) = ?", arguments: [Data(low).databaseValue])
            : ColumnFilter(
                sql: "\(column) BETWEEN ? AND ?",
                arguments: [Data(low).databaseValue, Data(high).databaseValue])
    }

    /// Nil if the column has values of several kinds that could be equal.
    static func equal(to value: FieldValue, _ kinds: KeyKinds) -> KeySpan? {
        switch value {
        case .int64, .double:
            guard let low = lowest(notBefore: value, kinds), let high = highest(value, kinds) else {
                return nil
            }
            return KeySpan(low: low, high: high)
        case .timestamp, .bytes: return IndexKey.bytes(of: value).map { KeySpan(low: $0, high: $0) }
        case .string(let text):
            guard !kinds.contains(.reference) else { return nil }
            let key = IndexKey.counted(NormalisedText.utf8(text))
            return KeySpan(low: key, high: key)
        case .reference(let reference):
            guard !kinds.contains(.string) else { return nil }
            let key = IndexKey.bytes(ofName: reference.recordName)
            return KeySpan(low: key, high: key + IndexKey.last)
        default: return nil
        }
    }

    static func upTo(_ value: FieldValue, _ kinds: KeyKinds) -> KeySpan? {
        highest(value, kinds).map { KeySpan(low: IndexKey.first, high: $0) }
    }

    static func from(_ value: FieldValue, _ kinds: KeyKinds) -> KeySpan? {
        lowest(notBefore: value, kinds).map { KeySpan(low: $0, high: IndexKey.last) }
    }

    /// The lowest key of a value that is not less than this one.
    private static func lowest(notBefore value: FieldValue, _ kinds: KeyKinds) -> [UInt8]? {
        switch value {
        case .int64, .double:
            switch numbers(kinds) {
            case .int64: return key(value, ofInt64: { $0.rounded(.down) - rounding })
            case .double: return key(ofDouble: value)
            default: return nil
            }
        case .timestamp, .string, .bytes: return IndexKey.bytes(of: value)
        default: return nil
        }
    }

    private static func highest(_ value: FieldValue, _ kinds: KeyKinds) -> [UInt8]? {
        switch value {
        case .int64, .double:
            switch numbers(kinds) {
            case .int64: return key(value, ofInt64: { $0.rounded(.up) + rounding })
            case .double: return key(ofDouble: value)
            default: return nil
            }
        case .timestamp, .string, .bytes: return IndexKey.bytes(of: value)
        default: return nil
        }
    }

    /// The only kind of numbers in a column; nil if there are two, or if numbers cannot be
    /// compared.
    private static func numbers(_ kinds: KeyKinds) -> KeyKinds? {
        let numbers = kinds.intersection([.int64, .double, .notANumber])
        return numbers == .int64 || numbers == .double ? numbers : nil
    }

    private static func key(
        _ value: FieldValue, ofInt64 widened: (Double) -> Double
    ) -> [UInt8]? {
        switch value {
        case .int64: return IndexKey.bytes(of: value)
        case .double(let number):
            guard !number.isNaN else { return nil }
            let wide = widened(number)
            let whole = wide >= 0x1p63 ? Int64.max : wide < -0x1p63 ? .min : Int64(wide)
            return IndexKey.bytes(of: .int64(whole))
        default: return nil
        }
    }

    private static func key(ofDouble value: FieldValue) -> [UInt8]? {
        switch value {
        case .int64(let number): IndexKey.bytes(of: Double(number))
        case .double(let number): number.isNaN ? nil : IndexKey.bytes(of: number)
        default: nil
        }
    }
}
