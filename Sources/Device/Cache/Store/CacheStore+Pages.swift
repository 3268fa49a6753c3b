import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// Pages of a zone's changes from the service, each stored with its token.
extension CacheStore {
    /// The parameters of a fetch of a zone's changes.
    enum FetchStart {
        case token(String)
        case everything
        /// The zone is unknown here or no longer wanted: only the database's changes create rows,
        /// so that a late hint does not restore a deleted zone.
        case unknownZone
    }

    func beginFetch(_ id: ZoneID) throws -> FetchStart {
        let known: FetchStart? = try read { database in
            guard let row = try zone(id, database), row.isFetched else { return .unknownZone }
            return row.token.flatMap { $0.isEmpty ? nil : .token($0) }
        }
        if let known { return known }
        return try file.write { database in
            guard let row = try zone(id, database), row.isFetched else { return .unknownZone }
            if let token = row.token, !token.isEmpty { return .token(token) }
            // A first fetch remains the first until it has ended, even if it is restarted.
            try database.cachedStatement(
                sql: """
                    UPDATE zone SET pass = pass + 1, isRefetching =
                        CASE WHEN pass = 0 OR isRefetching = 2 THEN 2 ELSE 1 END WHERE id = ?
                    """
            ).execute(arguments: [row.key])
            try forgetProgress(of: row, database)
            try forgetNotedConflicts(in: row, database)
            return .everything
        }
    }

    /// Whether a full fetch of a zone is running.
    func isRefetching(_ id: ZoneID) throws -> Bool {
        try read { try zone(id, $0)?.isRefetching ?? false }
    }

    /// Whether a zone is known here and synced, so that hints about it matter.
    func isFetched(_ id: ZoneID) throws -> Bool {
        try read { try zone(id, $0)?.isFetched ?? false }
    }

    /// Stores a page and its token in one transaction.
    ///
    /// Applying a page again changes nothing. A record with a local edit or deletion is never
    /// overwritten; only its base is. The conflict is resolved here, so that the next upload has
    /// the current change tag.
    func apply(_ page: ZonePage, of id: ZoneID) throws -> CacheOutcome {
        try write { database, outcome in
            // After a sign-out in another process the next user may have a zone of the same name.
            try checkUser(database)
            // A zone that was deleted here during the request stays empty.
            guard let zone = try zone(id, database), zone.isFetched else { return }
            let hasPending = try hasPendingChanges(in: zone, database)
            try noteTimes(
                fetched: page.records.compactMap(\.modifiedMilliseconds), database)
            var lost = try lostHistory(of: zone, database)
            let deletions = try repeatableDeletions(in: zone, database)
            var returned: [RecordID] = []
            defer { reportReturned(returned, in: zone.id, &outcome) }
            defer { if let event = lost?.event(in: zone.id) { outcome.events.append(event) } }
            func isPlain(_ row: FetchedRow) throws -> Bool {
                try lost == nil && !mayRepeat(deletions, of: row.name, zone, database)
            }
            // The last type that was found to be stored as received.
            var keptType: String?
            outcome.fetched = FetchedRows(zone: zone.id)
            var types = try file.types(database)
            let writer = try FetchedRowWriter(zone, database)
            for fetched in inOrderOfRows(page, of: zone) {
                if case .row(let row) = fetched, try isPlain(row),
                    keptType == row.type || isKeptAsItCame(row),
                    try !(hasPending && pending(row.name, zone, database) != nil),
                    try insert(row, zone, by: writer, &types, database)
                {
                    keptType = row.type
                    outcome.fetched?.rows.append(row)
                    continue
                }
                keptType = nil
                let answered = try fetched.snapshot(in: zone.id)
                let server = migratedLocally(
                    answered.withoutPlainValues(of: encryptedKeys(ofType: answered.type)))
                if hasPending, var row = try pending(server.id.name, zone, database) {
                    try reportLostShare(server, zone, lost, &outcome, database)
                    try rebaseLost(&row, on: server, &lost, database)
                    try resolveConflict(server, row, zone, countsRound: false, &outcome, database)
                } else if try repeatDeletion(of: server, deletions, zone, database) {
                    returned.append(server.id)
                } else {
                    try takeOver(server, zone, &lost, &outcome, database)
                    try noteNewer(server, zone, &outcome, database)
                    // The record here may be a different one, which the service has lost.
                    if isOlder(server) {
                        try migrateAsEdit(server.id.name, zone, &outcome, database)
                    }
                }
                if outcome.haltReason != nil { return }
                types = try file.types(database)
            }
            try receiveDeletions(of: page, zone, &lost, &outcome, database)
            try receiveUnreadable(of: page, zone, &outcome, database)
            if !page.records.isEmpty || !page.deletedNames.isEmpty {
                try noteAhead(zone, database)
            }
            if !page.moreComing { try ended(zone, &lost, &outcome, database) }
            try noteProgress(page, of: zone, database)
            if zone.isRefetching { try makeRoom(isFilling: page.moreComing, database) }
            try setToken(page, of: zone, database)
            outcome.hasUnwantedZone =
                try !page.token.isEmpty
                && deleteEmptied(
                    zone, hasRepeated: !returned.isEmpty, moreComing: page.moreComing, &outcome,
                    database)
            if !page.moreComing { try beginRefetch(zone, &outcome, database) }
        }
    }

    private func hasPendingChanges(in zone: CachedZoneRow, _ database: Database) throws -> Bool {
        try Int.fetchOne(
            database.cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM pending WHERE zone = ?)"),
            arguments: [zone.key]) == 1
    }

    private func receiveDeletions(
        of page: ZonePage, _ zone: CachedZoneRow, _ lost: inout LostHistory?,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        for name in page.deletedNames {
            let created = page.createdMillisecondsOfDeleted[name]
            if try sendLostAgain(name, created: created, zone, &lost, database) { continue }
            let id = RecordID(name: name, zoneID: zone.id)
            if try pending(name, zone, database)?.change.kind != .save,
                try !isOfFormer(deletionOf: id, created: created, database)
            {
                try noteDeletion(of: id, version: .max, database)
            }
            try receiveDeletion(of: name, created: created, zone, &outcome, database)
        }
    }

    /// Whether a deletion that the service reports is that of a record which preceded the one deleted last under its
    /// name.
    private func isOfFormer(
        deletionOf id: RecordID, created: Int64?, _ database: Database
    ) throws -> Bool {
        guard let created, let deleted = try recreatedMilliseconds(ofDeleted: id, database)
        else { return false }
        return created < deleted
    }

    private func setToken(_ page: ZonePage, of zone: CachedZoneRow, _ database: Database) throws {
        try database.cachedStatement(
            sql: """
                UPDATE zone SET token = ?, state = max(state, 1),
                    isRefetching = isRefetching * ?, needsFetch = needsFetch AND ?
                WHERE id = ?
                """
        ).execute(arguments: [page.token, page.moreComing, page.moreComing, zone.key])
        try setFlag(.lastFetch, "\(world.nowMilliseconds())", database)
    }

    /// Ends a fetch of a zone, all of whose changes have arrived.
    private func ended(
        _ zone: CachedZoneRow, _ lost: inout LostHistory?, _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws {
        if zone.isRefetching {
            try reconcile(zone, &lost, &outcome, database)
            try forgetReceived(in: zone, database)
            try setLastIntactVersion(nil, of: zone, database)
            try forgetRefetchedAfter(of: zone, database)
            try forgetRemaking(of: zone, database)
        }
        try allowRecreations(in: zone, database)
        // A change that conflicted with a newer app's record has arrived; the newer app is notified of its outcome.
        if !isHeld(zone) {
            try resolveNotedConflicts(in: zone, &outcome, database)
            try requeueUnanswered(in: zone, database)
        }
        try forgetSentTags(of: zone, database)
        try setAwaited(false, zone, database)
    }

    /// The records of a full fetch in the order of the file's index of names, so that each page of the index is written
    /// once in the transaction; records of the same name stay in the order received.
    private func inOrderOfRows(_ page: ZonePage, of zone: CachedZoneRow) -> [FetchedRecord] {
        guard zone.isRefetching else { return page.records }
        return page.records.indices.map { (page.records[$0].nameHash, $0) }
            .sorted { $0 < $1 }
            .map { page.records[$0.1] }
    }

    /// During a full fetch, rows are inserted throughout the index: the cache should hold what a
    /// transaction changes, and the log is checkpointed only after several transactions. 32 MB and
    /// 64 MB; otherwise SQLite's defaults.
    private func makeRoom(isFilling: Bool, _ database: Database) throws {
        try database.execute(
            sql: isFilling
                ? "PRAGMA cache_size = -32000; PRAGMA wal_autocheckpoint = 16000"
                : "PRAGMA cache_size = -2000; PRAGMA wal_autocheckpoint = 1000")
    }

    /// Whether a record can be stored as received: the app encrypts no field of its type, and its
    /// type has no versions.
    private func isKeptAsItCame(_ row: FetchedRow) -> Bool {
        versions.declarations[row.type] == nil && encryptedKeys(ofType: row.type).isEmpty
    }

    /// Replaces a row without local edits by the service's record.
    private func takeOver(
        _ server: RecordSnapshot, _ zone: CachedZoneRow, _ lost: inout LostHistory?,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        let statement = try database.cachedStatement(
            sql: "SELECT system FROM record WHERE \(CacheFormat.isNamed)")
        let name = server.id.name
        let known = try Data.fetchOne(
            statement, arguments: [zone.key, NameHash.of(name), name])
        var server = server
        server.system = try keepingLinkKey(server.system, of: name, zone, database)
        if let known, known == server.systemData,
            try !isReadableNow(server, zone, database)
        {
            if zone.isRefetching { try putPass(of: server.id.name, zone, database) }
            return
        }
        if try resolveLostRecord(server, zone, &lost, &outcome, database) { return }
        try put(server, zone, database)
        outcome.changedIDs.insert(server.id)
    }

    /// Handles records that a full fetch did not contain: those that this device received above the last intact version
    /// were lost, the others were deleted. If the service does not name that version, it is unknown which were lost:
    /// the records are reported to the app, without the service's system fields.
    private func reconcile(
        _ zone: CachedZoneRow, _ lost: inout LostHistory?, _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws {
        // A new record that may have arrived counts as missing too, in a zone that was fetched
        // before; but if deletions are reported and its own is not, it did not arrive.
        let isVersionNamed = try lost != nil || refetchedAfter(zone, database) != nil
        let areDeletionsNamed =
            try zone.isFirstFetch || isVersionNamed && !isRemade(zone, database)
        let names = try String.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT name FROM record WHERE zone = ? AND pass <> ? AND (system IS NOT NULL
                        OR name IN (SELECT name FROM pending WHERE zone = ? AND kind = 0
                            AND baseType IS NULL AND isUncertain <> 0 AND NOT ?))
                    ORDER BY id
                    """), arguments: [zone.key, zone.pass, zone.key, areDeletionsNamed])
        var missing: [CKRecord] = []
        var shares: [RecordSnapshot] = []
        for name in names {
            if try sendLost(name, zone, &lost, database) { continue }
            if let history = lost, let share = try record(name, zone, database),
                isLostShare(share, history)
            {
                shares.append(share)
                try removeShare(share, zone, &outcome, database)
                continue
            }
            if try pending(name, zone, database) == nil,
                let record = try record(name, zone, database)
            {
                missing.append(try record.missingRecord())
            }
            try receiveDeletion(of: name, zone, &outcome, database)
        }
        if !missing.isEmpty { outcome.events.append(.recordsMissing(missing)) }
        try reportLost(shares, &outcome)
    }

    /// Notes that all changes of a zone are here, including deletions of records whose names are
    /// used again: the new records can be sent.
    func allowRecreations(in zone: CachedZoneRow, _ database: Database) throws {
        try database.cachedStatement(
            sql: """
                UPDATE pending SET isMadeAnew = 0
                WHERE zone = ? AND isMadeAnew AND baseType IS NULL
                """
        ).execute(arguments: [zone.key])
    }

    /// Handles a deletion that the service reports.
    ///
    /// - Parameter created: when the deleted record was created, in milliseconds since 1970; nil if unknown.
    func receiveDeletion(
        of name: String, created: Int64? = nil, _ zone: CachedZoneRow,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        let id = RecordID(name: name, zoneID: zone.id)
        guard var row = try pending(name, zone, database) else {
            if try removeRecord(name, zone, database) { outcome.changedIDs.insert(id) }
            return
        }
        guard row.change.kind == .save, let client = try record(name, zone, database) else {
            try removePending(row, database)
            return
        }
        if row.base == nil {
            // The record was created here, and the deletion is that of a former record, unless this record was sent and
            // arrived, or another device was the first to send it again.
            let isKnownThere =
                recreatedMilliseconds(client) == nil
                && (row.isSentAgain || hasArrived(client, row, created: created))
            guard row.delivery != .notSent || isKnownThere, !row.isRecreated else { return }
            if row.delivery == .notSent, row.isSentAgain, row.change.generation == 1 {
                // The save was queued only because of the loss, and the app did not edit the record.
                try removePending(row, database)
                try removeRecord(name, zone, database)
                outcome.changedIDs.insert(id)
                return
            }
        }
        if try row.isRecreated && (row.delivery == .notSent || deletesFormer(row, zone, database)) {
            // The deletion is that of the former record.
            try sendAsNew(&row, zone, database)
            return
        }
        switch resolver.resolveDeletion(
            of: client, clientEditedMilliseconds: row.editedMilliseconds)
        {
        case .acceptDeletion:
            try removePending(row, database)
            try removeRecord(name, zone, database)
            outcome.changedIDs.insert(id)
            outcome.events.append(.editOfDeletedRecord(client: try client.record()))
        case .resurrect:
            if let made = recreatedMilliseconds(client),
                let key = fieldTimesKey(ofType: client.type)
            {
                // Marked as a different record than the deleted one, so that repeating that deletion after a loss does
                // not delete it.
                var next = client
                next.stampRecreation(in: key, after: client, former: made, at: nowMilliseconds)
                try put(next, isEdit: true, zone, database)
                row.change.generation += 1
            }
            try sendAsNew(&row, zone, database)
        }
    }

    func sendAsNew(
        _ row: inout PendingRow, _ zone: CachedZoneRow, _ database: Database
    ) throws {
        row.base = nil
        row.earlier = []
        row.isRecreated = false
        row.delivery = .notSent
        try update(row, database)
        try putSystem(nil, of: row.change.id.name, zone, database)
    }
}
