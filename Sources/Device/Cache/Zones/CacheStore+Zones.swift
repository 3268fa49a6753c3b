import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync

/// Zones, and the changes of a database from the service.
extension CacheStore {
    func databaseToken() throws -> String? {
        // An empty token means that a sync engine of the app has the token.
        try read { try flag(CacheFlag.databaseToken, $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Removes the token and the subscription, because a service that lost one may have lost the
    /// other.
    ///
    /// - Parameter lastIntactVersion: the last intact version as named by the error; nil if it named none.
    func dropDatabaseToken(lastIntactVersion: Int64?) throws {
        try file.write { database in
            let known = try self.lastIntactDatabaseVersion(database)
            let intact = [known, lastIntactVersion].compactMap(\.self).min()
            // Until the next answer, only the tokens known here can reveal another restore. If there is no database
            // token, these tokens were the ones that the service did not know, so they are removed.
            if let token = try flag(CacheFlag.databaseToken, database), !token.isEmpty {
                try addZonesToken(token, database)
            } else {
                try forgetZonesTokens(database)
            }
            try setFlag(CacheFlag.databaseToken, nil, database)
            if lastIntactVersion != nil { try noteLossOfDatabase(database) }
            try setFlag(CacheFlag.isSubscriptionSaved, nil, database)
            try setFlag(
                CacheFlag.isDatabaseTokenExpired, intact.map { "version \($0)" } ?? "1", database)
        }
    }

    /// After an expiry, the version up to which this device knows the deletions of zones.
    func lastIntactDatabaseVersion() throws -> Int64? {
        try read { try lastIntactDatabaseVersion($0) }
    }

    private func lastIntactDatabaseVersion(_ database: Database) throws -> Int64? {
        try flag(CacheFlag.isDatabaseTokenExpired, database)
            .flatMap { Int64($0.dropFirst("version ".count)) }
    }

    func setEnabled(_ isEnabled: Bool) throws {
        try file.write { database in
            try setFlag(CacheFlag.isDisabled, isEnabled ? nil : "1", database)
            try file.noteChange(of: [], in: scope, database)
        }
    }

    /// The state of a zone; nil if it is unknown.
    func state(of id: ZoneID) throws -> CachedZoneRow.State? {
        try read { try zone(id, $0)?.state }
    }

    func isSubscriptionSaved() throws -> Bool {
        try read { try flag(.isSubscriptionSaved, $0) != nil }
    }

    func subscriptionSaved() throws {
        try file.write { database in
            try checkUser(database)
            try setFlag(CacheFlag.isSubscriptionSaved, "1", database)
        }
    }

    /// Adds a zone that must be created, before it has records.
    func wantZone(_ id: ZoneID) throws -> Bool {
        try file.write { database in
            var wanted: [ZoneID] = []
            _ = try wantedZone(id, &wanted, database)
            try file.noteChange(of: [], in: scope, database)
            return !wanted.isEmpty
        }
    }

    /// Deletes a zone here at once and on the service later, even if it is unknown here.
    func deleteZone(_ id: ZoneID) throws -> CacheOutcome {
        try write { database, outcome in
            guard !id.isDefault else {
                throw CacheError(
                    .invalidZone, "The default zone cannot be deleted. Delete its records.")
            }
            outcome.isLocal = true
            try readClock(database)
            let row = try zone(id, orMake: .unwanted, database)
            try noteUnwanted(row, database)
            _ = try removeContent(of: row, deleted: nowMilliseconds, &outcome, database)
            try database.execute(
                sql: "UPDATE zone SET state = 2, token = NULL, needsFetch = 0 WHERE id = ?",
                arguments: [row.key])
            try file.noteChange(of: [], in: scope, database)
        }
    }

    /// Stores the outcome of creating and deleting zones; the changes in a refused one are set
    /// aside with it.
    ///
    /// - Parameters:
    ///   - isKept: whether a deleted zone that exists here is created again: the app saved into it during the request.
    ///   - operationID: the identifier of the request that was answered.
    @discardableResult
    func zonesModified(
        created: [ZoneID], deleted: [ZoneID], isKept: Bool = false,
        refused: [ZoneID: SyncFailure] = [:], databaseToken: String? = nil,
        operationID: String? = nil
    ) throws -> CacheOutcome {
        try write { database, outcome in
            try checkUser(database)
            if let operationID { try endOperation(operationID, database) }
            if let databaseToken { try addZonesToken(databaseToken, database) }
            for id in created {
                guard let row = try zone(id, database), row.state == .wanted else { continue }
                try zoneIsThere(row, database)
                try forgetUnwanted(row, database)
            }
            for (id, failure) in refused {
                guard let row = try zone(id, database) else { continue }
                try setAside(row, failure, &outcome, database)
            }
            for id in deleted {
                if let row = try zone(id, database), row.state == .unwanted {
                    try removeDeleted(row, &outcome, database)
                }
                try database.execute(
                    sql: """
                        UPDATE zone SET state = 0, token = NULL, isRefetching = 2
                        WHERE \(isHere) AND name = ? AND owner = ? AND state IN (3, ?)
                        """,
                    arguments: [id.name, id.ownerName, isKept && createsZones ? 1 : 3])
            }
        }
    }

    /// Removes a zone that was deleted at the service. If others have created one of its name since, that is another
    /// zone, which stays there and is fetched.
    private func removeDeleted(
        _ row: CachedZoneRow, _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        let generation = try generationMadeSince(row, database)
        try removeRecords(of: row, database)
        // A later zone may get its key.
        try forgetLoss(in: row, database)
        try forgetUnwanted(row, database)
        try database.execute(sql: "DELETE FROM zone WHERE id = ?", arguments: [row.key])
        guard let generation else { return }
        let made = try zone(row.id, orMake: .existing, database)
        try needFetch(of: made, database)
        try setGeneration(generation, of: made, database)
        outcome.staleZones.insert(row.id)
    }

    /// Retries the changes that were set aside because their zone could not be created.
    private func zoneIsThere(_ row: CachedZoneRow, _ database: Database) throws {
        try setState(.existing, of: row, database)
        try database.cachedStatement(
            sql: "UPDATE pending SET errorCode = NULL, errorMessage = NULL WHERE zone = ?"
        ).execute(arguments: [row.key])
    }

    private func setAside(
        _ row: CachedZoneRow, _ failure: SyncFailure, _ outcome: inout CacheOutcome,
        _ database: Database
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
            // The zone still exists at the service, so it is fetched again.
            try keepUnwanted(row, database)
            try database.execute(
                sql: "UPDATE zone SET state = 1, token = NULL, needsFetch = 1 WHERE id = ?",
                arguments: [row.key])
            outcome.staleZones.insert(row.id)
        case .existing, .refused, .detached: return
        }
        outcome.events.append(.zoneSetAside(CKRecordZone.ID(row.id), failure))
    }

    /// Stores all pages of the database's changes and the last token in one transaction.
    ///
    /// The changed zones are stored with the token, so that a crash before they are fetched loses
    /// nothing. Zones that a full answer does not name are deleted here; but if the service lost
    /// history, as after a restore, they are created again with the records that are here.
    /// - Parameters:
    ///   - unconfirmed: zones that are missing at the service.
    ///   - returned: zones that were deleted before the service lost history and exist again; they
    ///     are deleted again.
    /// - Returns: the outcome, zones that were deleted, and zones to create again.
    func apply(
        _ pages: DatabasePage, isFull: Bool, unconfirmed: [ZoneID] = [], returned: Set<ZoneID> = []
    ) throws -> (outcome: CacheOutcome, gone: [ZoneID], recreated: [ZoneID]) {
        var gone: [ZoneID] = []
        var recreated: [ZoneID] = []
        let outcome = try write { database, outcome in
            try checkUser(database)
            let known = try deletionsKnown(in: pages, database)
            for (id, reason) in pages.deleted where !known.contains(id) {
                // A zone that waits to be created, or was refused, is not the deleted one.
                guard let row = try zone(id, database), row.state != .wanted,
                    !createsZones || row.state != .refused
                else { continue }
                // The zone was created again since, and must still be fetched as a whole.
                if row.state == .existing, row.isNew, pages.changed.contains(id) { continue }
                try zoneDeleted(row, reason, &gone, &recreated, &outcome, database)
            }
            // After the deletions: a zone in both lists was created again.
            let isErasing = try self.isErasing(pages, database)
            let isTrackLost = try flag(CacheFlag.isDatabaseTokenExpired, database) != nil
            for id in pages.changed where selection.contains(id) && !id.isDefault {
                if try isErasing && isErased(id, pages.generations[id], database) { continue }
                // The zone is deleted again, unless the app has created one of that name meanwhile.
                if returned.contains(id), try zone(id, database) == nil {
                    try setUnwanted(id, pages.generations[id], database)
                    outcome.events.append(
                        .changesLost(CKRecordZone.ID(id), sentAgain: [], deletedAgain: []))
                    continue
                }
                let isNew = try zone(id, database) == nil
                let row = try zone(id, orMake: .existing, database)
                if isNew { try noteLoss(inReturned: row, database) }
                // Another device was able to create the zone that the service refused to this one.
                if row.state == .refused { try zoneIsThere(row, database) }
                try database.cachedStatement(
                    sql: "UPDATE zone SET needsFetch = (state < 2) WHERE id = ?"
                ).execute(arguments: [row.key])
                if let generation = pages.generations[id] {
                    try setGeneration(generation, of: row, database)
                }
            }
            let named = Set(pages.changed).union(pages.deleted.map(\.zone)).subtracting(known)
            try fetchZonesAhead(butFor: named, database)
            for row in try absentZones(isFull: isFull, unconfirmed: unconfirmed, database)
            where !named.contains(row.id) && !row.id.isDefault {
                // No deletion of the zone is known, so the records and deletions here may be the
                // only copies. A full answer lists no deletions: a zone that is missing in it,
                // without a loss, was deleted.
                let isLost =
                    try isTrackLost && (hasContent(row, database) || hasDeletions(row, database))
                    || !isFull && hasContent(row, database)
                if createsZones, row.state == .existing, isLost {
                    try recreate(row, &outcome, database)
                    recreated.append(row.id)
                } else {
                    try zoneDeleted(row, nil, &gone, &recreated, &outcome, database)
                }
            }
            for id in unconfirmed where try zone(id, database) == nil && !gone.contains(id) {
                gone.append(id)
            }
            try keepDatabaseToken(of: pages, isFull: isFull, database)
            try setFlag(CacheFlag.lastFetch, "\(world.nowMilliseconds())", database)
            // A sync engine's pages come one by one, without a token: see `setEngineState`.
            if !pages.token.isEmpty {
                try setFlag(CacheFlag.isDatabaseTokenExpired, nil, database)
            }
        }
        return (outcome, gone, recreated)
    }

    /// Handles a fetch that reports that the person removed a zone.
    func purge(_ id: ZoneID) throws -> (outcome: CacheOutcome, recreated: [ZoneID]) {
        var gone: [ZoneID] = []
        var recreated: [ZoneID] = []
        let outcome = try write { database, outcome in
            try checkUser(database)
            guard let row = try zone(id, database) else { return }
            try zoneDeleted(row, .purged, &gone, &recreated, &outcome, database)
        }
        return (outcome, recreated)
    }

    /// Zones that a full answer of the service does not name.
    private func absentZones(
        isFull: Bool, unconfirmed: [ZoneID], _ database: Database
    ) throws -> [CachedZoneRow] {
        let rows = try CachedZoneRow.all(where: "\(isHere) AND state IN (1, 5)", database)
        return isFull ? rows : rows.filter { unconfirmed.contains($0.id) }
    }

    func hasContent(_ row: CachedZoneRow, _ database: Database) throws -> Bool {
        try Bool.fetchOne(
            database,
            sql: """
                SELECT EXISTS (SELECT 1 FROM record WHERE zone = ?)
                    OR EXISTS (SELECT 1 FROM pending WHERE zone = ? AND kind = 0)
                """, arguments: [row.key, row.key]) ?? false
    }

    /// Whether this device deleted records of a zone, which other devices may send again after a
    /// loss.
    private func hasDeletions(_ row: CachedZoneRow, _ database: Database) throws -> Bool {
        try Bool.fetchOne(
            database,
            sql: """
                SELECT EXISTS (SELECT 1 FROM pending WHERE zone = ? AND kind = 1)
                    OR EXISTS (SELECT 1 FROM tombstone WHERE \(isHere) AND owner = ? AND zone = ?
                        AND name <> '' AND deleted IS NOT NULL)
                """, arguments: [row.key, row.id.ownerName, row.id.name]) ?? false
    }

    /// - Parameter reason: nil if the zone is missing without a reported deletion.
    private func zoneDeleted(
        _ row: CachedZoneRow, _ reason: ZoneDeletionReason?, _ gone: inout [ZoneID],
        _ recreated: inout [ZoneID], _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        if row.state == .detached {
            return try database.execute(
                sql: "UPDATE zone SET token = ? WHERE id = ?",
                arguments: [CachedZoneRow.gone, row.key])
        }
        gone.append(row.id)
        if row.state == .replaced {
            try database.execute(
                sql: "UPDATE zone SET state = 0, isRefetching = 2 WHERE id = ?",
                arguments: [row.key])
            return
        }
        if policy == .recreate, row.state == .existing, try hasContent(row, database) {
            try recreate(row, &outcome, database)
            recreated.append(row.id)
            // The person removed it, so the app may want to ask before it keeps the zone.
            if reason == .purged {
                outcome.events.append(
                    .zoneDeleted(CKRecordZone.ID(row.id), reason: .purged, lostChanges: []))
            }
            return
        }
        if reason == nil { try setGeneration(nil, of: row, database) }
        let lost = try removeContent(of: row, deleted: nil, &outcome, database)
        // A later zone may get its key.
        try forgetUnwanted(row, database)
        try database.execute(sql: "DELETE FROM zone WHERE id = ?", arguments: [row.key])
        // The app itself deleted an unwanted zone, so it is not reported.
        guard row.state == .existing else { return }
        outcome.events.append(
            .zoneDeleted(
                CKRecordZone.ID(row.id), reason: reason ?? .deleted,
                lostChanges: lost.map { CKRecord.ID($0) }))
    }

    /// - Parameter milliseconds: when the zone was deleted here; nil if it was deleted elsewhere.
    /// - Returns: the records whose changes were pending.
    func removeContent(
        of row: CachedZoneRow, deleted milliseconds: Int64?, _ outcome: inout CacheOutcome,
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
        try forgetUnreadable(in: row, database)
        try forgetHistory(of: row, database)
        try forgetLoss(in: row, database)
        try keepGeneration(ofDeleted: row, hadRecords: !removed.isEmpty, database)
        return lost.map { RecordID(name: $0, zoneID: row.id) }
    }

    func forgetHistory(of row: CachedZoneRow, _ database: Database) throws {
        try setLastIntactVersion(nil, of: row, database)
        try forgetRefetch(of: row, database)
        try forgetProgress(of: row, database)
        try forgetReceived(in: row, database)
        try forgetSentTags(of: row, database)
        try forgetRemaking(of: row, database)
        try setAwaited(false, row, database)
    }
}
