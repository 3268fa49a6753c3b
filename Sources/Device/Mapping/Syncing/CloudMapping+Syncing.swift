import StratusClient

extension CloudMapping {
    /// Brings objects and records in step, both ways.
    ///
    /// A normal sync looks at what changed on either side since the last one that finished. A forced one
    /// compares every object with every record; the newest change date wins. The store hears of each
    /// type's changes in `syncDidFinish`. Syncs of one type follow each other.
    ///
    /// Without a connection it throws, and syncs by itself when there is one; see ``networkIsBack()``.
    /// From inside a callback of the store it throws `insideCallback`, as it would wait for itself.
    ///
    /// - Parameters:
    ///   - specific: only these types; nil is all.
    ///   - forced: compares everything. Also makes a zone again that was deleted, and sends everything.
    /// - Throws: ``MappingError``, what the service says, or what the store throws.
    public func syncEntities(
        specific: [any CloudEntity.Type]? = nil, forced: Bool = false
    ) async throws {
        let wanted = specific ?? types
        guard !isLocked else { return log.debug("not synced: locked") }
        try refuseCallback(
            from: .syncing, .saving,
            sentence:
                "A sync in a callback of the store would wait for itself. Sync once the callback has returned."
        )
        for type in wanted { try requireSetUp(type) }
        // The names are no record types: saves go on meanwhile.
        let turns = Set(wanted.map { "sync of \($0.recordTypeName)" })
        do {
            try await lanes.holding(turns) {
                if forced { try await forgetDeletedZone() }
                try await prepare()
                do {
                    try await source.exchange()
                } catch {
                    // Without a network the rest is done on this device; the exchange below says so.
                    log.debug("not exchanged", metadata: ["error": "\(error)"])
                }
                let round = try await round(of: wanted, isForced: forced)
                try await engaged(in: .syncing) {
                    for type in wanted { try await sync(type, in: round) }
                    for type in types { try await linkArrived(type) }
                }
                try await source.exchange()
            }
        } catch {
            log.debug("sync failed", metadata: ["error": "\(error)"])
            recover(from: error)
            throw error
        }
    }

    /// A zone that is gone says nothing of its objects: none of them counts as deleted, all are sent.
    private func forgetDeletedZone() async throws {
        guard ledger.value("prepared") != nil, try await !source.isPrepared() else { return }
        log.debug("the zone is gone")
        try ledger.forgetAll()
    }

    func round(
        of types: [any CloudEntity.Type], isForced: Bool, isDry: Bool = false
    ) async throws -> SyncRound {
        let ticket = state.withLock { state in
            state.made = [:]
            return state.takeTicket()
        }
        let names = types.map { ($0.recordTypeName, ledger.knownNames($0.recordTypeName)) }
        return SyncRound(
            isForced: isForced, isDry: isDry, ticket: ticket,
            knownNames: Dictionary(names) { $1 },
            entries: try await entriesForThisDevice())
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

    /// Takes note of what the app took over, then changes the cloud.
    ///
    /// - Parameter ticket: from before the records were fetched.
    func finish<E: CloudEntity>(
        _ type: E.Type, _ comparison: TypeComparison, since ticket: Int
    ) async throws {
        let map = E.cloudMap
        let records = (comparison.new + comparison.updated + comparison.agreed).filter {
            !wasDeleted(type, $0.recordID.recordName, since: ticket)
        }
        let known = records.map { record in
            (
                record.recordID.recordName,
                SyncLedger.Known(
                    changed: map.changeMilliseconds(of: record), tag: record.recordChangeTag)
            )
        }
        try ledger.setKnown(map.recordType, Dictionary(known) { $1 })
        try ledger.setDeleted(map.recordType, comparison.deletedNames, isPending: false)
        if let mark = comparison.mark { try ledger.set("mark \(map.recordType)", mark) }
        try check(try await source.modify(saving: [], deleting: comparison.entryNames))
        if !comparison.deletions.isEmpty {
            try await holding([map.recordType]) {
                try await deleteRecords(comparison.deletions, ofType: map.recordType)
            }
        }
        if !comparison.uploads.isEmpty {
            var reports: [SaveReport] = []
            do {
                try await send(Sending(roots: comparison.uploads, newestWins: true), &reports)
            } catch {
                await tell(reports)
                throw error
            }
            await tell(reports)
        }
        log.debug("finished", metadata: ["type": "\(E.self)"])
    }
}
