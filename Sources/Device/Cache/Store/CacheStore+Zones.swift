import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync

/// Zones, and what the service tells of a database.
extension CacheStore {
    /// What a session must know to start on this file.
    func backlog() throws -> SyncBacklog {
        var backlog = try backlogOfZones()
        backlog.hasPendingChanges = try hasSendable()
        try read { database in
            backlog.isSubscriptionSaved = try flag(CacheFlag.isSubscriptionSaved, database) != nil
            backlog.isEnabled = try flag(CacheFlag.isDisabled, database) == nil
        }
        return backlog
    }

    /// The same, without what is said of the database and of its pending changes.
    func backlogOfZones() throws -> SyncBacklog {
        try read { database in
            let unanswered = Set(try zonesWithUnanswered(database))
            var backlog = SyncBacklog()
            let rows = try Row.fetchCursor(
                database.cachedStatement(
                    sql: """
                        SELECT \(ZoneRow.columns), needsFetch FROM zone WHERE \(isHere) ORDER BY id
                        """))
            while let row = try rows.next() {
                let zone = ZoneRow(row)
                switch zone.state {
                case .wanted: backlog.zonesToCreate.append(zone.id)
                case .unwanted: backlog.zonesToDelete.append(zone.id)
                case .replaced:
                    backlog.zonesToDelete.append(zone.id)
                    backlog.zonesToReplace.append(zone.id)
                case .refused, .detached: break
                case .existing:
                    // Nothing is sent into one that was never fetched.
                    if row[7] as Bool || zone.token == nil || unanswered.contains(zone.id) {
                        backlog.zonesToFetch.append(zone.id)
                    }
                }
            }
            return backlog
        }
    }

    func databaseToken() throws -> String? {
        // An empty one says that a sync engine of the app has the token.
        try read { try flag(CacheFlag.databaseToken, $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Forgets the token, and the subscription: what lost track of one may have lost the other.
    ///
    /// - Parameter lastIntactVersion: what the expiry said is intact; nil where it did not say.
    func dropDatabaseToken(lastIntactVersion: Int64?) throws {
        try file.write { database in
            let known = try self.lastIntactDatabaseVersion(database)
            let intact = [known, lastIntactVersion].compactMap(\.self).min()
            try setFlag(CacheFlag.databaseToken, nil, database)
            if lastIntactVersion != nil { try noteLossOfDatabase(database) }
            try forgetZonesTokens(database)
            try setFlag(CacheFlag.isSubscriptionSaved, nil, database)
            try setFlag(
                CacheFlag.isDatabaseTokenExpired, intact.map { "version \($0)" } ?? "1", database)
        }
    }

    /// After an expiry, the version up to which this device has heard of the deletions of zones.
    func lastIntactDatabaseVersion() throws -> Int64? {
        try read { try lastIntactDatabaseVersion($0) }
    }

    private func lastIntactDatabaseVersion(_ database: Database) throws -> Int64? {
        try flag(CacheFlag.isDatabaseTokenExpired, database)
            .flatMap { Int64($0.dropFirst("version ".count)) }
    }

    /// Makes the file a user's, if it is nobody's yet.
    ///
    /// - Returns: whether it is theirs.
    func claim(for userRecordName: String) throws -> Bool {
        let owner = try read { try flag(CacheFlag.userRecordName, $0) }
        if let owner { return owner == userRecordName }
        return try file.write { database in
            // Another process may have been first.
            if let owner = try flag(CacheFlag.userRecordName, database) {
                return owner == userRecordName
            }
            guard try flag(CacheFlag.isMadeByNobody, database) == nil else { return false }
            try setFlag(CacheFlag.userRecordName, userRecordName, database)
            return true
        }
    }

    func setEnabled(_ isEnabled: Bool) throws {
        try file.write { database in
            try setFlag(CacheFlag.isDisabled, isEnabled ? nil : "1", database)
            try file.noteChange(of: [], in: scope, database)
        }
    }

    /// What the app wants of a zone; nil where none is known.
    func state(of id: ZoneID) throws -> ZoneRow.State? {
        try read { try zone(id, $0)?.state }
    }

    func subscriptionSaved() throws {
        try file.write { try setFlag(CacheFlag.isSubscriptionSaved, "1", $0) }
    }

    /// Wants a zone before it has records.
    func wantZone(_ id: ZoneID) throws -> Bool {
        try file.write { database in
            var wanted: [ZoneID] = []
            _ = try wantedZone(id, &wanted, database)
            try file.noteChange(of: [], in: scope, database)
            return !wanted.isEmpty
        }
    }

    /// Deletes a zone here at once, and on the service later, known here or not.
    func unwantZone(_ id: ZoneID) throws -> CacheOutcome {
        try write { database, outcome in
            guard !id.isDefault else {
                throw CacheError(
                    .invalidZone, "The default zone cannot be deleted. Delete its records.")
            }
            outcome.isLocal = true
            let row = try zone(id, orMake: .unwanted, database)
            _ = try removeContent(of: row, deleted: nowMilliseconds, &outcome, database)
            try database.execute(
                sql: "UPDATE zone SET state = 2, token = NULL, needsFetch = 0 WHERE id = ?",
                arguments: [row.key])
            try file.noteChange(of: [], in: scope, database)
        }
    }

    /// Writes down what became of zones; what waits for a refused one is set aside with it.
    @discardableResult
    func zonesModified(
        created: [ZoneID], deleted: [ZoneID], refused: [ZoneID: SyncFailure] = [:],
        databaseToken: String? = nil
    ) throws -> CacheOutcome {
        try write { database, outcome in
            if let databaseToken { try addZonesToken(databaseToken, database) }
            for id in created {
                guard let row = try zone(id, database), row.state == .wanted else { continue }
                try zoneIsThere(row, database)
            }
            for (id, failure) in refused {
                guard let row = try zone(id, database) else { continue }
                try setAside(row, failure, &outcome, database)
            }
            for id in deleted {
                if let row = try zone(id, database), row.state == .unwanted {
                    try removeRecords(of: row, database)
                    try database.execute(
                        sql: "DELETE FROM zone WHERE id = ?", arguments: [row.key])
                }
                try database.execute(
                    sql: """
                        UPDATE zone SET state = 0, isRefetching = 2
                        WHERE \(isHere) AND name = ? AND owner = ? AND state = 3
                        """,
                    arguments: [id.name, id.ownerName])
            }
        }
    }

    /// Whatever was set aside because its zone could not be made has another chance.
    private func zoneIsThere(_ row: ZoneRow, _ database: Database) throws {
        try setState(.existing, of: row, database)
        try database.execute(
            sql: "UPDATE pending SET errorCode = NULL, errorMessage = NULL WHERE zone = ?",
            arguments: [row.key])
    }

    private func setAside(
        _ row: ZoneRow, _ failure: SyncFailure, _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        switch row.state {
        case .wanted:
            try setState(.refused, of: row, database)
            try database.execute(
                sql: """
                    UPDATE pending SET errorCode = ?, errorMessage = ?
                    WHERE zone = ? AND errorCode IS NULL
                    """, arguments: [failure.code.rawValue, failure.message, row.key])
        case .unwanted, .replaced:
            // It stays at the service, so it comes back here.
            try database.execute(
                sql: "UPDATE zone SET state = 1, token = NULL, needsFetch = 1 WHERE id = ?",
                arguments: [row.key])
            outcome.staleZones.insert(row.id)
        case .existing, .refused, .detached: return
        }
        outcome.events.append(.zoneSetAside(CKRecordZone.ID(row.id), failure))
    }

    /// Writes all pages of the database's changes and the last token in one transaction.
    ///
    /// Which zones changed is remembered with the token, so that a crash before they are fetched loses
    /// nothing. After a full answer, zones that it does not name are gone; but where the service has
    /// lost track, as after a restore, they are made anew with what is here of them.
    /// - Parameters:
    ///   - doubted: zones that are missing at the service.
    ///   - returned: zones that were deleted before the service lost track, and are there again; they are deleted again.
    /// - Returns: the outcome, zones that are gone, and zones to create anew.
    func apply(
        _ pages: DatabasePage, isFull: Bool, doubted: [ZoneID] = [], returned: Set<ZoneID> = []
    ) throws -> (outcome: CacheOutcome, gone: [ZoneID], recreated: [ZoneID]) {
        var gone: [ZoneID] = []
        var recreated: [ZoneID] = []
        let outcome = try write { database, outcome in
            for (id, reason) in pages.deleted {
                guard let row = try zone(id, database), row.state != .wanted else { continue }
                // It was made again since, and all of it is still to be fetched.
                if row.state == .existing, row.isNew, pages.changed.contains(id) { continue }
                try zoneDeleted(row, reason, &gone, &recreated, &outcome, database)
            }
            // After its deletion: a zone that both name was made again.
            let isErasing = try isFull && flag(CacheFlag.isErasing, database) != nil
            let isTrackLost = try flag(CacheFlag.isDatabaseTokenExpired, database) != nil
            for id in pages.changed where selection.contains(id) && !id.isDefault {
                if try isErasing && isErased(id, database) { continue }
                // Unless the app has made one of that name meanwhile.
                if returned.contains(id), try zone(id, database) == nil {
                    try setUnwanted(try zone(id, orMake: .unwanted, database), database)
                    outcome.events.append(
                        .changesLost(CKRecordZone.ID(id), sentAgain: [], deletedAgain: []))
                    continue
                }
                let isNew = try zone(id, database) == nil
                let row = try zone(id, orMake: .existing, database)
                if isNew { try noteLoss(inReturned: row, database) }
                // Somebody else could make it.
                if row.state == .refused { try zoneIsThere(row, database) }
                try database.cachedStatement(
                    sql: "UPDATE zone SET needsFetch = (state < 2) WHERE id = ?"
                ).execute(arguments: [row.key])
                try setGeneration(pages.generations[id], of: row, database)
            }
            let named = Set(pages.changed).union(pages.deleted.map(\.zone))
            try fetchZonesAhead(butFor: named, database)
            for row in try absentZones(isFull: isFull, doubted: doubted, database)
            where !named.contains(row.id) && !row.id.isDefault {
                // Nobody is known to have deleted it: what is here, or was deleted here, may be all there is.
                let isLost =
                    try isTrackLost && (hasContent(row, database) || hasDeletions(row, database))
                    || doubted.contains(row.id) && hasContent(row, database)
                if createsZones, row.state == .existing, isLost {
                    try recreate(row, database)
                    recreated.append(row.id)
                } else {
                    try zoneDeleted(row, nil, &gone, &recreated, &outcome, database)
                }
            }
            for id in doubted where try zone(id, database) == nil && !gone.contains(id) {
                gone.append(id)
            }
            if isErasing { try setFlag(CacheFlag.isErasing, nil, database) }
            try setFlag(CacheFlag.databaseToken, pages.token, database)
            try forgetZonesTokens(database)
            try setFlag(CacheFlag.lastFetch, "\(world.nowMilliseconds())", database)
            try setFlag(CacheFlag.isDatabaseTokenExpired, nil, database)
        }
        return (outcome, gone, recreated)
    }

    /// A fetch told that a zone was removed by the person.
    func purge(_ id: ZoneID) throws -> (outcome: CacheOutcome, recreated: [ZoneID]) {
        var gone: [ZoneID] = []
        var recreated: [ZoneID] = []
        let outcome = try write { database, outcome in
            guard let row = try zone(id, database) else { return }
            try zoneDeleted(row, .purged, &gone, &recreated, &outcome, database)
        }
        return (outcome, recreated)
    }

    /// Zones that the service does not have, as far as an answer shows.
    private func absentZones(
        isFull: Bool, doubted: [ZoneID], _ database: Database
    ) throws -> [ZoneRow] {
        let rows = try Row.fetchAll(
            database.cachedStatement(
                sql: "SELECT \(ZoneRow.columns) FROM zone WHERE \(isHere) AND state IN (1, 5)")
        ).map { ZoneRow($0) }
        return isFull ? rows : rows.filter { doubted.contains($0.id) }
    }

    private func hasContent(_ row: ZoneRow, _ database: Database) throws -> Bool {
        try Bool.fetchOne(
            database,
            sql: """
                SELECT EXISTS (SELECT 1 FROM record WHERE zone = ?)
                    OR EXISTS (SELECT 1 FROM pending WHERE zone = ? AND kind = 0)
                """, arguments: [row.key, row.key]) ?? false
    }

    /// Whether this device deleted records of a zone, which others may send again after a loss.
    private func hasDeletions(_ row: ZoneRow, _ database: Database) throws -> Bool {
        try Bool.fetchOne(
            database,
            sql: """
                SELECT EXISTS (SELECT 1 FROM pending WHERE zone = ? AND kind = 1)
                    OR EXISTS (SELECT 1 FROM tombstone WHERE \(isHere) AND owner = ? AND zone = ?
                        AND name <> '' AND deleted IS NOT NULL)
                """, arguments: [row.key, row.id.ownerName, row.id.name]) ?? false
    }

    /// - Parameter reason: nil where nobody said that the zone was deleted: it is missing.
    private func zoneDeleted(
        _ row: ZoneRow, _ reason: ZoneDeletionReason?, _ gone: inout [ZoneID],
        _ recreated: inout [ZoneID], _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        if row.state == .detached {
            return try database.execute(
                sql: "UPDATE zone SET token = ? WHERE id = ?", arguments: [ZoneRow.gone, row.key])
        }
        gone.append(row.id)
        if row.state == .replaced {
            try database.execute(
                sql: "UPDATE zone SET state = 0, isRefetching = 2 WHERE id = ?",
                arguments: [row.key])
            return
        }
        if policy == .recreate, row.state == .existing, try hasContent(row, database) {
            try recreate(row, database)
            recreated.append(row.id)
            return
        }
        if reason == nil { try setGeneration(nil, of: row, database) }
        let lost = try removeContent(of: row, deleted: nil, &outcome, database)
        try database.execute(sql: "DELETE FROM zone WHERE id = ?", arguments: [row.key])
        // The app itself asked for the deletion of an unwanted zone.
        guard row.state == .existing else { return }
        outcome.events.append(
            .zoneDeleted(
                CKRecordZone.ID(row.id), reason: reason ?? .deleted,
                lostChanges: lost.map { CKRecord.ID($0) }))
    }

    /// - Parameter milliseconds: when the zone was deleted here; nil for what others deleted.
    /// - Returns: the records whose changes were pending.
    func removeContent(
        of row: ZoneRow, deleted milliseconds: Int64?, _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws -> [RecordID] {
        let removed = try removeRecords(of: row, database)
        outcome.changedIDs.formUnion(removed)
        let lost = try String.fetchAll(
            database, sql: "SELECT name FROM pending WHERE zone = ? ORDER BY sequence",
            arguments: [row.key])
        try database.execute(sql: "DELETE FROM pending WHERE zone = ?", arguments: [row.key])
        try addTombstone(of: row.id, deleted: milliseconds, database)
        try forgetNewer(in: row, database)
        try forgetHistory(of: row, database)
        try forgetLoss(in: row, database)
        try keepGeneration(ofDeleted: row, hadRecords: !removed.isEmpty, database)
        return lost.map { RecordID(name: $0, zoneID: row.id) }
    }

    private func forgetHistory(of row: ZoneRow, _ database: Database) throws {
        try setLastIntactVersion(nil, of: row, database)
        try forgetProgress(of: row, database)
        try forgetSentTags(of: row, database)
        try forgetRemaking(of: row, database)
    }

    /// Marks a zone to be created, forgets all that the service knew of its records, and queues these. What is
    /// fetched next is the first of it.
    func recreate(_ row: ZoneRow, _ database: Database) throws {
        try database.execute(
            sql: """
                UPDATE zone SET state = 0, token = NULL, needsFetch = 0, isRefetching = 2
                WHERE id = ?
                """, arguments: [row.key])
        try forgetHistory(of: row, database)
        // There is nothing to delete in a new zone. What another device sends again is: see repeatDeletion.
        try noteLoss(in: row, database)
        try database.execute(
            sql: "DELETE FROM pending WHERE zone = ? AND kind = 1", arguments: [row.key])
        try database.execute(
            sql: """
                UPDATE pending SET baseType = NULL, baseSystem = NULL, baseParent = NULL,
                    baseFields = NULL, isMadeAnew = 0, isUncertain = 0, earlier = x'' WHERE zone = ?
                """, arguments: [row.key])
        try removeSystem(ofRecordsIn: row, database)
        try database.execute(
            sql: """
                INSERT OR IGNORE INTO pending (zone, name, kind, generation, edited)
                SELECT zone, name, 0, 1, ? FROM record WHERE zone = ?
                """, arguments: [nowMilliseconds, row.key])
    }
}
