import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import StratusSyncEngine

/// The rows of a database that a sync engine of the app keeps in step; see ``EngineStore``.
extension CacheStore {
    /// What one batch has at the most, as Apple's engine.
    private static let batchLimit = 250
    private static let batchBytes = 1_500_000
    private static let stateName = "engineState"

    func engineState() throws -> CKSyncEngine.State.Serialization? {
        let text = try read { database in
            try String.fetchOne(
                database, sql: "SELECT value FROM flag WHERE \(isHere) AND name = ?",
                arguments: [Self.stateName])
        }
        return try text.map {
            try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: Data($0.utf8))
        }
    }

    func setEngineState(_ state: CKSyncEngine.State.Serialization) throws {
        let text = String(decoding: try JSONEncoder().encode(state), as: UTF8.self)
        try file.write { database in
            try database.execute(
                sql: "INSERT OR REPLACE INTO flag (database, name, value) VALUES (?, ?, ?)",
                arguments: [scope.rawValue, Self.stateName, text])
        }
    }

    /// Zones that came and went; the tokens are the engine's.
    func applyFromEngine(
        changed: [ZoneID], deleted: [(ZoneID, ZoneDeletionReason)]
    ) throws -> CacheOutcome {
        let page = DatabasePage(
            changed: changed, deleted: deleted.map { (zone: $0.0, reason: $0.1) }, token: "")
        return try apply(page, isFull: false).outcome
    }

    /// Records that came and went. The engine may tell of them before it tells of their zone.
    func applyFromEngine(_ page: ZonePage, of zone: ZoneID) throws -> CacheOutcome {
        if try !isFetched(zone) { _ = try applyFromEngine(changed: [zone], deleted: []) }
        return try apply(page, of: zone)
    }

    /// The changes that wait for these records, as many as fit a batch, marked as under way; and which of
    /// them have none.
    func outgoing(
        _ ids: [RecordID]
    ) throws -> (batch: [OutgoingChange], stale: [RecordID]) {
        var stale: [RecordID] = []
        var batch: [OutgoingChange] = []
        try file.write { database in
            var bytes = 0
            for id in ids {
                guard let zone = try zone(id.zoneID, database),
                    let row = try pending(id.name, zone, database), row.failure == nil
                else {
                    stale.append(id)
                    continue
                }
                // It waits for a newer app, with its zone.
                if held.withLock({ $0[zone.key] != nil }) || zone.state == .detached { continue }
                // Its files are not at the service, and only the cache's own syncing uploads them.
                if row.change.kind == .save, try waitsForUpload(row, database) { continue }
                let client = row.change.kind == .save ? try record(id.name, zone, database) : nil
                bytes += client?.sizeEstimateBytes ?? 64
                if !batch.isEmpty, batch.count == Self.batchLimit || bytes > Self.batchBytes {
                    break
                }
                batch.append(
                    OutgoingChange(
                        change: row.change, client: client, base: row.base, sequence: row.sequence))
            }
            let list = batch.map { "\($0.sequence)" }.joined(separator: ",")
            try database.execute(
                sql: """
                    UPDATE pending SET isUncertain = CASE isUncertain WHEN 0 THEN 2 ELSE 1 END
                    WHERE sequence IN (\(list))
                    """)
            clock.noteSending()
        }
        return (batch, stale)
    }

    /// What waits for each of these records, and their zones that the service has not.
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
