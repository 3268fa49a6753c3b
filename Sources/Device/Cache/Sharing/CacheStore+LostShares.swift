import GRDB
import StratusClient
import StratusRecords

/// Shares that the service lost. A save creates no share, and whether people are invited again is the app's decision;
/// so they are removed here and reported, with their participants.
extension CacheStore {
    /// Removes the shares of a zone that is created again, with their pending changes.
    func removeShares(
        of zone: CachedZoneRow, _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        let names = try String.fetchAll(
            database, sql: "SELECT name FROM record WHERE zone = ? AND type = ? ORDER BY id",
            arguments: [zone.key, CKRecord.SystemType.share])
        var shares: [RecordSnapshot] = []
        for name in names {
            guard let share = try record(name, zone, database) else { continue }
            shares.append(share)
            try removeShare(share, zone, &outcome, database)
        }
        try reportLost(shares, &outcome)
    }

    func removeShare(
        _ share: RecordSnapshot, _ zone: CachedZoneRow, _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws {
        if let row = try pending(share.id.name, zone, database) { try removePending(row, database) }
        try removeRecord(share.id.name, zone, database)
        outcome.changedIDs.insert(share.id)
    }

    /// Reports the share here if the service has it in another state because it lost this one.
    func reportLostShare(
        _ server: RecordSnapshot, _ zone: CachedZoneRow, _ lost: LostHistory?,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        guard let lost, let here = try record(server.id.name, zone, database),
            here.system?.changeTag != server.system?.changeTag, isLostShare(here, lost)
        else { return }
        try reportLost([here], &outcome)
    }

    /// Whether a record is a share of this user whose state here was lost: participants may be missing at the service.
    func isLostShare(_ record: RecordSnapshot, _ lost: LostHistory) -> Bool {
        guard createsZones, let system = record.system, system.sharing != nil else { return false }
        return lost.contains(system)
    }

    func reportLost(_ shares: [RecordSnapshot], _ outcome: inout CacheOutcome) throws {
        let shares = try shares.compactMap { try $0.record() as? CKShare }
        if !shares.isEmpty { outcome.events.append(.sharesLost(shares)) }
    }
}

extension RecordSnapshot {
    /// The form in which a report has a record that the service does not have: a new record with the same values. A
    /// share keeps its participants.
    func missingRecord() throws -> CKRecord {
        if type == CKRecord.SystemType.share { return try record() }
        var record = self
        record.system = nil
        return try record.record(changedSince: nil)
    }
}
