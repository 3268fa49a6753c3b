import Foundation

// Foundation on Linux has no predicate format strings, and a predicate there tells nothing of
// itself. So what a format string makes is of a class of ours, which keeps its expression.

/// What a format string can be turned into. A protocol, because only a protocol's initializer may give
/// an object of a subclass.
public protocol PredicateWriting {}

extension NSPredicate: PredicateWriting {}

extension PredicateWriting where Self == NSPredicate {
    /// Makes a predicate of a format string, such as `"region == %@ AND lengthKm > %d"`.
    ///
    /// Grammar that cannot be read, or not answered by the service, is told when a query runs, as
    /// `CKError.invalidArguments`.
    ///
    /// - Precondition: the format is not cut off: strings and brackets end, conditions have two
    ///   sides, and there are as many arguments as places.
    public init(format predicateFormat: String, _ arguments: Any?...) {
        self = FormatPredicate(PredicateParser.parse(predicateFormat, arguments))
    }

    public init(format predicateFormat: String, argumentArray arguments: [Any]?) {
        self = FormatPredicate(PredicateParser.parse(predicateFormat, arguments ?? []))
    }
}

/// A predicate of a format string. Every object it judges by its expression.
final class FormatPredicate: NSPredicate {
    fileprivate let written: PredicateExpression

    init(_ expression: PredicateExpression) {
        written = expression
        super.init(block: { object, _ in PredicateEvaluation(object: object).holds(expression) })
    }

    /// Foundation on Linux archives no predicates; queries and subscriptions archive expressions.
    required init?(coder: NSCoder) { nil }

    override func copy(with zone: NSZone? = nil) -> Any { self }

    override var description: String { written.description }
}

extension NSPredicate {
    /// The predicate as it was written. Blocks are not run: they may expect a record.
    var expression: PredicateExpression {
        if let predicate = self as? FormatPredicate { return predicate.written }
        if let compound = self as? NSCompoundPredicate { return compound.compoundExpression }
        // A predicate of a value describes itself as such.
        switch (self as any SelfDescribing).predicateFormat {
        case "TRUEPREDICATE": return .all
        case "FALSEPREDICATE": return .none
        default:
            return .unreadable(
                "A predicate made of a block cannot be sent; write it as a format string.")
        }
    }
}

extension NSCompoundPredicate {
    fileprivate var compoundExpression: PredicateExpression {
        let members = subpredicates.map(\.expression)
        switch compoundPredicateType {
        case .and: return members.isEmpty ? .all : .and(members)
        case .or: return members.isEmpty ? .none : .or(members)
        case .not:
            guard let member = members.first else {
                return .unreadable("The NOT predicate negates nothing; give it a condition.")
            }
            return .not(member)
        @unknown default:
            return .unreadable(
                "Predicates are joined in an unknown way; use AND or NOT.")
        }
    }
}

/// What a predicate says of itself. Foundation on Linux deprecates the property, but tells
/// predicates of a value by nothing else.
private protocol SelfDescribing {
    var predicateFormat: String { get }
}

extension NSPredicate: SelfDescribing {}
