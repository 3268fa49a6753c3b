import StratusClient
import StratusRecords
import StratusSync

/// Performs an operation: sends the request, stores the answer, updates the session.
extension SyncDriver {
    func perform(_ operation: SyncOperation) async {
        let clock = store.clock
        await AnswerTime.$listener.withValue(AnswerTime.Listener { clock.receive($0) }) {
            await performMeasured(operation)
        }
    }

    private func performMeasured(_ operation: SyncOperation) async {
        var batch: [OutgoingChange] = []
        // The identifier of a request that changes something.
        var operationID: String?
        if case .fetchZoneChanges = operation {} else { dropPageAhead() }
        do {
            guard try store.claim(for: try await remote.userRecordName()) else {
                let hasNoOwner = try store.isMadeByNobody()
                if !hasNoOwner { noteAccount(.otherUser) }
                haltSession(hasNoOwner ? .unclaimedRecords : .otherAccount)
                return
            }
            noteAccount(.available)
            try keepServiceTime()
            try await cancelUnanswered()
            switch operation {
            case .modifyZones(let create, let delete):
                let sent = newOperation()
                operationID = sent.id
                try await modifyZones(create, delete, sent)
            case .saveSubscription:
                try await saveSubscription()
            case .fetchDatabaseChanges: try await fetchDatabaseChanges()
            case .fetchZoneChanges(let zone): try await fetchZoneChanges(zone)
            case .send(let itemLimit, let bytesLimit):
                // Read before another process's changes are sent: that process may have been the
                // first to encrypt a field.
                try store.file.readEncryptedKeys()
                let sent = newOperation()
                operationID = sent.id
                batch = try nextBatch(itemLimit, bytesLimit, sent)
                if batch.isEmpty {
                    // All remaining changes wait for their files.
                    try await uploadAssets()
                    batch = try nextBatch(itemLimit, bytesLimit, sent)
                }
                try await send(batch, sent.id)
            }
            try keepServiceTime()
            isStorageFull = false
        } catch let failure as SyncFailure {
            await failed(failure, batch, operationID)
            if case .account = session.halt { store.forgetUser() }
        } catch is CancellationError {
            // The pending changes stay in the store; the next sync sends them.
            session.cancelled()
        } catch {
            // Any other error is one of this device's own file.
            storageFailed(error)
        }
    }

    /// Stores what the answers so far showed about this device's clock.
    private func keepServiceTime() throws {
        if let outcome = try store.keepServiceTime() { observers.notify(outcome) }
    }

    /// Handles an error of this device's own file: on a full disk, or while the file cannot be used,
    /// nothing is lost, and the work is repeated later.
    private func storageFailed(_ error: any Error) {
        store.file.noteDamage(error)
        guard let error = CacheError.passing(error) else {
            haltSession(.localStorage("\(error)"))
            return
        }
        let isFirst = error.code == .storageFull && !isStorageFull
        isStorageFull = error.code == .storageFull
        session.storageFailed(
            SyncFailure(.internalError, message: error.description), at: now)
        do {
            // Changes that the session counts as done may not have been stored.
            try absorbBacklog()
        } catch {
            readLater(after: error)
        }
        if isFirst { observers.notify(CacheOutcome(events: [.storageFull])) }
        giveUpWaiting(error)
    }

    private func modifyZones(
        _ create: [ZoneID], _ delete: [ZoneID], _ operation: SentOperation
    ) async throws {
        let outcomes = try await zoneOutcomes(create, delete, operation)
        let done = session.zonesModified(
            created: outcomes.created, deleted: outcomes.deleted, at: now)
        let outcome = try store.zonesModified(
            created: done.created, deleted: done.deleted, isKept: true, refused: done.refused,
            databaseToken: outcomes.databaseToken, operationID: operation.id)
        // Here and below before anything that can fail: nothing reports these changes again.
        observers.notify(outcome)
        // The app saved into one of them during the request.
        for zone in done.deleted where try store.state(of: zone) == .wanted {
            session.zoneWanted(zone)
        }
        session.zonesChanged(outcome.staleZones.inOrder)
        try noteSendable()
        if let halt = session.halt { haltSession(halt) }
    }

    /// The error of a request with one zone is the zone's.
    private func zoneOutcomes(
        _ create: [ZoneID], _ delete: [ZoneID], _ operation: SentOperation
    ) async throws -> ZoneOutcomes {
        let create = try stillToCreate(create)
        let kept = try await emptiedZonesInUse(of: try stillToDelete(delete))
        let rest = try stillToDelete(delete.filter { !kept.contains($0) })
        var outcomes = ZoneOutcomes()
        if !create.isEmpty || !rest.isEmpty {
            try store.noteOperation(operation, of: Set(create + rest))
            do {
                outcomes = try await remote.modifyZones(
                    create: create, delete: rest,
                    generations: try store.unwantedGenerations(of: rest),
                    operationID: operation.id)
            } catch let failure as SyncFailure
                where create.count + rest.count == 1
                && RecoveryAction.forZone(failure.code) == .setAside
            {
                for zone in create { outcomes.created[zone] = failure }
                for zone in rest { outcomes.deleted[zone] = failure }
            }
        }
        for zone in kept { outcomes.deleted[zone] = Self.zoneInUse }
        return outcomes
    }

    /// The zones that are still to be created. Another process may have created one, which was deleted since; and the file may
    /// have another user by now.
    private func stillToCreate(_ zones: [ZoneID]) throws -> [ZoneID] {
        try zones.filter { zone in
            if try store.state(of: zone) == .wanted { return true }
            session.zoneNotWanted(zone)
            return false
        }
    }

    /// The zones that are still to be deleted. The app may have saved into an emptied one since, also while a request
    /// waited for the network.
    private func stillToDelete(_ zones: [ZoneID]) throws -> [ZoneID] {
        try zones.filter { zone in
            let state = try store.state(of: zone)
            if state == .unwanted || state == .replaced { return true }
            session.zoneKept(zone)
            try updateState(of: zone)
            return false
        }
    }

    /// The zones that reappeared and were emptied but are not deleted, because another client has saved into them.
    private func emptiedZonesInUse(of zones: [ZoneID]) async throws -> Set<ZoneID> {
        var inUse: Set<ZoneID> = []
        for (zone, token) in try store.emptied(of: zones) {
            do {
                let page = try await remote.zoneChanges(zone, since: token, knowing: [], limit: 1)
                let hasRecords = !page.records.isEmpty || !page.unreadable.isEmpty
                if hasRecords || page.moreComing { inUse.insert(zone) }
            } catch let failure as SyncFailure {
                switch failure.code {
                case .zoneNotFound, .userDeletedZone: continue
                case .changeTokenExpired: inUse.insert(zone)
                default: throw failure
                }
            }
        }
        return inUse
    }

    private static let zoneInUse = SyncFailure(
        .constraintViolation,
        message: """
            The zone came back when the service lost data, and another device has saved in it since, so it was not \
            deleted again. Delete it once more if it is not needed.
            """)

    private func fetchDatabaseChanges() async throws {
        let start = try store.databaseToken()
        let intact = try store.lastIntactDatabaseVersion()
        var all = DatabasePage(token: "")
        var token = start
        while true {
            let page = try await remote.databaseChanges(
                since: token, deletionsAfter: token == nil ? intact : nil,
                knowing: token == start ? try store.zonesTokens() : [])
            all.append(page)
            token = page.token
            if !page.moreComing { break }
        }
        let written = try store.apply(
            all, isFull: start == nil, unconfirmed: session.unconfirmedZones,
            returned: try await zonesReturned(in: all))
        noteFetched(written.outcome)
        observers.notify(written.outcome)
        _ = session.databaseFetched(changed: all.changed, deleted: written.gone, at: now)
        for zone in written.recreated { session.zoneWanted(zone) }
        try absorbBacklog()
        // The app requested all zones, or the deletion of all, and only a full answer names them.
        if start != nil, try store.databaseToken() == nil { session.notified(of: nil) }
        operationNotes["zones"] = "\(all.changed.count)"
        operationNotes["deletedZones"] = "\(all.deleted.count)"
    }

    /// The zones that were deleted before the service lost history and exist again because of that,
    /// as opposed to zones created since: their history continues from a token of the deleted zone
    /// or before it.
    private func zonesReturned(in page: DatabasePage) async throws -> Set<ZoneID> {
        var returned: Set<ZoneID> = []
        let tokens = try store.zonesPerhapsDeleted(in: page)
        for zone in page.changed {
            guard let token = tokens[zone] else { continue }
            do {
                _ = try await remote.zoneChanges(zone, since: token, knowing: [], limit: 1)
                returned.insert(zone)
            } catch let failure as SyncFailure {
                // A zone with another history, or deleted again, is not returned. After any other
                // error the whole page is fetched again.
                switch failure.code {
                case .changeTokenExpired:
                    if let intact = failure.lastIntactVersion, intact > 0 { returned.insert(zone) }
                case .zoneNotFound, .userDeletedZone: continue
                default: throw failure
                }
            }
        }
        return returned
    }

    private func fetchZoneChanges(_ zone: ZoneID) async throws {
        let token: String?
        switch try store.beginFetch(zone) {
        case .token(let known): token = known
        case .everything: token = nil
        case .unknownZone:
            session.zoneIsUnknown(zone)
            return
        }
        let (page, hasMoreToReadAgain) = try await pageAfterRecordsReadAgain(of: zone, since: token)
        let begun = fullFetch ?? (now, 0)
        let outcome = try store.apply(page, of: zone)
        finish(outcome)
        fullFetch = page.moreComing ? (begun.0, begun.1 + page.records.count) : nil
        operationNotes["records"] = "\(page.records.count)"
        operationNotes["deletions"] = "\(page.deletedNames.count)"
        operationNotes["moreComing"] = page.moreComing ? "yes" : "no"
        noteFetched(outcome)
        // A page at which a resolver halted is not stored, and is fetched again after the halt.
        if outcome.haltReason == nil {
            session.zonePageFetched(
                zone,
                moreComing: page.moreComing || hasMoreToReadAgain
                    || outcome.staleZones.contains(zone),
                hasPendingChanges: try store.hasSendable(withholding: session.withheldOwners),
                at: now)
        }
        if outcome.hasUnwantedZone { try absorbBacklog() }
    }

    private func send(_ batch: [OutgoingChange], _ operationID: String) async throws {
        guard !batch.isEmpty else {
            session.nothingToSend()
            return
        }
        try finish(batch, try await answers(to: batch, operationID), operationID: operationID)
    }

    private func nextBatch(
        _ itemLimit: Int, _ bytesLimit: Int, _ operation: SentOperation
    ) throws -> [OutgoingChange] {
        try store.nextBatch(
            itemLimit: itemLimit, bytesLimit: bytesLimit, withholding: session.withheldOwners,
            deletionsFirst: session.isQuotaExceeded, operation: operation
        ) { outcome in
            if !outcome.events.isEmpty { observers.notify(outcome) }
        }
    }

    /// Updates the session with the outcome of changes, and stores it.
    /// - Parameters:
    ///   - wereSent: see `CacheStore.confirm(_:_:_:wereSent:operationID:)`.
    ///   - operationID: see there.
    func finish(
        _ batch: [OutgoingChange], _ answers: [OutgoingAnswer], wereSent: Bool = true,
        operationID: String? = nil
    ) throws {
        let outcomes = zip(batch, answers).map { item, answer in
            if case .failed(let failure, _) = answer {
                return ItemOutcome(item.change, failure: failure, isUpload: !wereSent)
            }
            return ItemOutcome(item.change)
        }
        let wasQuotaExceeded = session.isQuotaExceeded
        let dispositions = session.sent(outcomes, at: now)
        let outcome = try store.confirm(
            batch, answers, dispositions, wereSent: wereSent, operationID: operationID)
        reportQuota(wasQuotaExceeded)
        finish(outcome)
        try noteSendable()
        for zone in outcome.staleZones.inOrder { session.notified(of: zone) }
        operationNotes["sent"] = "\(batch.count)"
        operationNotes["confirmed"] = "\(dispositions.count { $0 == .confirmed })"
        operationNotes["conflicts"] = "\(dispositions.count { $0 == .conflict })"
        if let halt = session.halt { haltSession(halt) }
    }

    /// Sends the changes that may be sent; the others fail here.
    private func answers(
        to batch: [OutgoingChange], _ operationID: String
    ) async throws -> [OutgoingAnswer] {
        let refused = store.plainValueFailures(in: batch)
        guard !refused.isEmpty else {
            return try await remote.send(
                batch, isAtomic: settings.isAtomic, operationID: operationID)
        }
        let sent = batch.indices.filter { refused[$0] == nil }
        let answers =
            sent.isEmpty
            ? []
            : try await remote.send(
                sent.map { batch[$0] }, isAtomic: settings.isAtomic, operationID: operationID)
        var all = batch.indices.map { index in
            OutgoingAnswer.failed(
                refused[index]
                    ?? SyncFailure(
                        .internalError, message: "The service did not answer. Try again."),
                server: nil)
        }
        for (index, answer) in zip(sent, answers) { all[index] = answer }
        return all
    }

    private func failed(
        _ failure: SyncFailure, _ batch: [OutgoingChange], _ operationID: String?
    ) async {
        if failure.code == .operationCancelled, Task.isCancelled {
            session.cancelled()
            return
        }
        if let account = CacheAccount(failure) { noteAccount(account) }
        let wasQuotaExceeded = session.isQuotaExceeded
        let savers = batch.filter { $0.change.kind == .save }.map(\.change.id.zoneID.ownerName)
        let effect = session.failed(
            failure, batchItemCount: batch.count, batchOwners: Set(savers), at: now)
        do {
            try keepServiceTime()
            try store.noteFailure(of: batch, failure, operationID: operationID)
            switch effect {
            case nil: break
            case .dropDatabaseToken:
                try store.dropDatabaseToken(lastIntactVersion: failure.lastIntactVersion)
            case .dropZoneToken(let zone):
                try store.dropToken(of: zone, after: failure)
            case .zonePurged(let zone):
                let (outcome, recreated) = try store.purge(zone)
                for zone in recreated { session.zoneWanted(zone) }
                observers.notify(outcome)
            case .setAsideBatch(let failure):
                observers.notify(try store.setAside(batch, failure))
            }
            try noteSendable()
        } catch let failure as SyncFailure {
            // The user has signed out of the file in another process.
            session.halt(.account(failure))
        } catch {
            storageFailed(error)
        }
        reportQuota(wasQuotaExceeded)
        if let halt = session.halt { haltSession(halt) }
    }

    private func finish(_ outcome: CacheOutcome) {
        observers.notify(outcome)
        if let reason = outcome.haltReason { haltSession(.requested(reason)) }
    }

    /// Halts the session, and reports it to the app and in the log.
    func haltSession(_ reason: HaltReason) {
        session.halt(reason)
        log.note(.error, "halted", ["reason": "\(reason.summary)"])
        observers.notify(CacheOutcome(events: [.halted(reason)]))
    }

    private func reportQuota(_ wasExceeded: Bool) {
        guard session.isQuotaExceeded, !wasExceeded, let failure = session.lastFailure else {
            return
        }
        observers.notify(CacheOutcome(events: [.quotaExceeded(failure)]))
    }
}
