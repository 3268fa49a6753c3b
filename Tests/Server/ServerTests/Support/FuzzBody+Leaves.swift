extension FuzzBody {
    /// How many values there are that contain no others.
    var leaves: Int {
        switch self {
        case .raw, .text: 1
        case .list(let list): max(1, list.reduce(0) { $0 + $1.leaves })
        case .object(let members): max(1, members.reduce(0) { $0 + $1.1.leaves })
        }
    }

    /// Replaces one value that contains no others, each with the same probability. Unlike ``mutated(_:words:)`` it
    /// keeps the structure, so that most of the results are understood and many are accepted.
    func withLeafReplaced(_ chance: inout FuzzChance, by values: [FuzzBody]) -> FuzzBody {
        var index = chance.below(leaves)
        return replacingLeaf(&index, by: chance.one(of: values))
    }

    private func replacingLeaf(_ index: inout Int, by value: FuzzBody) -> FuzzBody {
        switch self {
        case .list(let list) where !list.isEmpty:
            return .list(list.map { $0.replacingLeaf(&index, by: value) })
        case .object(let members) where !members.isEmpty:
            return .object(members.map { ($0, $1.replacingLeaf(&index, by: value)) })
        case .raw, .text, .list, .object:
            defer { index -= 1 }
            return index == 0 ? value : self
        }
    }

    /// A member's value; nil if this is not an object or has no such member.
    subscript(key: String) -> FuzzBody? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.0 == key }?.1
    }

    var elements: [FuzzBody] { if case .list(let list) = self { list } else { [] } }
    var string: String? { if case .text(let text) = self { text } else { nil } }
}
