import Foundation

// A predicate as a format string.

extension PredicateExpression: CustomStringConvertible {
    var description: String {
        switch self {
        case .all: "TRUEPREDICATE"
        case .none: "FALSEPREDICATE"
        case .and(let members): members.map(\.bracketed).joined(separator: " AND ")
        case .or(let members): members.map(\.bracketed).joined(separator: " OR ")
        case .not(let member): "NOT " + member.bracketed
        case .comparison(let comparison): comparison.description
        case .unreadable(let sentence): "(unreadable: \(sentence))"
        }
    }

    /// The text, in brackets when it is a compound within another one.
    private var bracketed: String {
        switch self {
        case .and, .or: "(\(description))"
        default: description
        }
    }
}

extension PredicateComparison: CustomStringConvertible {
    var description: String {
        let quantifier = self.quantifier == .none ? "" : self.quantifier.rawValue + " "
        return "\(quantifier)\(left) \(operation.rawValue) \(right)"
    }
}

extension PredicateOperand: CustomStringConvertible {
    var description: String {
        switch self {
        case .key(let key): key
        case .value(let value): value?.shown ?? "nil"
        case .list(let members): "{" + members.map(\.description).joined(separator: ", ") + "}"
        case .record: "SELF"
        case .now: "now()"
        case .distance(let one, let other): "distanceToLocation:fromLocation:(\(one), \(other))"
        }
    }
}
