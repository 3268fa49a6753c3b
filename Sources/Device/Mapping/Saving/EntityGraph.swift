/// Objects with the objects that they refer to, each once, so that cycles end.
struct EntityGraph {
    /// An object to save.
    struct Node: Sendable {
        var entity: any CloudEntity
        var name: String
        var isRoot: Bool
        var key: String { EntityGraph.key(type(of: entity), name) }
    }

    private(set) var nodes: [Node] = []
    private var seen: Set<String> = []

    var recordTypes: Set<String> { Set(nodes.map { type(of: $0.entity).recordTypeName }) }

    static func key(_ type: any CloudEntity.Type, _ name: String) -> String {
        "\(type.recordTypeName)/\(name)"
    }

    mutating func insert(_ entity: any CloudEntity, name: String, isRoot: Bool) -> Bool {
        guard seen.insert(Self.key(type(of: entity), name)).inserted else { return false }
        nodes.append(Node(entity: entity, name: name, isRoot: isRoot))
        return true
    }

    mutating func keep(where condition: (Node) -> Bool) { nodes.removeAll { !condition($0) } }

    /// Sorts targets of weak references before the objects that refer to them, because the service
    /// refuses a reference to a missing target.
    mutating func sortTargetsFirst() {
        let byKey = Dictionary(nodes.enumerated().map { ($1.key, $0) }) { first, _ in first }
        var sorted: [Node] = []
        var visited: Set<Int> = []
        for start in nodes.indices where visited.insert(start).inserted {
            var stack = [(node: start, targets: weakTargets(of: nodes[start], byKey)[...])]
            while let last = stack.last {
                if let next = last.targets.first {
                    stack[stack.count - 1].targets.removeFirst()
                    if visited.insert(next).inserted {
                        stack.append((next, weakTargets(of: nodes[next], byKey)[...]))
                    }
                } else {
                    sorted.append(nodes[last.node])
                    stack.removeLast()
                }
            }
        }
        nodes = sorted
    }

    private func weakTargets(of node: Node, _ byKey: [String: Int]) -> [Int] {
        func targets<E: CloudEntity>(_ entity: E) -> [Int] {
            E.cloudMap.references.filter { $0.target.isWeakTarget }.flatMap { reference in
                reference.names(of: entity).compactMap { byKey[Self.key(reference.target, $0)] }
            }
        }
        return targets(node.entity)
    }
}

extension CloudEntity {
    static var isWeakTarget: Bool { cloudMap.isWeak }
}
