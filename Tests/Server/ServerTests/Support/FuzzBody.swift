import Foundation
import StratusTesting

/// JSON that need not be valid: it keeps the spelling of numbers and repeated keys.
indirect enum FuzzBody: Sendable {
    /// Written unchanged: a literal, a number, a broken escape.
    case raw(String)
    case text(String)
    case list([FuzzBody])
    case object([(String, FuzzBody)])

    /// Reads valid JSON.
    init(_ json: String) throws {
        self.init(
            value: try JSONSerialization.jsonObject(
                with: Data(json.utf8), options: .fragmentsAllowed))
    }

    private init(value: Any) {
        switch value {
        case let text as String: self = .text(text)
        case let list as [Any]: self = .list(list.map(FuzzBody.init(value:)))
        case let object as [String: Any]:
            self = .object(
                object.sorted { $0.key < $1.key }.map { ($0.key, FuzzBody(value: $0.value)) })
        case let number as NSNumber: self = .raw("\(number)")
        default: self = .raw("null")
        }
    }

    var json: String {
        switch self {
        case .raw(let text): text
        case .text(let text): Self.quoted(text)
        case .list(let list): "[" + list.map(\.json).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0) + ":" + $1.json }.joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\u{0}"..."\u{1F}":
                quoted +=
                    "\\u" + String(repeating: "0", count: 4 - String(scalar.value, radix: 16).count)
                    + String(scalar.value, radix: 16)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

/// Random choices from a seed: the same seed gives the same requests.
struct FuzzChance: Sendable {
    private var numbers: SeededNumbers

    init(seed: UInt64) { numbers = SeededNumbers(seed: seed) }

    mutating func next() -> UInt64 { numbers.next() }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(bound, 1))) }
    mutating func one<Value>(of values: [Value]) -> Value { values[below(values.count)] }
    mutating func happens(oneIn count: Int) -> Bool { below(count) == 0 }
}

extension FuzzBody {
    /// Edge cases for the values of fields, names, numbers and structures.
    private static func edge(_ chance: inout FuzzChance) -> FuzzBody {
        chance.one(of: [
            .raw("null"), .raw("true"), .raw("0"), .raw("-0"), .raw("-0.0"), .raw("1e999"),
            .raw("-1e-999"), .raw("9223372036854775807"), .raw("9223372036854775808"),
            .raw("-9223372036854775809"), .raw("123456789012345678901234567890"),
            .raw("1.7976931348623157e308"), .raw("4.9e-324"), .raw("0.1"), .raw("9007199254740993"),
            .raw("253402300800000"), .raw("NaN"), .raw("\"\\ud800\""), .raw("\"\\u0000\""),
            .raw("01"), .text(""), .text(" "), .text("_"), .text("__defaultOwner__"),
            .text("_defaultZone"), .text("../../etc/passwd"), .text("e\u{301}\u{202E}😀\u{FFFF}"),
            .text(String(repeating: "a", count: 256)), .text(String(repeating: "ü", count: 4_000)),
            .text("AAAA"), .text("=="), .text("'; DROP TABLE record; --"), .text("%00"),
            .text("cloudkit.share"), .text("Users"), .text("___recordID"), .text("recordName"),
            .list([]), .object([]), .list([.raw("null")]), .list([.list([.list([])])]),
            .object([("value", .raw("null"))]),
            .object([("value", .object([("value", .list([]))]))]),
            .raw(String(repeating: "[", count: 600) + String(repeating: "]", count: 600)),
            .list(Array(repeating: .raw("1"), count: 500)),
        ])
    }

    /// All strings, to be used in other places of other bodies.
    private var strings: [String] {
        switch self {
        case .raw: []
        case .text(let text): [text]
        case .list(let list): list.flatMap(\.strings)
        case .object(let members): members.flatMap { [$0] + $1.strings }
        }
    }

    /// Makes one random change: sets an edge case, or removes, repeats, renames or moves a member.
    func mutated(_ chance: inout FuzzChance, words: [String]) -> FuzzBody {
        if chance.happens(oneIn: 6) {
            return chance.happens(oneIn: 3) ? .text(chance.one(of: words)) : Self.edge(&chance)
        }
        switch self {
        case .raw, .text:
            return chance.happens(oneIn: 2) ? .text(chance.one(of: words)) : Self.edge(&chance)
        case .list(var list):
            guard !list.isEmpty else { return .list([Self.edge(&chance)]) }
            let index = chance.below(list.count)
            switch chance.below(6) {
            case 0: list.remove(at: index)
            case 1: list += Array(repeating: list[index], count: 1 + chance.below(3))
            default: list[index] = list[index].mutated(&chance, words: words)
            }
            return .list(list)
        case .object(var members):
            guard !members.isEmpty else { return .object([("value", Self.edge(&chance))]) }
            let index = chance.below(members.count)
            switch chance.below(9) {
            case 0: members.remove(at: index)
            case 1: members.append(members[index])
            case 2: members[index].0 = chance.one(of: words)
            case 3: members.append((chance.one(of: words), Self.edge(&chance)))
            default: members[index].1 = members[index].1.mutated(&chance, words: words)
            }
            return .object(members)
        }
    }

    /// The words of several bodies: names of keys, types and items.
    static func words(of bodies: [FuzzBody]) -> [String] {
        Array(Set(bodies.flatMap(\.strings))).sorted()
    }
}
