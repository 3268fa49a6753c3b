import StratusClient

extension CloudMapping {
    /// Syncs objects and records in both directions.
    ///
    /// A normal sync handles the changes on both sides since the last one that finished. A forced
    /// one compares every object with every record; the newest change date wins. The store gets
    /// each type's changes in `syncDidFinish`. Syncs of one type run one after the other.
    ///
    /// Without a connection it throws, and a sync follows automatically when there is one; see
    /// ``networkIsBack()``. If the sync of a type fails for another reason, as with an object that the service refuses,
    /// the other types are synced before it throws. A record that this version of the app cannot read is set aside, and
    /// the first sync that finds it throws `unreadable` after it has synced everything else. From inside a callback of
    /// the store it throws `insideCallback`, because it would wait for itself.
    ///
    /// - Parameters:
    ///   - specific: the types to sync; nil means all.
    ///   - forced: compares everything. It also creates a deleted zone again, and sends everything.
    /// - Throws: ``MappingError``, the service's error, or the store's error.
    public func syncEntities(
        specific: [any CloudEntity.Type]? = nil, forced: Bool = false
    ) async throws {
        let wanted = specific ?? types
        guard !isLocked else { return log.debug("not synced: the mapping is locked") }
        try refuseCallback(
            from: .syncing, .saving,
            sentence:
                "A sync in a callback of the store would wait for itself. Sync once the callback has returned."
        )
        for type in wanted { try requireSetUp(type) }
        // These keys are not names of record types, so that saves are not blocked meanwhile.
        let turns = Set(wanted.map { "sync of \($0.recordTypeName)" })
        do {
            try await lanes.holding(turns) {
                if forced { try await forgetDeletedZone() }
                try await prepare()
                do {
                    try await source.exchange()
                } catch {
                    // Logged. Without a network the types are still synced with the local copy; the
                    // exchange below throws the error.
                    log.debug(
                        "changes not exchanged; syncing with the local copy",
                        metadata: ["error": "\(error)"])
                }
                if source.learnsUserByExchange { try await checkAccount() }
                let round = try await round(of: wanted, isForced: forced)
                let failure = try await engaged(in: .syncing) {
                    let first = try await syncEach(wanted, in: round)
                    for type in types { try await linkArrived(type) }
                    let unreadable = round.withState { $0.unreadable }
                    let setAside: (any Error)? = MappingError.unreadable(unreadable)
                    return first ?? setAside
                }
                try await source.exchange()
                if let failure { throw failure }
            }
        } catch {
            log.debug("sync failed", metadata: ["error": "\(error)"])
            recover(from: error)
            throw error
        }
    }

    /// Handles a deleted zone: its objects do not count as deleted, and all are sent.
    private func forgetDeletedZone() async throws {
        guard ledger.value("prepared") != nil, try await !source.isPrepared() else { return }
        log.debug("the zone was deleted; all objects are sent again")
        try ledger.forgetAll()
    }

    func round(
        of types: [any CloudEntity.Type], isForced: Bool, isDry: Bool = false
    ) async throws -> SyncRound {
        let ticket = state.withLock { state in
            // A dry run creates no objects, and a sync may be creating some.
            if !isDry { state.made = [:] }
            return state.takeTicket()
        }
        let names = types.map { ($0.recordTypeName, ledger.knownNames($0.recordTypeName)) }
        return SyncRound(
            isForced: isForced, isDry: isDry, ticket: ticket,
            knownNames: Dictionary(names) { $1 },
            entries: try await entriesForThisDevice(),
            readableAgain: try await readableAgain(of: types))
    }

    /// Syncs types. One whose sync fails, as with an object that the service refuses, does not keep the others from
    /// syncing, unless the service cannot be reached.
    ///
    /// - Returns: the first failure.
    private func syncEach(
        _ types: [any CloudEntity.Type], in round: SyncRound
    ) async throws -> (any Error)? {
        var failure: (any Error)?
        for type in types {
            do {
                try await sync(type, in: round)
            } catch {
                if Task.isCancelled || (error as? CKError)?.mayPass == true { throw error }
                // Thrown at the end of the sync.
                failure = failure ?? error
            }
        }
        return failure
    }

    private func sync<E: CloudEntity>(_ type: E.Type, in round: SyncRound) async throws {
        let comparison = try await compare(type, in: round)
        log.debug(
            "compared",
            metadata: [
                "type": "\(E.self)", "new": "\(comparison.new.count)",
                "updated": "\(comparison.updated.count)",
                "deleted": "\(comparison.deletedNames.count)",
                "uploads": "\(comparison.uploads.count)",
            ])
        try await store.syncDidFinish(
            SyncChanges<E>(
                newRecords: comparison.new, updatedRecords: comparison.updated,
                deleted: comparison.deletedNames.map {
                    DeletedEntity(entityType: type, syncID: $0)
                }, comparison: comparison, round: round, mapping: self))
    }

    /// Notes the changes that the app has applied, then changes the cloud.
    ///
    /// - Parameter ticket: taken before the records were fetched.
    func finish<E: CloudEntity>(
        _ type: E.Type, _ comparison: TypeComparison, since ticket: Int
    ) async throws {
        let map = E.cloudMap
        let records = (comparison.new + comparison.updated + comparison.agreed).filter { record in
            let name = record.recordID.recordName
            return !wasDeleted(type, name, since: ticket)
                && !wasSavedInPart(type, name, since: ticket)
        }
        let known = records.map { record in
            (
                record.recordID.recordName,
                SyncLedger.Known(
                    changed: map.changeMilliseconds(of: record), tag: record.recordChangeTag)
            )
        }
        try ledger.setKnown(map.recordType, Dictionary(known) { $1 })
        try noteReadable(comparison.readableNames, ofType: map.recordType)
        try ledger.setDeleted(map.recordType, comparison.deletedNames, isPending: false)
        if let mark = comparison.mark { try ledger.set("mark \(map.recordType)", mark) }
        var failure: (any Error)?
        try await attempt(&failure) {
            try check(try await source.modify(saving: [], deleting: comparison.entryNames))
        }
        if !comparison.deletions.isEmpty {
            try await attempt(&failure) {
                try await holding([map.recordType]) {
                    try await deleteRecords(comparison.deletions, ofType: map.recordType)
                }
            }
        }
        if !comparison.uploads.isEmpty {
            var reports: [SaveReport] = []
            do {
                try await send(Sending(roots: comparison.uploads, newestWins: true), &reports)
            } catch {
                await notifyStore(reports)
                throw error
            }
            await notifyStore(reports)
        }
        if let failure { throw failure }
        log.debug("finished", metadata: ["type": "\(E.self)"])
    }

    /// Whether some fields of an object were saved since a ticket was taken: the rest is still to be sent, also if the
    /// sync has fetched an earlier record.
    private func wasSavedInPart<E: CloudEntity>(
        _ type: E.Type, _ name: String, since ticket: Int
    ) -> Bool {
        ledger.known(E.recordTypeName, name)?.isPart == true
            && wasSaved(type, name, since: ticket)
    }

    /// Does a part of the end of a sync. If the service refuses it, as the deletion of another user's record, the other
    /// parts do not wait for it.
    ///
    /// - Parameter failure: the first refusal, which the sync throws at its end.
    private func attempt(
        _ failure: inout (any Error)?, _ body: () async throws -> Void
    ) async throws {
        do {
            try await body()
        } catch {
            if Task.isCancelled || (error as? CKError)?.mayPass == true { throw error }
            // Thrown by the caller.
            failure = failure ?? error
        }
    }
}
