import Foundation
import StratusClient
import StratusRecords
import StratusWire

/// A field of a record type with the type of its values, for queries that the compiler checks.
///
/// ```swift
/// enum Note {
///     static let isDone = RecordField<Bool>("isDone")
///     static let title = RecordField<String>("title")
///     static let date = RecordField<Date>("date")
/// }
///
/// let open = CacheQuery("Note")
///     .where(Note.isDone == false && Note.title.begins(with: "M"))
///     .sorted(by: Note.date, ascending: false)
/// ```
public struct RecordField<Value: CKRecordValueProtocol>: Hashable, Sendable {
    /// The name of the field in records, or that of a system field such as `creationDate`.
    public let key: CKRecord.FieldKey

    /// Makes a field; nothing checks that records hold values of this type in it.
    public init(_ key: CKRecord.FieldKey) { self.key = key }

    fileprivate func compare(
        _ comparator: QueryDictionary.Comparator, _ value: Any
    ) -> CacheCondition {
        CacheCondition(comparator, key, FieldValue(compared: value))
    }

    /// Whether the field has one of these values.
    public func isOne(of values: [Value]) -> CacheCondition {
        values.isEmpty ? .never : compare(.in, values)
    }
}

/// A condition of a query: made of ``RecordField``s with `==`, `<`, `&&`, `||` and `!`, or from an
/// `NSPredicate`.
public struct CacheCondition: Sendable {
    indirect enum Part {
        case predicate(RecordPredicate)
        /// A comparison; the value is nil if no field can hold it.
        case filter(QueryDictionary.Comparator, CKRecord.FieldKey, FieldValue?)
        case all([CacheCondition])
        case any([CacheCondition])
        case not(CacheCondition)
    }

    let part: Part

    init(_ part: Part) { self.part = part }

    init(
        _ comparator: QueryDictionary.Comparator, _ key: CKRecord.FieldKey, _ value: FieldValue?
    ) {
        part = .filter(comparator, key, value)
    }

    /// Makes a condition from a predicate, in the grammar of the service's queries with OR and
    /// negated compounds.
    public init(_ predicate: NSPredicate) {
        part = .predicate(RecordPredicate(predicate))
    }

    static let never = CacheCondition(.any([]))

    /// - Throws: `CKError.invalidArguments` that names the unsupported part.
    func resolved(now: Date) throws -> QueryCondition {
        switch part {
        case .predicate(let predicate): return try predicate.condition(now: now)
        case .filter(let comparator, let key, let value):
            guard let value else {
                throw CKError(
                    .invalidArguments,
                    "“\(key)” is compared with a value that no field can hold; compare"
                        + " with one that a field can.")
            }
            return .filter(QueryDictionary.Filter(comparator, try .init(key: key), value))
        case .all(let members): return .all(try members.map { try $0.resolved(now: now) })
        case .any(let members): return .any(try members.map { try $0.resolved(now: now) })
        case .not(let member): return try member.resolved(now: now).negated
        }
    }

    /// A condition that is true if both conditions are true.
    public static func && (one: CacheCondition, other: CacheCondition) -> CacheCondition {
        CacheCondition(.all([one, other]))
    }

    /// A condition that is true if at least one of the conditions is true.
    public static func || (one: CacheCondition, other: CacheCondition) -> CacheCondition {
        CacheCondition(.any([one, other]))
    }

    /// The negation, as `NOT` in a predicate: `!(field < 3)` is `field >= 3`.
    public static prefix func ! (condition: CacheCondition) -> CacheCondition {
        CacheCondition(.not(condition))
    }
}

extension RecordField {
    /// Whether the field has this value; a record without the field does not match.
    public static func == (field: RecordField, value: Value) -> CacheCondition {
        field.compare(.equals, value)
    }

    /// Also matches records without the field.
    public static func != (field: RecordField, value: Value) -> CacheCondition {
        field.compare(.notEquals, value)
    }

    /// Whether the field's value is less than this one; a record without the field does not match.
    public static func < (field: RecordField, value: Value) -> CacheCondition {
        field.compare(.lessThan, value)
    }

    /// Whether the field's value is at most this one; a record without the field does not match.
    public static func <= (field: RecordField, value: Value) -> CacheCondition {
        field.compare(.lessThanOrEquals, value)
    }

    /// Whether the field's value is greater than this one; a record without the field does not match.
    public static func > (field: RecordField, value: Value) -> CacheCondition {
        field.compare(.greaterThan, value)
    }

    /// Whether the field's value is at least this one; a record without the field does not match.
    public static func >= (field: RecordField, value: Value) -> CacheCondition {
        field.compare(.greaterThanOrEquals, value)
    }
}

extension RecordField where Value == String {
    /// Whether the text begins with exactly this prefix.
    public func begins(with prefix: String) -> CacheCondition { compare(.beginsWith, prefix) }

    /// Whether the text has all of these words, ignoring case and accents.
    public func hasWords(of text: String) -> CacheCondition {
        CacheCondition(.containsAllTokens, key, .string(text.withoutCommonWords))
    }
}

extension RecordField {
    /// Whether the list has this member.
    public func contains<Element>(_ member: Element) -> CacheCondition where Value == [Element] {
        compare(.listContains, member)
    }
}
