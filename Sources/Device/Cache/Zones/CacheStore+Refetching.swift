import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// A fetch of everything, requested by the app.
///
/// A full fetch does not show what was deleted or what the service lost; only an answer to a token does. So each token
/// is used once more, and the full fetch begins at the end of that answer.
extension CacheStore {
    private func refetchName(of zone: CachedZoneRow) -> String { "refetch/\(zone.key)" }
    private func refetchedAfterName(of zone: CachedZoneRow) -> String {
        "refetchedAfter/\(zone.key)"
    }

    /// Causes everything to be fetched again; pending changes stay.
    ///
    /// - Returns: the zones.
    func refetchEverything() throws -> [ZoneID] {
        try file.write { database in
            try setFlag(CacheFlag.isRefetching, "1", database)
            let rows = try CachedZoneRow.all(where: "\(isHere) AND state = 1", database)
            for row in rows {
                // Without a token the next fetch is a full one. An empty token means that a sync engine has it.
                if let token = row.token, !token.isEmpty {
                    try setText("1", named: refetchName(of: row), database)
                }
                try needFetch(of: row, database)
            }
            try file.noteChange(of: [], in: scope, database)
            return rows.map(\.id)
        }
    }

    /// At the end of a zone's changes, begins the full fetch that the app requested.
    func beginRefetch(_ zone: CachedZoneRow, _ outcome: inout CacheOutcome, _ database: Database)
        throws
    {
        guard try text(named: refetchName(of: zone), database) != nil else { return }
        try forgetRefetch(of: zone, database)
        // The tags show whether the service loses something before the full fetch has a token.
        try keepTags(through: .max, of: zone, database)
        let newest = try sentTags(of: zone, database).compactMap {
            RecordSnapshot.SystemFields.version(ofTag: $0)
        }.max()
        if let newest { try noteRefetch(of: zone, after: newest, database) }
        try database.execute(
            sql: "UPDATE zone SET token = NULL, needsFetch = 1 WHERE id = ?",
            arguments: [zone.key])
        outcome.staleZones.insert(zone.id)
    }

    /// Notes that a full fetch begins, and up to which version of the zone everything is here.
    func noteRefetch(of zone: CachedZoneRow, after version: Int64, _ database: Database) throws {
        try setText("\(version)", named: refetchedAfterName(of: zone), database)
    }

    /// The version of the zone up to which everything was here when a full fetch began that the app requested, or that
    /// followed an expired token of a zone that has lost nothing; nil if none is running. The fetch names the deletions
    /// after it.
    func refetchedAfter(_ zone: CachedZoneRow, _ database: Database) throws -> Int64? {
        try text(named: refetchedAfterName(of: zone), database).flatMap { Int64($0) }
    }

    /// Cancels a requested full fetch, whether or not it has begun.
    func forgetRefetch(of zone: CachedZoneRow, _ database: Database) throws {
        try setText(nil, named: refetchName(of: zone), database)
        try forgetRefetchedAfter(of: zone, database)
    }

    /// Forgets that version at the end of a full fetch. The app may have requested another fetch meanwhile.
    func forgetRefetchedAfter(of zone: CachedZoneRow, _ database: Database) throws {
        try setText(nil, named: refetchedAfterName(of: zone), database)
    }

    /// Whether all zones of the service are to be deleted. Answers of the app's sync engine have no token and are never
    /// full, so they would never end the deletion.
    func isErasing(_ pages: DatabasePage, _ database: Database) throws -> Bool {
        try !pages.token.isEmpty && flag(CacheFlag.isErasing, database) != nil
    }

    /// Keeps the token of an answer, unless the app has requested, perhaps during the request, something that only a
    /// full answer contains. Then the next answer is full, and the token is one of those that the service must still
    /// know.
    func keepDatabaseToken(
        of pages: DatabasePage, isFull: Bool, _ database: Database
    ) throws {
        let isRefetching = try flag(CacheFlag.isRefetching, database) != nil && !pages.token.isEmpty
        let isFullNext = try !isFull && (isRefetching || isErasing(pages, database))
        try forgetZonesTokens(database)
        if isFullNext { try addZonesToken(pages.token, database) }
        try setFlag(CacheFlag.databaseToken, isFullNext ? nil : pages.token, database)
        guard isFull else { return }
        try setFlag(CacheFlag.isErasing, nil, database)
        try setFlag(CacheFlag.isRefetching, nil, database)
    }
}
