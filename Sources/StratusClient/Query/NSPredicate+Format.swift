import Foundation

// Foundation on Linux has no predicate format strings, and a predicate there tells nothing of
// itself. So a predicate of ours is a block predicate that hands its expression to whoever
// evaluates it with a probe; every other object it judges by the expression.

extension NSPredicate {
    /// Makes a predicate of a format string, such as `"region == %@ AND lengthKm > %d"`.
    ///
    /// Grammar that cannot be read, or not answered by the service, is told when a query runs, as
    /// `CKError.invalidArguments`.
    ///
    /// - Precondition: the format is not cut off: strings and brackets end, conditions have two
    ///   sides, and there are as many arguments as places.
    public convenience init(format predicateFormat: String, _ arguments: Any?...) {
        self.init(PredicateParser.parse(predicateFormat, arguments))
    }

    public convenience init(format predicateFormat: String, argumentArray arguments: [Any]?) {
        self.init(PredicateParser.parse(predicateFormat, arguments ?? []))
    }

    convenience init(_ expression: PredicateExpression) {
        self.init(block: { object, _ in
            if let probe = object as? PredicateProbe {
                probe.expression = expression
                return true
            }
            return PredicateEvaluation(object: object).holds(expression)
        })
    }

    /// The predicate as it was written.
    var expression: PredicateExpression {
        if let compound = self as? NSCompoundPredicate { return compound.compoundExpression }
        let probe = PredicateProbe()
        let result = evaluate(with: probe)
        if let expression = probe.expression { return expression }
        // A predicate of a value says the same of everything, and describes itself so.
        switch ((self as any SelfDescribing).predicateFormat, result) {
        case ("TRUEPREDICATE", true): return .all
        case ("FALSEPREDICATE", false): return .none
        default:
            return .unreadable("Write the predicate as a format string: blocks cannot be sent.")
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
                return .unreadable("Give the NOT predicate something to negate.")
            }
            return .not(member)
        @unknown default: return .unreadable("Use AND or NOT to join predicates.")
        }
    }
}

/// Evaluated in place of an object, it receives the predicate's expression.
private final class PredicateProbe: NSObject {
    var expression: PredicateExpression?
}

/// What a predicate says of itself. Foundation on Linux deprecates the property, but tells
/// predicates of a value by nothing else.
private protocol SelfDescribing {
    var predicateFormat: String { get }
}

extension NSPredicate: SelfDescribing {}
