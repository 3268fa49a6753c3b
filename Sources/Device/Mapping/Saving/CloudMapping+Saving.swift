import StratusClient

extension CloudMapping {
    /// Saves an object with all that it refers to, as far as that was changed; see
    /// ``CloudProxy/saveAndWait()``.
    ///
    /// Saves of objects of one type follow each other; a save that waits while a later reading of the
    /// object is saved has nothing left to do.
    public func save<Entity: CloudEntity>(_ entity: Entity) async throws {
        try await save(entity, fields: nil)
    }

    /// Saves some properties of an object, and what they refer to.
    public func save<Entity: CloudEntity>(
        _ entity: Entity, keys: [PartialKeyPath<Entity> & Sendable]
    ) async throws {
        let map = Entity.cloudMap
        let fields =
            map.fields.filter { field in keys.contains { $0 == field.path } }.map(\.name)
            + map.references.filter { field in keys.contains { $0 == field.path } }.map(\.name)
        try await save(entity, fields: Set(fields))
    }

    private func save<E: CloudEntity>(_ entity: E, fields: Set<String>?) async throws {
        guard !isLocked, !isIgnored(entity) else {
            return log.debug("not saved: locked or ignored", metadata: ["type": "\(E.self)"])
        }
        let ticket = state.withLock { $0.takeTicket() }
        do {
            let name = try self.name(entity)
            guard !ledger.isDeleted(E.recordTypeName, name) else { throw MappingError.gone }
            try await prepare()
            var sending = Sending(roots: [entity])
            sending.fields = fields
            sending.ticket = ticket
            try await send(sending)
        } catch {
            log.debug("save failed", metadata: ["type": "\(E.self)", "error": "\(error)"])
            await store.didSave(entity, record: nil, error: error)
            recover(from: error)
            throw error
        }
    }

    /// Sends objects with what they refer to, while nobody else saves their types.
    func send(_ sending: Sending) async throws {
        var types = try await graph(of: sending.roots).recordTypes
        var isDone = types.isEmpty
        while !isDone {
            let held = types
            (isDone, types) = try await lanes.holding(held) {
                // Again, as others may have saved some of it, or linked more to it, meanwhile.
                var graph = try await graph(of: sending.roots)
                guard graph.recordTypes.isSubset(of: held) else {
                    return (false, graph.recordTypes.union(held))
                }
                graph.keep { node in !node.isRoot || !wasSaved(node, since: sending.ticket) }
                graph.sortTargetsFirst()
                try await transmit(graph.nodes, sending)
                return (true, held)
            }
        }
    }

    private func wasSaved(_ node: EntityGraph.Node, since ticket: Int?) -> Bool {
        guard let ticket else { return false }
        return state.withLock { $0.captures[node.key, default: 0] } > ticket
    }
}

/// What is to be sent, and how.
struct Sending: Sendable {
    var roots: [any CloudEntity]
    /// The fields of the roots; nil is all.
    var fields: Set<String>?
    /// When the save was asked for; nil sends in any case.
    var ticket: Int?
    /// Whether a record that was changed later than the object is left alone.
    var newestWins = false
}

extension CloudMapping.State {
    mutating func takeTicket() -> Int {
        tickets += 1
        return tickets
    }
}

extension MappingError {
    static let gone = MappingError(
        .deleted, "Save it as a new object, with no sync ID: this one was deleted.")
}
