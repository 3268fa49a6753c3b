import StratusClient
import StratusRecords
import StratusSync

/// A fetch, from its "will" event to its "did" event.
private struct FetchRound {
    let context: CKSyncEngine.FetchChangesContext
    /// The delegate's current options.
    var options: CKSyncEngine.FetchChangesOptions
    /// The error of the whole round.
    var error: CKError?
    var zoneErrors: [CKRecordZone.ID: CKError] = [:]
    /// Whether the database's changes were fetched, and no zone was missing since.
    var hasDatabaseChanges = false
    /// The zones whose changes were fetched to their end.
    var doneZones: Set<ZoneID> = []
    var isOver = false

    init(_ context: CKSyncEngine.FetchChangesContext) {
        self.context = context
        options = context.options
    }

    var fetchScope: FetchScope {
        let scope = options.scope
        return FetchScope(firstZones: options.prioritizedZoneIDs.map { ZoneID($0) }) {
            scope.contains(CKRecordZone.ID($0))
        }
    }

    /// The error for the caller.
    var outcome: CKError? { error ?? CKError.partialFailure(zoneErrors) }
}

extension EngineDriver {
    func fetchByHand(
        _ options: CKSyncEngine.FetchChangesOptions, _ engine: CKSyncEngine
    ) async throws {
        try await begin(.fetching, engine)
        let context = CKSyncEngine.FetchChangesContext(reason: .manual, options: options)
        if let error = await fetch(context, engine) { throw error }
    }

    /// Begins what a caller waits for.
    ///
    /// - Throws: `CKError` when there is no account.
    func begin(_ activity: SyncActivity, _ engine: CKSyncEngine) async throws {
        guard try await checkAccount(engine) else {
            throw CKError.notSignedIn(
                "There is no account to sync with; sign in.",
                at: engine.database.container.connection.serviceAddress)
        }
        session.begin(activity, at: now)
    }

    /// Fetches until nothing is left or an error occurs, or until ``isEnough(_:)``.
    ///
    /// - Returns: the error for the caller.
    func fetch(
        _ context: CKSyncEngine.FetchChangesContext, _ engine: CKSyncEngine
    ) async -> CKError? {
        var round = FetchRound(context)
        session.fetchScope = FetchScope()
        guard case .perform = session.preview(at: now, only: .fetching) else { return nil }
        await deliver(.willFetchChanges(.init(context: context)), engine)
        await deliverState(engine)
        while !isCancelled, !round.isOver, await updateScope(&round, engine),
            !isEnough(round),
            case .perform(let operation) = session.next(at: now, only: .fetching)
        {
            switch operation {
            case .fetchDatabaseChanges: await fetchDatabase(&round, engine)
            case .fetchZoneChanges(let zone): await fetchZone(zone, &round, engine)
            case .modifyZones, .saveSubscription, .send: break
            }
            noteZonesToFetch()
            await deliverState(engine)
            if isSendNext(after: round) { round.isOver = true }
        }
        await closeZone(nil, engine)
        await deliver(.didFetchChanges(.init(context: context)), engine)
        await deliverState(engine)
        // Zones that the options of a scheduled fetch exclude wait until they change.
        session.fetchScope = kept(context.reason == .scheduled ? round.fetchScope : FetchScope())
        if isCancelled { return CKError(.operationCancelled, "The fetch was cancelled.") }
        return round.outcome
    }

    /// Whether a scheduled fetch ends because changes wait to be sent. Otherwise nothing would be sent while other
    /// devices write during every fetch. After an expiry of the database's token everything is fetched first.
    private func isSendNext(after round: FetchRound) -> Bool {
        guard round.context.reason == .scheduled, !session.isFetchingRound,
            state.ledger.databaseToken != nil
        else { return false }
        absorbChanges()
        return session.isSendNext(at: now)
    }

    /// Whether a fetch that the app requested has everything that existed when it began. Otherwise it would not end while
    /// other devices write during every fetch; an automatic engine fetches the rest afterwards.
    private func isEnough(_ round: FetchRound) -> Bool {
        round.context.reason == .manual && round.hasDatabaseChanges
            && session.areZonesDone(besides: round.doneZones)
    }

    /// Asks the delegate what to fetch next, if anything is left.
    private func updateScope(_ round: inout FetchRound, _ engine: CKSyncEngine) async -> Bool {
        session.fetchScope = FetchScope()
        guard case .perform = session.preview(at: now, only: .fetching) else { return false }
        let context = round.context
        let options = await askDelegate {
            await $0.nextFetchChangesOptions(context, syncEngine: engine)
        }
        guard let options else { return false }
        round.options = options
        session.fetchScope = kept(round.fetchScope)
        return true
    }

    /// A scope without the zones whose changes the store does not keep now, such as detached ones: their tokens stay.
    private func kept(_ fetchScope: FetchScope) -> FetchScope {
        guard let history = state.history else { return fetchScope }
        return FetchScope(firstZones: fetchScope.firstZones) { [weak history] zone in
            fetchScope.contains(zone) && history?.keepsChanges(of: zone) ?? true
        }
    }

    private func fetchDatabase(_ round: inout FetchRound, _ engine: CKSyncEngine) async {
        let start = state.ledger
        // Without a token the answer is the whole list: zones that it does not name were deleted.
        let known =
            start.databaseToken == nil
            ? Set(start.zoneTokens.keys).union(state.history?.zonesKnown() ?? []) : []
        var token = start.databaseToken
        var changed: [ZoneID] = []
        var gone: [ZoneID] = []
        do {
            while true {
                let (asked, group) = (token, round.options.operationGroup)
                let intact = asked == nil ? history?.lastIntactVersion(of: nil) : nil
                let page = try await ask(group: group) {
                    try await $0.databaseChangesPage(
                        since: asked.map { CKServerChangeToken(text: $0) },
                        deletionsAfterVersion: intact)
                }
                await reportRecreated(page, engine)
                let pageChanged = page.changed.map { ZoneID($0) }
                token = page.token.text
                var deletions = page.deleted.map {
                    CKDatabase.DatabaseChange.Deletion(zoneID: $0.zoneID, reason: $0.reason)
                }
                if !page.moreComing {
                    let named =
                        changed + gone + pageChanged + deletions.map { ZoneID($0.zoneID) }
                    deletions += known.subtracting(named).inOrder.map { zone in
                        var deletion = CKDatabase.DatabaseChange.Deletion(
                            zoneID: CKRecordZone.ID(zone), reason: .deleted)
                        deletion.isInferred = true
                        return deletion
                    }
                }
                let pageGone = deletions.map { ZoneID($0.zoneID) }
                // Other devices may delete or recreate a zone between two pages: the later page counts.
                changed.removeAll { pageGone.contains($0) }
                changed += pageChanged
                gone += pageGone
                if !page.changed.isEmpty || !deletions.isEmpty {
                    let event = CKSyncEngine.Event.FetchedDatabaseChanges(
                        modifications: page.changed.map { .init(zoneID: $0) },
                        deletions: deletions, generations: page.generations)
                    await deliver(.fetchedDatabaseChanges(event), engine)
                }
                note(page.moreComing && !known.isEmpty ? nil : token, pageChanged, pageGone)
                guard page.moreComing else { break }
                await deliverState(engine)
                await updatePageScope(&round, engine)
            }
            _ = session.databaseFetched(changed: changed, deleted: gone, at: now)
            state.noteDatabaseFetched()
            round.hasDatabaseChanges = true
            round.doneZones.subtract(gone)
        } catch {
            // The zones of earlier pages are fetched nevertheless; the failure is handled below.
            for zone in changed { session.notified(of: zone) }
            failed(error, hadToken: token != nil, nil, &round)
        }
    }

    /// Reports zones as deleted that were deleted and created again since the last fetch: the database's changes name only
    /// their last state, and a fetch of a new zone does not say which records of the former one are gone. A store of all
    /// records finds those itself.
    private func reportRecreated(_ page: DatabaseChangesPage, _ engine: CKSyncEngine) async {
        guard state.history == nil else { return }
        let named = page.changed.compactMap { zoneID in
            page.generations[zoneID].map { (ZoneID(zoneID), $0) }
        }
        let generations = Dictionary(named) { $1 }
        let deletions = state.ledger.recreated(generations).map { zone in
            var deletion = CKDatabase.DatabaseChange.Deletion(
                zoneID: CKRecordZone.ID(zone), reason: .deleted)
            deletion.isInferred = true
            return deletion
        }
        if !deletions.isEmpty {
            let event = CKSyncEngine.Event.FetchedDatabaseChanges(
                modifications: [], deletions: deletions)
            await deliver(.fetchedDatabaseChanges(event), engine)
        }
        state.update { $0.note(generations) }
    }

    /// Asks the delegate before the next page of the database; its choice of zones applies later.
    private func updatePageScope(_ round: inout FetchRound, _ engine: CKSyncEngine) async {
        let context = round.context
        let options = await askDelegate {
            await $0.nextFetchChangesOptions(context, syncEngine: engine)
        }
        if let options { round.options = options }
    }

    /// Stores the changes of a page of the database.
    private func note(_ token: String?, _ changed: [ZoneID], _ gone: [ZoneID]) {
        state.update { ledger in
            if let token { ledger.databaseToken = token }
            for zone in gone { ledger.forget(zone) }
            for zone in changed where !zone.isDefault && !ledger.zonesToFetch.contains(zone) {
                ledger.zonesToFetch.append(zone)
            }
        }
    }

    private func fetchZone(
        _ zone: ZoneID, _ round: inout FetchRound, _ engine: CKSyncEngine
    ) async {
        let zoneID = CKRecordZone.ID(zone)
        if openZone != zone {
            await closeZone(nil, engine)
            openZone = zone
            await deliver(.willFetchRecordZoneChanges(.init(zoneID: zoneID)), engine)
        }
        let token = state.ledger.zoneTokens[zone]
        if token == nil {
            state.beginsFromBeginning(zone)
            unreadable.errors[zone] = nil
        }
        let group = round.options.operationGroup
        let tags = history?.knownChangeTags(of: zone) ?? []
        do {
            let intact = history?.lastIntactVersion(of: zone)
            let again = try await recordsReadAgain(in: zone, group: group)
            let page = again.preceding(
                try await ask(group: group) {
                    try await $0.orderedChanges(
                        inZoneWith: zoneID, since: token.map { CKServerChangeToken(text: $0) },
                        knownChangeTags: tags, deletionsAfterVersion: intact)
                })
            let names =
                page.modifications.map(\.record.recordID.recordName)
                + page.deletions.map(\.recordID.recordName)
                + page.unreadable.keys.map(\.recordName)
            let missing = state.ledger.missing(names, of: zone, moreComing: page.moreComing)
            let deletions =
                page.deletions
                + missing.sorted { $0.key < $1.key }.map { name, type in
                    .init(
                        recordID: CKRecord.ID(known: name, zoneID: zoneID), recordType: type)
                }
            if !page.modifications.isEmpty || !deletions.isEmpty || !page.unreadable.isEmpty {
                let event = CKSyncEngine.Event.FetchedRecordZoneChanges(
                    modifications: page.modifications, deletions: deletions,
                    unreadable: page.unreadable)
                await deliver(.fetchedRecordZoneChanges(event), engine)
            }
            state.update { ledger in
                _ = ledger.fetched(
                    names, of: zone, token: page.changeToken.text, moreComing: page.moreComing)
            }
            noteUnreadable(page, missingNames: again.missingNames, zone)
            session.zonePageFetched(
                zone, moreComing: page.moreComing, hasPendingChanges: session.hasPendingChanges,
                at: now)
            // Noted before the delegate gets the zone's "did" event.
            noteZonesToFetch()
            if !page.moreComing {
                round.doneZones.insert(zone)
                let errors = unreadable.errors.removeValue(forKey: zone) ?? [:]
                let error = CKError.partialFailure(errors)
                if let error { round.zoneErrors[zoneID] = error }
                await closeZone(error, engine)
                state.endsFromBeginning(zone)
            }
        } catch {
            let error = CKError(error)
            failed(error, hadToken: token != nil || !tags.isEmpty, zone, &round)
            // After an expiry the fetch continues from the beginning.
            let isExpired = error.code == .changeTokenExpired && !tags.isEmpty && !round.isOver
            if state.ledger.zoneTokens[zone] == token || token == nil, !isExpired {
                await closeZone(error, engine)
            }
        }
    }

    /// Passes a failure to the session, and carries out its effect.
    private func failed(
        _ error: any Error, hadToken: Bool, _ zone: ZoneID?, _ round: inout FetchRound
    ) {
        let error = CKError(error)
        // The database's changes show why a zone is missing.
        if zone == nil || error.isZoneMissing { round.hasDatabaseChanges = false }
        if isGivenUp(error) {
            session.cancelled()
            round.error = error
            round.isOver = true
            return
        }
        var failure = SyncFailure(error)
        // Without a sent token, or change tags, the error cannot mean that one expired.
        if failure.code == .changeTokenExpired, !hadToken { failure.code = .serverRejectedRequest }
        if failure.code == .changeTokenExpired,
            history?.noteExpiry(of: zone, lastIntactVersion: failure.lastIntactVersion) == false
        {
            // The token stays, and is tried again after a pause.
            failure.code = .serviceUnavailable
        }
        switch session.failed(failure, at: now) {
        case .dropDatabaseToken: state.update { $0.databaseToken = nil }
        case .dropZoneToken(let zone): state.update { $0.zoneTokens[zone] = nil }
        case nil, .zonePurged, .setAsideBatch:
            noteZonesToFetch()
            guard let zone, session.recovery(forRequest: failure.code) == .report else {
                round.error = error
                return
            }
            // The database's changes report why a zone is missing.
            if error.code != .zoneNotFound, error.code != .userDeletedZone {
                round.zoneErrors[CKRecordZone.ID(zone)] = error
            }
        }
    }

    /// Sends the "did" event of the open zone.
    private func closeZone(_ error: CKError?, _ engine: CKSyncEngine) async {
        guard let zone = openZone else { return }
        openZone = nil
        let event = CKSyncEngine.Event.DidFetchRecordZoneChanges(
            zoneID: CKRecordZone.ID(zone), error: error)
        await deliver(.didFetchRecordZoneChanges(event), engine)
    }
}

extension CKError {
    /// Makes a `CKError` from any error.
    init(_ error: any Error) {
        switch error {
        case let error as CKError: self = error
        case is CancellationError:
            self.init(.operationCancelled, "The request was cancelled.")
        default:
            self.init(
                .internalError, "The request failed with an unexpected error; see the cause.",
                cause: error)
        }
    }
}
