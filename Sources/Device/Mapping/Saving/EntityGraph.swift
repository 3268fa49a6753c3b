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

extension CloudMapping {
    /// Gives an object its name, once, even if several tasks do so at the same time.
    ///
    /// - Throws: ``MappingError`` `unnamedValue` for a struct without one.
    func name<E: CloudEntity>(_ entity: E) throws -> String {
        if let known = entity.cloudID { return known }
        guard E.isReference else {
            throw MappingError(
                .unnamedValue,
                "A value of \(E.self) has no sync ID. Give it one when it is made:"
                    + " two copies without one are two objects.")
        }
        return naming.withLock { _ in
            if let known = entity.cloudID { return known }
            var entity = entity
            let name = world.makeUUID().uuidString
            entity.cloudID = name
            return name
        }
    }

    /// Whether an object was edited since both sides were last equal.
    func isChanged<E: CloudEntity>(_ entity: E, _ name: String) -> Bool {
        guard let known = ledger.known(E.recordTypeName, name) else { return true }
        return known.changed != entity.changeMilliseconds
    }

    /// The roots, and the edited objects that they refer to.
    func graph(of roots: [any CloudEntity]) async throws -> EntityGraph {
        var graph = EntityGraph()
        var level = roots
        var isRoot = true
        while !level.isEmpty {
            var next: [any CloudEntity] = []
            for entity in level { next += try await visit(entity, isRoot, &graph) }
            level = next
            isRoot = false
        }
        graph.keep { node in node.isRoot || isChanged(node.entity, node.name) }
        return graph
    }

    /// Adds an object; returns the objects that it refers to.
    private func visit<E: CloudEntity>(
        _ entity: E, _ isRoot: Bool, _ graph: inout EntityGraph
    ) async throws -> [any CloudEntity] {
        guard entityType(named: E.recordTypeName) != nil, !isIgnored(entity) else { return [] }
        let name = try self.name(entity)
        guard isRoot || !ledger.isDeleted(E.recordTypeName, name),
            graph.insert(entity, name: name, isRoot: isRoot)
        else { return [] }
        var found: [any CloudEntity] = []
        for reference in E.cloudMap.references {
            switch reference.read(entity) {
            case .objects(let objects): found += objects
            case .names(let names):
                // Rows are followed only from objects that are sent, because each is read from its
                // table.
                guard isRoot || isChanged(entity, name) else { continue }
                for name in names {
                    if let row = try await store.fetch(reference.target, syncID: name) {
                        found.append(row)
                    }
                }
            }
        }
        return found
    }
}
