import GRDB
import StratusRecords

/// Zones that are created again with the records of this device.
extension CacheStore {
    /// Marks a zone to be created, removes the system fields of its records, and queues them, except shares, which are
    /// reported. The next fetch of the zone counts as its first.
    func recreate(
        _ row: CachedZoneRow, _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        try removeShares(of: row, &outcome, database)
        try database.execute(
            sql: """
                UPDATE zone SET state = 0, token = NULL, needsFetch = 0, isRefetching = 2
                WHERE id = ?
                """, arguments: [row.key])
        try forgetHistory(of: row, database)
        // The next zone of this name has another generation, which the database's changes will report.
        try setGeneration(nil, of: row, database)
        // Another device may create the zone first, send records again and delete some of them.
        try setLastIntactVersion(0, of: row, database)
        // A new zone has no records to delete. Records that another device sends again are deleted
        // by repeatDeletion.
        try noteLoss(in: row, database)
        try noteLostDeletions(in: row.id, after: 0, database)
        try database.execute(
            sql: "DELETE FROM pending WHERE zone = ? AND kind = 1", arguments: [row.key])
        try database.execute(
            sql: """
                UPDATE pending SET isSentAgain = isSentAgain OR baseType IS NOT NULL,
                    generation = generation + (isSentAgain = 0), baseType = NULL,
                    baseSystem = NULL, baseParent = NULL, baseFields = NULL, isMadeAnew = 0,
                    isUncertain = 0, earlier = x'' WHERE zone = ?
                """, arguments: [row.key])
        try database.execute(
            sql: """
                INSERT OR IGNORE INTO pending (zone, name, kind, generation, edited, isSentAgain)
                SELECT zone, name, 0, 1, ?, system IS NOT NULL FROM record WHERE zone = ?
                """, arguments: [nowMilliseconds, row.key])
        try removeSystem(ofRecordsIn: row, database)
    }
}
