import StratusClient

/// The content of a reference while its targets are not here.
struct Links: Equatable {
    var names: [String]
    var objectCount: Int

    init<E: CloudEntity>(_ reference: MappedReference<E>, _ entity: E) {
        names = reference.names(of: entity)
        objectCount = reference.objects(of: entity).count
    }
}

extension CloudMapping {
    /// Fills references, except those that were edited since their object was filled.
    ///
    /// A record may arrive before the records that it refers to: the ledger stores such names,
    /// saves leave them in the record, and ``linkArrived(_:)`` links the objects once they have
    /// arrived.
    func link<E: CloudEntity>(
        _ type: E.Type, in record: CKRecord, _ links: [Links],
        _ objects: inout [String: any CloudEntity]
    ) async throws {
        let name = record.recordID.recordName
        let map = E.cloudMap
        guard !map.references.isEmpty, var entity = objects[name] as? E else { return }
        let ignored = try await ignoredRows(of: entity)
        // The app may have edited a row while its targets were fetched.
        if !E.isReference, let row = try await store.fetch(type, syncID: name),
            row.changeMilliseconds ?? .min > entity.changeMilliseconds ?? .min
        {
            entity = row
        }
        let targets = objects
        var unlinked: SyncLedger.UnlinkedNames = [:]
        var isLinked = false
        while !isLinked {
            unlinked = [:]
            isLinked = entity.change(unlessEditedSince: entity.changeMilliseconds) { entity in
                for (reference, before) in zip(map.references, links)
                where Links(reference, entity) == before {
                    let content = filling(
                        reference, of: entity, record, targets, ignored: ignored)
                    reference.fill(&entity, content)
                    unlinked[reference.name] = reference.unlinked(entity, in: record) {
                        targets[$0] == nil && !isDeleted($0, reference)
                    }
                }
            }
        }
        objects[name] = entity
        // Noted before the object is stored, because a stored object does not show that it lacks
        // links.
        try ledger.setUnlinked(map.recordType, name, unlinked)
        try await store.keep(entity)
        announce(E.self, name)
    }

    /// A record's targets, and the ignored objects that the property holds, which are in no record.
    private func filling<E: CloudEntity>(
        _ reference: MappedReference<E>, of entity: E, _ record: CKRecord,
        _ targets: [String: any CloudEntity], ignored: Set<String>
    ) -> MappedReference<E>.Filling {
        var filling = MappedReference<E>.Filling(
            names: reference.names(in: record, keeping: ignored, of: entity), objects: targets)
        for (place, object) in reference.objects(of: entity).enumerated()
        where isIgnored(object) && (reference.isList || filling.names.isEmpty) {
            // No name begins with a space.
            let name = object.cloudID ?? " \(place)"
            guard !filling.names.contains(name) else { continue }
            filling.names.insert(name, at: min(place, filling.names.count))
            filling.objects[name] = object
        }
        return filling
    }

    private func isDeleted<E: CloudEntity>(_ name: String, _ reference: MappedReference<E>) -> Bool
    {
        ledger.isDeleted(reference.target.recordTypeName, name)
    }

    /// Adds the objects that an object refers to, so that it keeps those that its record still names.
    func addHeldTargets<E: CloudEntity>(
        of type: E.Type, _ name: String, to objects: inout [String: any CloudEntity]
    ) {
        guard let entity = objects[name] as? E else { return }
        for target in E.cloudMap.references.flatMap({ $0.objects(of: entity) }) {
            if let held = target.cloudID, objects[held] == nil { objects[held] = target }
        }
    }

    /// Links objects of a type to objects that have arrived since they were filled.
    func linkArrived<E: CloudEntity>(_ type: E.Type) async throws {
        let all = ledger.unlinkedObjects(E.cloudMap.recordType)
        for (name, unlinked) in all.sorted(by: { $0.key < $1.key }) {
            guard let entity = try await store.fetch(type, syncID: name) else {
                try ledger.setUnlinked(E.cloudMap.recordType, name, [:])
                continue
            }
            try await linkArrived(entity, name, unlinked)
        }
    }

    private func linkArrived<E: CloudEntity>(
        _ entity: E, _ name: String, _ unlinked: SyncLedger.UnlinkedNames
    ) async throws {
        let map = E.cloudMap
        var entity = entity
        var found: [String: any CloudEntity] = [:]
        var rest: SyncLedger.UnlinkedNames = [:]
        for reference in map.references {
            guard var lacking = unlinked[reference.name] else { continue }
            for name in lacking.missing where !isDeleted(name, reference) {
                found[name] = try await store.fetch(reference.target, syncID: name)
            }
            lacking.missing.removeAll { found[$0] != nil || isDeleted($0, reference) }
            rest[reference.name] = lacking.missing.isEmpty ? nil : lacking
        }
        let arrived = found
        var isChanged = false
        var isLinked = arrived.isEmpty
        while !isLinked {
            isChanged = false
            isLinked = entity.change(unlessEditedSince: entity.changeMilliseconds) { entity in
                for reference in map.references {
                    guard let lacking = unlinked[reference.name] else { continue }
                    isChanged = reference.join(arrived, of: lacking, to: &entity) || isChanged
                }
            }
        }
        if isChanged {
            try await store.keep(entity)
            announce(E.self, name)
        }
        try ledger.setUnlinked(map.recordType, name, rest)
    }
}
