import GRDB
import StratusRecords
import StratusSQLite
import StratusSync

/// What a sync session starts with.
extension CacheStore {
    /// The state that a session needs to start with this file.
    func backlog() throws -> SyncBacklog {
        var backlog = try backlogOfZones()
        backlog.hasPendingChanges = try hasSendable()
        try read { database in
            backlog.isSubscriptionSaved = try flag(CacheFlag.isSubscriptionSaved, database) != nil
            backlog.isEnabled = try flag(CacheFlag.isDisabled, database) == nil
        }
        return backlog
    }

    /// The backlog of the zones, without the state of the database and of its pending changes.
    func backlogOfZones() throws -> SyncBacklog {
        try read { database in
            let unanswered = Set(try zonesWithUnanswered(database))
            let untried = try zonesWithUntriedRecords(database)
            var backlog = SyncBacklog()
            let statement = try SQLStatement(
                database,
                "SELECT \(CachedZoneRow.columns), needsFetch FROM zone WHERE \(isHere) ORDER BY id")
            try statement.rows { row in
                let zone = try CachedZoneRow(row)
                switch zone.state {
                case .wanted: backlog.zonesToCreate.append(zone.id)
                case .unwanted: backlog.zonesToDelete.append(zone.id)
                case .replaced:
                    backlog.zonesToDelete.append(zone.id)
                    backlog.zonesToReplace.append(zone.id)
                case .refused, .detached: break
                case .existing:
                    // Nothing is sent into a zone that was never fetched.
                    let needsFetch = try row.storedInteger(7) != 0
                    if needsFetch || zone.token == nil || unanswered.contains(zone.id)
                        || untried.contains(zone.key)
                    {
                        backlog.zonesToFetch.append(zone.id)
                    }
                }
                return true
            }
            return backlog
        }
    }
}
