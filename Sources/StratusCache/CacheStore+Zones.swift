import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// Zones, and what the service tells of a database.
extension CacheStore {
    /// What a session must know to start on this file.
    func backlog() throws -> SyncBacklog {
        let hasPending = try hasSendable()
        return try pool.read { database in
            var backlog = SyncBacklog(hasPendingChanges: hasPending)
            backlog.isSubscriptionSaved =
                try flag(CacheFlag.isSubscriptionSaved, database) != nil
            let rows = try Row.fetchCursor(
                database, sql: "SELECT \(ZoneRow.columns), needsFetch FROM zone ORDER BY id")
            while let row = try rows.next() {
                let zone = ZoneRow(row)
                switch zone.state {
                case .wanted: backlog.zonesToCreate.append(zone.id)
                case .unwanted: backlog.zonesToDelete.append(zone.id)
                case .replaced:
                    backlog.zonesToDelete.append(zone.id)
                    backlog.zonesToReplace.append(zone.id)
                case .existing:
                    if row[7] as Bool { backlog.zonesToFetch.append(zone.id) }
                }
            }
            return backlog
        }
    }

    func databaseToken() throws -> String? {
        try pool.read { try flag(CacheFlag.databaseToken, $0) }
    }

    func dropDatabaseToken() throws {
        try pool.write { try setFlag(CacheFlag.databaseToken, nil, $0) }
    }

    func subscriptionSaved() throws {
        try pool.write { try setFlag(CacheFlag.isSubscriptionSaved, "1", $0) }
    }

    /// Wants a zone before it has records.
    func wantZone(_ id: ZoneID) throws -> Bool {
        try pool.write { database in
            var wanted: [ZoneID] = []
            _ = try wantedZone(id, &wanted, database)
            return !wanted.isEmpty
        }
    }

    /// Deletes a zone here at once, and on the service later.
    func unwantZone(_ id: ZoneID) throws -> CacheNews {
        try write { database, news in
            guard let row = try zone(id, database) else { return }
            _ = try removeContent(of: row, &news, database)
            try database.execute(
                sql: "UPDATE zone SET state = 2, token = NULL, needsFetch = 0 WHERE id = ?",
                arguments: [row.key])
        }
    }

    func zonesModified(created: [ZoneID], deleted: [ZoneID]) throws {
        try pool.write { database in
            for id in created {
                try database.execute(
                    sql: "UPDATE zone SET state = 1 WHERE name = ? AND owner = ? AND state = 0",
                    arguments: [id.name, id.ownerName])
            }
            for id in deleted {
                try database.execute(
                    sql: "DELETE FROM zone WHERE name = ? AND owner = ? AND state = 2",
                    arguments: [id.name, id.ownerName])
                try database.execute(
                    sql: "UPDATE zone SET state = 0 WHERE name = ? AND owner = ? AND state = 3",
                    arguments: [id.name, id.ownerName])
            }
        }
    }

    /// Writes all pages of the database's changes and the last token in one transaction.
    ///
    /// Which zones changed is remembered with the token, so that a crash before they are fetched loses
    /// nothing. After a full answer, zones that it does not name are gone.
    /// - Returns: the news, zones that are gone, and zones to create anew under the policy `recreate`.
    func apply(
        _ pages: DatabasePage, isFull: Bool
    ) throws -> (news: CacheNews, gone: [ZoneID], recreated: [ZoneID]) {
        var gone: [ZoneID] = []
        var recreated: [ZoneID] = []
        let news = try write { database, news in
            for id in pages.changed where selection.contains(id) && !id.isDefault {
                let row = try zone(id, orMake: .existing, database)
                try database.execute(
                    sql: "UPDATE zone SET needsFetch = (state < 2) WHERE id = ?",
                    arguments: [row.key])
            }
            var deletions = pages.deleted
            if isFull {
                let named = Set(pages.changed).union(deletions.map(\.zone))
                let rows = try Row.fetchAll(
                    database, sql: "SELECT \(ZoneRow.columns) FROM zone WHERE state = 1")
                deletions += rows.map { ZoneRow($0).id }
                    .filter { !named.contains($0) && !$0.isDefault }
                    .map { (zone: $0, reason: ZoneDeletionReason.deleted) }
            }
            for (id, reason) in deletions {
                guard let row = try zone(id, database), row.state != .wanted else { continue }
                try zoneDeleted(row, reason, &gone, &recreated, &news, database)
            }
            try setFlag(CacheFlag.databaseToken, pages.token, database)
        }
        return (news, gone, recreated)
    }

    /// A fetch told that a zone was removed by the person.
    func purge(_ id: ZoneID) throws -> (news: CacheNews, recreated: [ZoneID]) {
        var gone: [ZoneID] = []
        var recreated: [ZoneID] = []
        let news = try write { database, news in
            guard let row = try zone(id, database) else { return }
            try zoneDeleted(row, .purged, &gone, &recreated, &news, database)
        }
        return (news, recreated)
    }

    /// Marks zones to be created, forgets all that the service knew of their records, and queues these.
    func recreate(_ ids: [ZoneID]) throws {
        try pool.write { database in
            for id in ids {
                if let row = try zone(id, database) { try recreate(row, database) }
            }
        }
    }

    private func zoneDeleted(
        _ row: ZoneRow, _ reason: ZoneDeletionReason, _ gone: inout [ZoneID],
        _ recreated: inout [ZoneID], _ news: inout CacheNews, _ database: Database
    ) throws {
        gone.append(row.id)
        if row.state == .replaced {
            try database.execute(
                sql: "UPDATE zone SET state = 0 WHERE id = ?", arguments: [row.key])
            return
        }
        if policy == .recreate, row.state == .existing {
            try recreate(row, database)
            recreated.append(row.id)
            return
        }
        let lost = try removeContent(of: row, &news, database)
        try database.execute(sql: "DELETE FROM zone WHERE id = ?", arguments: [row.key])
        // The app itself asked for the deletion of an unwanted zone.
        guard row.state == .existing else { return }
        news.events.append(
            .zoneDeleted(
                CKRecordZone.ID(row.id), reason: reason,
                lostChanges: lost.map { CKRecord.ID($0) }))
    }

    /// - Returns: the records whose changes were pending.
    private func removeContent(
        of row: ZoneRow, _ news: inout CacheNews, _ database: Database
    ) throws -> [RecordID] {
        let names = try String.fetchAll(
            database, sql: "SELECT name FROM record WHERE zone = ?", arguments: [row.key])
        news.changedIDs.formUnion(names.map { RecordID(name: $0, zoneID: row.id) })
        let lost = try String.fetchAll(
            database, sql: "SELECT name FROM pending WHERE zone = ? ORDER BY sequence",
            arguments: [row.key])
        try database.execute(sql: "DELETE FROM record WHERE zone = ?", arguments: [row.key])
        try database.execute(sql: "DELETE FROM pending WHERE zone = ?", arguments: [row.key])
        return lost.map { RecordID(name: $0, zoneID: row.id) }
    }

    private func recreate(_ row: ZoneRow, _ database: Database) throws {
        try database.execute(
            sql: """
                UPDATE zone SET state = 0, token = NULL, needsFetch = 0, isRefetching = 0
                WHERE id = ?
                """, arguments: [row.key])
        try database.execute(
            sql: "DELETE FROM pending WHERE zone = ? AND kind = 1", arguments: [row.key])
        try database.execute(
            sql: """
                UPDATE pending SET baseType = NULL, baseSystem = NULL, baseParent = NULL,
                    baseFields = NULL WHERE zone = ?
                """, arguments: [row.key])
        try database.execute(
            sql: "UPDATE record SET system = NULL WHERE zone = ?", arguments: [row.key])
        try database.execute(
            sql: """
                INSERT OR IGNORE INTO pending (zone, name, kind, generation, edited)
                SELECT zone, name, 0, 1, ? FROM record WHERE zone = ?
                """, arguments: [clock.wallMilliseconds(), row.key])
    }
}
