import Foundation
import StratusRecords
import StratusWire

// Predicates cannot be archived on Linux. Instead their expressions are archived as trees of
// arrays: the first element names the kind, the others are its parts. Decoding fails at an unknown
// kind.

extension PredicateExpression {
    var archived: [Any] {
        switch self {
        case .all: ["all"]
        case .none: ["none"]
        case .and(let members): ["and", members.map(\.archived)]
        case .or(let members): ["or", members.map(\.archived)]
        case .not(let member): ["not", member.archived]
        case .comparison(let comparison):
            [
                "comparison", comparison.left.archived, comparison.operation.rawValue,
                comparison.right.archived, comparison.quantifier.rawValue,
            ]
        case .unreadable(let sentence): ["unreadable", sentence]
        }
    }

    init?(archived: Any) {
        guard let parts = archived as? [Any], let kind = parts.first as? String else {
            return nil
        }
        switch (kind, parts.count) {
        case ("all", 1): self = .all
        case ("none", 1): self = .none
        case ("and", 2), ("or", 2):
            guard let list = parts[1] as? [Any] else { return nil }
            let members = list.compactMap { PredicateExpression(archived: $0) }
            guard members.count == list.count else { return nil }
            self = kind == "and" ? .and(members) : .or(members)
        case ("not", 2):
            guard let member = PredicateExpression(archived: parts[1]) else { return nil }
            self = .not(member)
        case ("comparison", 5):
            guard let left = PredicateOperand(archived: parts[1]),
                let word = parts[2] as? String,
                let operation = PredicateComparison.Operation(rawValue: word),
                let right = PredicateOperand(archived: parts[3]),
                let quantifier = (parts[4] as? String).flatMap(
                    PredicateComparison.Quantifier.init)
            else { return nil }
            self = .comparison(
                PredicateComparison(
                    left: left, operation: operation, right: right, quantifier: quantifier))
        case ("unreadable", 2):
            guard let sentence = parts[1] as? String else { return nil }
            self = .unreadable(sentence)
        default: return nil
        }
    }
}

extension PredicateOperand {
    fileprivate var archived: [Any] {
        switch self {
        case .key(let key): return ["key", key]
        case .value(let value):
            guard let value = value?.fieldValue else { return ["nil"] }
            let field = RecordFields.values([Field(name: "value", value: value)])
            return ["value", String(decoding: field.encoded(), as: UTF8.self)]
        case .list(let members): return ["list", members.map(\.archived)]
        case .record: return ["record"]
        case .now: return ["now"]
        case .distance(let first, let second):
            return ["distance", first.archived, second.archived]
        }
    }

    fileprivate init?(archived: Any) {
        guard let parts = archived as? [Any], let kind = parts.first as? String else {
            return nil
        }
        switch (kind, parts.count) {
        case ("key", 2):
            guard let key = parts[1] as? String else { return nil }
            self = .key(key)
        case ("value", 2):
            // A damaged archive decodes as nil, as everywhere in this module.
            guard let text = parts[1] as? String,
                let fields = try? RecordFields.encoded(Array(text.utf8)).values(),
                let value = fields.first?.value
            else { return nil }
            var reader = RecordReader.local
            self = .value(reader.stored(value, in: .default))
        case ("nil", 1): self = .value(nil)
        case ("list", 2):
            guard let list = parts[1] as? [Any] else { return nil }
            let members = list.compactMap { PredicateOperand(archived: $0) }
            guard members.count == list.count else { return nil }
            self = .list(members)
        case ("record", 1): self = .record
        case ("now", 1): self = .now
        case ("distance", 3):
            guard let first = PredicateOperand(archived: parts[1]),
                let second = PredicateOperand(archived: parts[2])
            else { return nil }
            self = .distance(first, second)
        default: return nil
        }
    }
}
