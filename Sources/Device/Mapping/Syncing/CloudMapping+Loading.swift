import StratusClient

extension CloudMapping {
    /// Fills an object from a record; see ``CloudProxy/update(from:fetchReferences:)``.
    @discardableResult
    public func update<Entity: CloudEntity>(
        _ entity: Entity, from record: CKRecord, fetchReferences: Bool = false
    ) async throws -> Entity {
        try requireSetUp(Entity.self)
        guard record.recordType == Entity.recordTypeName else {
            throw MappingError(
                .otherType,
                "A record of the type \(record.recordType) cannot update an object of"
                    + " \(Entity.self). Use one of the type \(Entity.recordTypeName).")
        }
        let name = record.recordID.recordName
        let loaded = try await load(
            [record], fetchReferences: fetchReferences, objects: [name: entity])
        return loaded[name] as? Entity ?? entity
    }

    /// Fills objects from records: first their fields, then, when all objects exist, their
    /// references. Missing referenced records are fetched level by level and filled in the same
    /// way; each object once, so that cycles end.
    ///
    /// - Parameter objects: objects by name that need not be fetched from the store.
    /// - Returns: the objects by name.
    @discardableResult
    func load(
        _ records: [CKRecord], fetchReferences: Bool, round: SyncRound? = nil,
        objects: [String: any CloudEntity] = [:]
    ) async throws -> [String: any CloudEntity] {
        var objects = objects
        let ticket = round?.ticket ?? state.withLock { $0.takeTicket() }
        var filled: [(record: CKRecord, links: [Links])] = []
        var level = records.filter { round?.isApplied($0) != true }
        while !level.isEmpty {
            var missing: Set<String> = []
            for record in level {
                guard let type = entityType(named: record.recordType) else { continue }
                let links = try await fill(
                    type, from: record, isSync: round != nil, since: ticket, &objects)
                round?.setApplied(record)
                if let links { filled.append((record, links)) }
            }
            guard fetchReferences else {
                // The objects keep what they hold of their records' references, and the rest is noted below.
                for (record, _) in filled {
                    guard let type = entityType(named: record.recordType) else { continue }
                    addHeldTargets(of: type, record.recordID.recordName, to: &objects)
                }
                break
            }
            for record in level {
                guard let type = entityType(named: record.recordType) else { continue }
                try await findTargets(of: type, in: record, &objects, &missing)
            }
            level = try await fetchTargets(missing, round)
        }
        for (record, links) in filled {
            guard let type = entityType(named: record.recordType) else { continue }
            try await link(type, in: record, links, &objects)
        }
        return objects
    }

    /// - Parameters:
    ///   - isSync: whether a newer edit, made since the sync compared both sides, is kept.
    ///   - ticket: taken before the record was fetched.
    /// - Returns: the content of the references until they are linked; nil for an object that stays
    ///   unchanged or was deleted here meanwhile.
    private func fill<E: CloudEntity>(
        _ type: E.Type, from record: CKRecord, isSync: Bool, since ticket: Int,
        _ objects: inout [String: any CloudEntity]
    ) async throws -> [Links]? {
        let name = record.recordID.recordName
        var entity: E
        if let known = objects[name] as? E {
            entity = known
        } else if let stored = try await store.fetch(type, syncID: name) {
            entity = stored
        } else {
            entity = try await store.create(type, syncID: name)
            let made = MadeObject(object: entity as? any CloudEntity & AnyObject)
            state.withLock { $0.made[EntityGraph.key(type, name)] = made }
            if wasDeleted(type, name, since: ticket) {
                try await store.remove(type, syncID: name)
                return nil
            }
        }
        let map = E.cloudMap
        let theirs = map.changeMilliseconds(of: record) ?? .min
        let known = ledger.known(map.recordType, name)?.changed
        let ignored = try await ignoredRows(of: entity)
        var isFilled = false
        while !isFilled {
            let mine = entity.changeMilliseconds
            if isSync, let mine, mine > theirs,
                mine != known || wasSaved(type, name, since: ticket)
            {
                objects[name] = entity
                return nil
            }
            isFilled = entity.change(unlessEditedSince: mine) { entity in
                map.fill(&entity, from: record)
                for reference in map.references
                where !reference.isList && reference.objects(of: entity).isEmpty {
                    // Rows store the target's name, whether or not the target is here.
                    let names = reference.names(in: record, keeping: ignored, of: entity)
                    reference.fill(&entity, .init(names: names, objects: objects))
                }
            }
        }
        objects[name] = entity
        let filled = entity
        let files = map.files(of: record) { field in
            field.read(filled) == nil ? nil : ledger.file(map.recordType, name, field.name)?.digest
        }
        try ledger.setFiles(map.recordType, name, files)
        let links = map.references.map { Links($0, entity) }
        try await store.keep(entity)
        announce(E.self, name)
        return links
    }

    /// Fetches the objects that a record refers to from the store.
    private func findTargets<E: CloudEntity>(
        of type: E.Type, in record: CKRecord, _ objects: inout [String: any CloudEntity],
        _ missing: inout Set<String>
    ) async throws {
        for reference in E.cloudMap.references {
            for name in reference.names(in: record) where objects[name] == nil {
                if let stored = try await store.fetch(reference.target, syncID: name) {
                    objects[name] = stored
                } else if !ledger.isDeleted(reference.target.recordTypeName, name) {
                    missing.insert(name)
                }
            }
        }
    }

    private func fetchTargets(_ names: Set<String>, _ round: SyncRound?) async throws -> [CKRecord]
    {
        var found = round?.records(named: names) ?? []
        let there = Set(found.map(\.recordID.recordName))
        found += try await source.records(
            named: names.subtracting(there).sorted(), withFiles: true
        ).records.values
        // Sorted, so that the order is always the same.
        return found.sorted { $0.recordID.recordName < $1.recordID.recordName }
    }

    func remove<E: CloudEntity>(_ type: E.Type, _ name: String) async throws {
        try await store.remove(type, syncID: name)
        announce(type, name)
    }
}

extension SyncRound {
    fileprivate func isApplied(_ record: CKRecord) -> Bool {
        withState { state in
            record.recordChangeTag.map { state.applied[record.recordID.recordName] == $0 } ?? false
        }
    }

    fileprivate func setApplied(_ record: CKRecord) {
        withState { $0.applied[record.recordID.recordName] = record.recordChangeTag }
    }

    fileprivate func records(named names: Set<String>) -> [CKRecord] {
        withState { state in names.compactMap { state.records[$0] } }
    }
}
