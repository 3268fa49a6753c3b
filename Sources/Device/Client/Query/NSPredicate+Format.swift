import Foundation
import StratusRuntime

// Foundation on Linux has no predicate format strings, and its predicates cannot be inspected. So a
// format string makes a predicate of a class in this module that stores its expression.

/// Classes that can be made from a format string. A protocol, because only the initializer of a
/// protocol extension can return an instance of a subclass.
public protocol PredicateWriting {}

extension NSPredicate: PredicateWriting {}

extension PredicateWriting where Self == NSPredicate {
    /// Makes a predicate from a format string, such as `"region == %@ AND lengthKm > %d"`.
    ///
    /// A format that cannot be parsed, or that the service cannot answer, fails when a query runs,
    /// with `CKError.invalidArguments`.
    ///
    /// - Precondition: the format is complete: strings and brackets are closed, conditions have two
    ///   sides, and there are as many arguments as placeholders.
    public init(format predicateFormat: String, _ arguments: Any?...) {
        self = FormatPredicate(PredicateParser.parse(predicateFormat, arguments))
    }

    /// Makes a predicate from a format string and an array of its arguments; nil means that there
    /// are none.
    ///
    /// - Precondition: as for ``init(format:_:)``.
    public init(format predicateFormat: String, argumentArray arguments: [Any]?) {
        self = FormatPredicate(PredicateParser.parse(predicateFormat, arguments ?? []))
    }
}

/// A predicate made from a format string, which it evaluates itself.
final class FormatPredicate: NSPredicate {
    fileprivate let written: PredicateExpression

    init(_ expression: PredicateExpression) {
        written = expression
        // Foundation evaluates a predicate with an object alone.
        super.init(block: { object, _ in
            PredicateEvaluation(object: object, now: World.live.now).holds(expression)
        })
    }

    /// Foundation on Linux cannot archive predicates; queries and subscriptions archive
    /// expressions.
    required init?(coder: NSCoder) { nil }

    override func copy(with zone: NSZone? = nil) -> Any { self }

    override var description: String { written.description }
}

extension NSPredicate {
    /// The predicate's expression. Block predicates are not run, because they may expect a record.
    var expression: PredicateExpression {
        if let predicate = self as? FormatPredicate { return predicate.written }
        if let compound = self as? NSCompoundPredicate { return compound.compoundExpression }
        // A predicate of a truth value can be recognized only by its format.
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

/// The format of a predicate. Foundation on Linux deprecates the property, but nothing else
/// identifies predicates of a truth value.
private protocol SelfDescribing {
    var predicateFormat: String { get }
}

extension NSPredicate: SelfDescribing {}
