import Foundation

/// A parsed predicate, before it is translated for the service.
indirect enum PredicateExpression: Sendable {
    case all
    case none
    case and([PredicateExpression])
    case or([PredicateExpression])
    case not(PredicateExpression)
    case comparison(PredicateComparison)
    /// A predicate that could not be parsed, with a sentence that names the part; the query fails
    /// with it.
    case unreadable(String)
}

/// One condition.
struct PredicateComparison: Sendable {
    enum Operation: String, Sendable, CaseIterable {
        case equals = "=="
        case notEquals = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
        case beginsWith = "BEGINSWITH"
        case contains = "CONTAINS"
        case `in` = "IN"
        case between = "BETWEEN"
        case tokenMatches = "TOKENMATCHES"
    }

    var left: PredicateOperand
    var operation: Operation
    var right: PredicateOperand
    var quantifier = Quantifier.none

    /// The quantifier of a list on the left.
    enum Quantifier: String, Sendable {
        /// The list is compared as a whole.
        case none = ""
        /// `ANY` or `SOME`: one member is enough.
        case any = "ANY"
        /// `ALL`: every member.
        case all = "ALL"
    }
}

/// One side of a condition.
indirect enum PredicateOperand: Sendable {
    case key(String)
    /// A value; nil stands for `nil`.
    case value(StoredValue?)
    /// `{a, b}`.
    case list([PredicateOperand])
    /// `SELF`, the record itself.
    case record
    /// `now()`.
    case now
    /// `distanceToLocation:fromLocation:(a, b)`.
    case distance(PredicateOperand, PredicateOperand)

    /// An argument of a format string; a record or record ID becomes a reference.
    init(argument: Any?) {
        self = .value(StoredValue(Self.identified(argument)))
    }

    /// Whether the operand is `SELF`.
    var isRecord: Bool {
        if case .record = self { true } else { false }
    }

    private static func identified(_ argument: Any?) -> Any? {
        switch argument {
        case let record as CKRecord: CKReference(record: record, action: .none)
        case let recordID as CKRecordID: CKReference(recordID: recordID, action: .none)
        case let set as Set<AnyHashable>: set.map { identified($0.base) ?? NSNull() } as [Any]
        case let array as [Any]: array.map { identified($0) ?? NSNull() } as [Any]
        default: argument
        }
    }
}
