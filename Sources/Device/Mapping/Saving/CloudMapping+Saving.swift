import StratusClient

extension CloudMapping {
    /// Saves an object and the changed objects that it refers to; see ``CloudProxy/saveAndWait()``.
    ///
    /// Saves of one type run one after the other. A save does nothing if a later state of the
    /// object was saved while it waited.
    public func save<Entity: CloudEntity>(_ entity: Entity) async throws {
        try await save(entity, only: nil)
    }

    /// Saves some properties of an object, and the objects that they refer to.
    ///
    /// - Throws: as ``save(_:)``, and `notMapped` for a property that is not a field.
    public func save<Entity: CloudEntity>(
        _ entity: Entity, keys: [PartialKeyPath<Entity> & Sendable]
    ) async throws { try await save(entity, only: keys) }

    private func save<E: CloudEntity>(
        _ entity: E, only keys: [PartialKeyPath<E> & Sendable]? = nil
    ) async throws {
        guard !isLocked, !isIgnored(entity) else {
            return log.debug(
                "not saved: the mapping is locked, or the object is ignored",
                metadata: ["type": "\(E.self)"])
        }
        let ticket = state.withLock { $0.takeTicket() }
        var reports: [SaveReport] = []
        do {
            try refuseSaving()
            try requireSetUp(E.self)
            let fields = try keys.map { try fieldNames(of: $0) }
            let name = try self.name(entity)
            guard !ledger.isDeleted(E.recordTypeName, name) else { throw MappingError.gone(name) }
            try await prepare()
            var sending = Sending(roots: [entity])
            sending.fields = fields
            sending.ticket = ticket
            try await send(sending, &reports)
        } catch {
            log.debug("save failed", metadata: ["type": "\(E.self)", "error": "\(error)"])
            if !reports.contains(where: \.isRoot) {
                reports.append(SaveReport(entity: entity, isRoot: true, error: error))
            }
            await notifyStore(reports)
            recover(from: error)
            throw error
        }
        await notifyStore(reports)
    }

    /// - Throws: ``MappingError`` `notMapped`, because saving nothing would look like a successful
    ///   save.
    private func fieldNames<E: CloudEntity>(
        of paths: [PartialKeyPath<E> & Sendable]
    ) throws -> Set<String> {
        let map = E.cloudMap
        var names: Set<String> = []
        for path in paths {
            let found =
                map.fields.filter { $0.path == path }.map(\.name)
                + map.references.filter { $0.path == path }.map(\.name)
            guard !found.isEmpty else {
                throw MappingError(
                    .notMapped,
                    "\(path) is not a field in the map of \(E.recordTypeName). Save properties that the"
                        + " map names.")
            }
            names.formUnion(found)
        }
        return names
    }

    func refuseSaving() throws {
        try refuseCallback(
            from: .saving,
            sentence:
                "A callback of the store cannot wait for a save. Save and delete once it has returned, or without waiting."
        )
    }

    /// Reports the outcome of saves to the store. No other call waits for this, so the store may save and sync
    /// meanwhile.
    func notifyStore(_ reports: [SaveReport]) async {
        for report in reports {
            await store.didSave(report.entity, record: report.record, error: report.error)
        }
    }

    /// Sends objects with the objects that they refer to, with exclusive access to their types.
    ///
    /// - Parameter reports: the outcomes to report to the store afterwards, also when this throws.
    func send(_ sending: Sending, _ reports: inout [SaveReport]) async throws {
        var types = try await graph(of: sending.roots).recordTypes
        var isDone = types.isEmpty
        while !isDone {
            let held = types
            (isDone, types) = try await holding(held) {
                // Built again, because other saves may have changed the graph while this one
                // waited.
                var graph = try await graph(of: sending.roots)
                guard graph.recordTypes.isSubset(of: held) else {
                    return (false, graph.recordTypes.union(held))
                }
                graph.keep { node in !node.isRoot || !wasSaved(node, since: sending.ticket) }
                graph.sortTargetsFirst()
                try await transmit(graph.nodes, sending, &reports)
                return (true, held)
            }
        }
    }

    /// Whether a save of an object was confirmed since a ticket was taken: a record that was fetched before may be older.
    func wasSaved<E: CloudEntity>(_ type: E.Type, _ name: String, since ticket: Int) -> Bool {
        state.withLock { $0.saves[EntityGraph.key(type, name), default: 0] > ticket }
    }

    private func wasSaved(_ node: EntityGraph.Node, since ticket: Int?) -> Bool {
        guard let ticket else { return false }
        return state.withLock { $0.captures[node.key, default: 0] } > ticket
    }
}

/// The objects to send, and how.
struct Sending: Sendable {
    var roots: [any CloudEntity]
    /// The fields of the roots to send; nil means all.
    var fields: Set<String>?
    /// When the save was requested; nil sends in any case.
    var ticket: Int?
    /// Whether a record that was changed later than the object stays unchanged.
    var newestWins = false
}

/// The outcome of a save.
struct SaveReport: Sendable {
    var entity: any CloudEntity
    var isRoot: Bool
    var record: CKRecord?
    var error: (any Error)?
}

extension CloudMapping.State {
    mutating func takeTicket() -> Int {
        tickets += 1
        return tickets
    }
}

extension MappingError {
    static func gone(_ name: String) -> MappingError {
        MappingError(
            .deleted,
            "The object \(name) was deleted. Save it as a new object, with no sync ID.")
    }
}
