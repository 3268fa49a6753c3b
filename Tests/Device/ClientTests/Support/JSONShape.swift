import Foundation

/// A JSON text as a tree whose leaves are text, so that a test can write what no encoder would.
enum JSONShape {
    struct Member {
        var key: String
        var value: JSONShape
    }

    case object([Member])
    case array([JSONShape])
    case leaf(String)

    init(_ text: String) throws {
        let value = try JSONSerialization.jsonObject(
            with: Data(text.utf8), options: .fragmentsAllowed)
        self = try Self(value: value)
    }

    private init(value: Any) throws {
        switch value {
        case let object as [String: Any]:
            // Sorted by key, so that a seed causes the same mutation in every process.
            self = .object(
                try object.sorted { $0.key < $1.key }.map {
                    Member(key: $0.key, value: try Self(value: $0.value))
                })
        case let array as [Any]: self = .array(try array.map { try Self(value: $0) })
        default:
            let data = try JSONSerialization.data(
                withJSONObject: value, options: .fragmentsAllowed)
            self = .leaf(String(decoding: data, as: UTF8.self))
        }
    }

    var text: String {
        switch self {
        case .object(let members):
            "{" + members.map { "\"\($0.key)\":\($0.value.text)" }.joined(separator: ",") + "}"
        case .array(let members): "[" + members.map(\.text).joined(separator: ",") + "]"
        case .leaf(let text): text
        }
    }

    /// The number of values in the tree, including the root.
    var count: Int {
        switch self {
        case .object(let members): members.reduce(1) { $0 + $1.value.count }
        case .array(let members): members.reduce(1) { $0 + $1.count }
        case .leaf: 1
        }
    }

    /// Changes the value with a number; the root is 0.
    mutating func change(_ number: Int, _ body: (inout JSONShape) -> Void) {
        guard number > 0 else { return body(&self) }
        var rest = number - 1
        switch self {
        case .object(var members):
            for index in members.indices {
                let count = members[index].value.count
                if rest < count {
                    members[index].value.change(rest, body)
                    self = .object(members)
                    return
                }
                rest -= count
            }
        case .array(var members):
            for index in members.indices {
                let count = members[index].count
                if rest < count {
                    members[index].change(rest, body)
                    self = .array(members)
                    return
                }
                rest -= count
            }
        case .leaf: return
        }
    }
}
