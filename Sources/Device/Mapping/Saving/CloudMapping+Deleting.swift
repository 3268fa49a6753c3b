import StratusClient

extension CloudMapping {
    /// Deletes an object's record, so that all other devices remove their objects; see
    /// ``CloudProxy/deleteAndWait()``.
    ///
    /// Without a connection the next sync deletes it. An object that was never saved is not saved
    /// later: objects that refer to it are saved without it.
    public func delete<Entity: CloudEntity>(_ entity: Entity) async throws {
        guard !isIgnored(entity), Entity.isReference || entity.cloudID != nil else {
            return log.debug(
                "not deleted: the object is ignored, or was never saved",
                metadata: ["type": "\(Entity.self)"])
        }
        let type = Entity.recordTypeName
        do {
            let isNew = entity.cloudID == nil
            let name = try self.name(entity)
            if isNew {
                return try ledger.setDeleted(type, [name], isPending: false, isDurable: true)
            }
            try refuseSaving()
            try requireSetUp(Entity.self)
            try ledger.setDeleted(type, [name], isPending: true)
            state.withLock { $0.deletions[EntityGraph.key(Entity.self, name)] = $0.takeTicket() }
            try await removeCopy(of: entity, name)
            try await holding([type]) {
                guard !isLocked else { return }
                try await prepare()
                try await deleteRecords([name], ofType: type)
            }
        } catch {
            log.debug(
                "delete failed",
                metadata: [
                    "record": "\(type)/\(entity.cloudID ?? "")", "error": "\(error)",
                ])
            recover(from: error)
            throw error
        }
    }

    /// Removes an object that a sync has created from the record since the app removed its own.
    private func removeCopy<E: CloudEntity>(of entity: E, _ name: String) async throws {
        let key = EntityGraph.key(E.self, name)
        guard let made = state.withLock({ $0.made.removeValue(forKey: key)?.object }),
            !made.isSame(as: entity),
            try await store.fetch(E.self, syncID: name)?.isSame(as: made) == true
        else { return }
        try await remove(E.self, name)
    }

    /// Whether an object was deleted here since a ticket was taken: records fetched before still
    /// include it.
    func wasDeleted<E: CloudEntity>(_ type: E.Type, _ name: String, since ticket: Int) -> Bool {
        state.withLock { $0.deletions[EntityGraph.key(type, name), default: 0] > ticket }
    }

    /// Deletes records, and notifies the other devices if the database does not.
    func deleteRecords(_ names: [String], ofType type: String) async throws {
        guard !names.isEmpty else { return }
        var entries: [CKRecord] = []
        if !source.tellsDeletions { entries = try await queueEntries(names, ofType: type) }
        // The entries first: an object whose deletion is not recorded would be saved again by
        // another device.
        try check(try await source.modify(saving: entries, deleting: []))
        let results = try await source.modify(saving: [], deleting: names)
        let failures = results.compactMapValues { failure(of: $0) }
        let refused = names.filter {
            (failures[$0] as? CKError)?.code == .permissionFailure
        }
        let deleted = names.filter { failures[$0] == nil }
        if !refused.isEmpty, !entries.isEmpty {
            try await withdrawEntries(of: refused, besides: deleted, ofType: type)
        }
        // Only a record's creator may delete it, so the record stays, and the deletion is not tried again.
        try ledger.setDeleted(type, deleted + refused, isPending: false)
        if let kind = entityType(named: type) { try await noteKept(kind, refused) }
        log.debug("deleted", metadata: ["type": "\(type)", "records": "\(deleted)"])
        try check(results)
    }

    /// Notes that records exist which the service did not delete: objects that refer to them keep their references.
    private func noteKept<E: CloudEntity>(_ type: E.Type, _ names: [String]) async throws {
        guard !names.isEmpty else { return }
        let records = try await source.records(named: names, withFiles: false).records
        let known = records.mapValues { record in
            SyncLedger.Known(
                changed: E.cloudMap.changeMilliseconds(of: record), tag: record.recordChangeTag)
        }
        try ledger.setKnown(E.recordTypeName, known)
    }

    /// Deletes the entries of objects that were not deleted: other devices would remove their objects.
    private func withdrawEntries(
        of refused: [String], besides deleted: [String], ofType type: String
    ) async throws {
        let needed = try await queueEntries(deleted, ofType: type).map(\.recordID.recordName)
        let wrong = Set(try await queueEntries(refused, ofType: type).map(\.recordID.recordName))
        let names = wrong.subtracting(needed).sorted()
        try check(try await source.modify(saving: [], deleting: names))
    }

    /// - Throws: an error of an item, except those that mean that it was deleted or saved before.
    func check(_ results: [String: Result<CKRecord?, any Error>]) throws {
        for result in results.values {
            if let error = failure(of: result) { throw error }
        }
    }

    /// The error of an item; nil also if it was deleted before, or was saved elsewhere since and stays.
    private func failure(of result: Result<CKRecord?, any Error>) -> (any Error)? {
        guard case .failure(let error) = result else { return nil }
        guard let known = error as? CKError else { return error }
        let wasDeleted = known.isNotFound && !known.isZoneMissing
        return wasDeleted || known.hasConflict ? nil : error
    }
}
