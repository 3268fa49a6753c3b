import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import StratusSyncEngine

/// The rows of a database that the app's sync engine keeps up to date; see ``EngineStore``.
extension CacheStore {
    private static let stateName = "engineState"

    func engineState() throws -> CKSyncEngine.State.Serialization? {
        try read { database in
            let text = try String.fetchOne(
                database, sql: "SELECT value FROM flag WHERE \(isHere) AND name = ?",
                arguments: [Self.stateName])
            return try text.map {
                try StoredJSON.decode(CKSyncEngine.State.Serialization.self, from: Data($0.utf8))
            }
        }
    }

    func setEngineState(_ state: CKSyncEngine.State.Serialization) throws {
        let text = String(decoding: try JSONEncoder().encode(state), as: UTF8.self)
        try file.write { database in
            try database.execute(
                sql: "INSERT OR REPLACE INTO flag (database, name, value) VALUES (?, ?, ?)",
                arguments: [scope.rawValue, Self.stateName, text])
            if state.hasDatabaseToken {
                try setFlag(CacheFlag.isDatabaseTokenExpired, nil, database)
            }
        }
    }

    /// Applies created and deleted zones that the engine fetched; the engine keeps the tokens.
    ///
    /// - Parameters:
    ///   - generations: those of the zones, if the service says so.
    ///   - unconfirmed: as in ``apply(_:isFull:unconfirmed:)``.
    /// - Returns: also the zones that are created again, with their records.
    func applyFromEngine(
        changed: [ZoneID], deleted: [(ZoneID, ZoneDeletionReason)],
        generations: [ZoneID: Int64] = [:], unconfirmed: [ZoneID] = []
    ) throws -> (outcome: CacheOutcome, recreated: [ZoneID]) {
        var page = DatabasePage(
            changed: changed, deleted: deleted.map { (zone: $0.0, reason: $0.1) }, token: "")
        page.generations = generations
        let (outcome, _, recreated) = try apply(page, isFull: false, unconfirmed: unconfirmed)
        return (outcome, recreated)
    }

    /// The zones that were at the service, as far as this device knows.
    func zonesKnown() throws -> [ZoneID] {
        // No answer names the default zone.
        try read { try CachedZoneRow.all(where: "\(isHere) AND state IN (1, 5)", $0).map(\.id) }
            .filter { !$0.isDefault }
    }

    /// Applies saved and deleted records that the engine fetched. The engine may report them before their zone.
    func applyFromEngine(_ page: ZonePage, of zone: ZoneID) throws -> CacheOutcome {
        if try !isFetched(zone) { _ = try applyFromEngine(changed: [zone], deleted: []) }
        return try apply(page, of: zone)
    }

    /// Begins a full fetch of a zone: records that it does not contain no longer exist.
    func beginFetchFromEngine(_ zone: ZoneID) throws {
        if try !isFetched(zone) { _ = try applyFromEngine(changed: [zone], deleted: []) }
        // Treated as a first fetch, in which the service names records that this device created and others deleted.
        try file.write { database in
            try database.execute(
                sql: """
                    UPDATE zone SET token = NULL, pass = pass + 1, isRefetching = 2
                    WHERE \(isHere) AND name = ? AND owner = ? AND state IN (0, 1)
                    """, arguments: [zone.name, zone.ownerName])
        }
    }

    /// Ends a fetch of the zone's changes, all of which have arrived.
    func endFetchFromEngine(_ zone: ZoneID) throws -> CacheOutcome {
        guard try isFetched(zone) else { return CacheOutcome() }
        return try apply(ZonePage(token: "", moreComing: false), of: zone)
    }

    /// Notes that a zone is missing at the service: changes that were sent into it without an answer no longer exist
    /// there, and neither do records that were deleted in it.
    func noteMissing(_ zone: ZoneID) throws {
        try file.write { database in
            guard let row = try self.zone(zone, database) else { return }
            try allowRecreations(in: row, database)
            try requeueUnanswered(in: row, database)
        }
    }

    /// The records of a zone that wait for its changes; see ``isUnanswered``.
    func unansweredIDs(in zone: ZoneID) throws -> [RecordID] {
        try read { database in
            guard let row = try self.zone(zone, database), !isHeld(row) else { return [] }
            let waits =
                try "\(Self.isUnanswered) OR \(Self.waitsForDeletion)"
                + (isAwaited(row, database) ? " OR rounds > 0" : "")
                + (row.isNew ? " OR isSentAgain" : "")
            return try String.fetchAll(
                database, sql: "SELECT name FROM pending WHERE zone = ? AND (\(waits))",
                arguments: [row.key]
            ).map { RecordID(name: $0, zoneID: zone) }
        }
    }

    /// Whether the service has lost history of the database, and not all of the database was fetched since.
    func isDatabaseTokenExpired() throws -> Bool {
        try read { try flag(CacheFlag.isDatabaseTokenExpired, $0) != nil }
    }

    /// The zones whose changes must be fetched before pending changes can be sent.
    func zonesAwaited() throws -> [ZoneID] {
        try read { database in
            let unanswered = Set(try zonesWithUnanswered(database))
            let others = try CachedZoneRow.all(
                where: """
                    \(isHere) AND state = 1 AND id IN
                        (SELECT zone FROM pending WHERE rounds > 0 OR isSentAgain) ORDER BY id
                    """, database
            ).filter { try !unanswered.contains($0.id) && ($0.isNew || isAwaited($0, database)) }
            // Zones that are held wait for a newer app; fetching does not change that.
            return try (unanswered.sorted { $0.name < $1.name } + others.map(\.id))
                .filter { try zone($0, database).map { !isHeld($0) } ?? false }
        }
    }

    /// The pending changes of these records, marked as being sent: as many as fit a batch, each after those that it
    /// needs; and the records that have none. Changes that are ``isUnanswered`` wait, and so do changes that need them.
    /// Deletions that would delete moved records too wait or are set aside; see ``Departures``.
    func outgoing(
        _ ids: [RecordID], itemLimit: Int, bytesLimit: Int
    ) throws -> (batch: [OutgoingChange], stale: [RecordID], outcome: CacheOutcome) {
        let wanted = Set(ids)
        var stale: [RecordID] = []
        var walk = DependencyWalk<RecordID, OutgoingChange>()
        var batch = Batch(itemLimit: itemLimit, bytesLimit: bytesLimit)
        var departures = Departures()
        let outcome = try file.write { database in
            for id in ids where !batch.isFull && !walk.hasSeen(id) {
                guard let (row, zone) = try pendingRow(id, database) else {
                    stale.append(id)
                    continue
                }
                guard let change = try engineChange(row, zone, database) else {
                    batch.withhold(id)
                    continue
                }
                if try departures.withholds(change, row, zone, in: self, database) { continue }
                walk.begin(at: change)
                while !batch.isFull, let step = walk.next() {
                    switch step {
                    case .look(let id):
                        guard let (row, zone) = try pendingRow(id, database),
                            row.change.kind == .save
                        else { continue }
                        if wanted.contains(id), let change = try engineChange(row, zone, database) {
                            walk.begin(at: change)
                        } else if try waitsForChanges(row, zone, database) {
                            batch.withhold(id)
                        }
                    case .take(let change): batch.take(change)
                    }
                }
            }
            try noteSending(batch, database)
            return try setAside(departures.refused, database)
        }
        return (batch.changes, stale + departures.refused.map(\.change.id), outcome)
    }

    private func pendingRow(
        _ id: RecordID, _ database: Database
    ) throws -> (PendingRow, CachedZoneRow)? {
        guard let zone = try zone(id.zoneID, database),
            let row = try pending(id.name, zone, database), row.failure == nil
        else { return nil }
        return (row, zone)
    }

    /// The change that the engine may send now; nil if it must wait.
    private func engineChange(
        _ row: PendingRow, _ zone: CachedZoneRow, _ database: Database
    ) throws -> OutgoingChange? {
        // The change waits with its zone: for a newer app, because the zone is detached, or because another zone of its name
        // must be deleted first. Or it waits for the zone's changes.
        guard zone.state == .existing || zone.state == .wanted,
            try !isHeld(zone) && !waitsForChanges(row, zone, database)
        else { return nil }
        // Its files are not at the service; only the cache's own syncing uploads them.
        if try waitsForUpload(row, database) { return nil }
        return try outgoing(row, zone, database)
    }

    /// Whether a change must wait until its zone's changes are fetched. This includes a change that was refused because
    /// its record is missing, and one into a zone that is created again, where other devices may have deleted what they
    /// sent again.
    private func waitsForChanges(
        _ row: PendingRow, _ zone: CachedZoneRow, _ database: Database
    ) throws -> Bool {
        if row.isUnanswered || row.waitsForDeletion { return true }
        if row.isSentAgain, zone.state == .existing, zone.isNew { return true }
        return try row.change.conflictRounds > 0 && isAwaited(zone, database)
    }

    /// The kind of the pending change of each of these records, and those of their zones that the service does not
    /// have.
    func pendingKinds(
        _ ids: [RecordID]
    ) throws -> (kinds: [RecordID: PendingChange.Kind], wantedZones: [ZoneID]) {
        try read { database in
            var kinds: [RecordID: PendingChange.Kind] = [:]
            var wanted: Set<ZoneID> = []
            for id in ids {
                guard let zone = try zone(id.zoneID, database),
                    let row = try pending(id.name, zone, database), row.failure == nil
                else { continue }
                kinds[id] = row.change.kind
                if zone.state == .wanted { wanted.insert(zone.id) }
            }
            return (kinds, wanted.sorted { $0.name < $1.name })
        }
    }
}
