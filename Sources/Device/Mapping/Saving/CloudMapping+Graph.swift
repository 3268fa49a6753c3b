extension CloudMapping {
    /// Gives an object its name, only once even if several tasks do so at the same time.
    ///
    /// - Throws: ``MappingError`` `unnamedValue` for a struct without one.
    func name<E: CloudEntity>(_ entity: E) throws -> String {
        if let known = entity.cloudID { return known }
        guard E.isReference else {
            throw MappingError(
                .unnamedValue,
                "A value of \(E.self) has no sync ID. Give it one when it is created:"
                    + " copies without one cannot be recognized as one object.")
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
        return known.lacksEdit(of: entity.changeMilliseconds)
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
                // Rows are followed only from objects that are sent, because each of them must be read from its table.
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
