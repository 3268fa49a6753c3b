import Foundation
import GRDB
import StratusRecords
import StratusSync

/// What the service tells of a zone's records: pages of changes, each written with its token.
extension CacheStore {
    /// The token to fetch a zone's changes with; nil starts a full fetch.
    func beginFetch(_ id: ZoneID) throws -> String? {
        try pool.write { database in
            let row = try zone(id, orMake: .existing, database)
            guard row.token == nil else { return row.token }
            try database.execute(
                sql: "UPDATE zone SET pass = pass + 1, isRefetching = 1 WHERE id = ?",
                arguments: [row.key])
            return nil
        }
    }

    /// Writes a page and its token in one transaction.
    ///
    /// Replaying a page changes nothing; a record with a local edit or deletion is never overwritten,
    /// its base is: the conflict is decided here, so that the next upload goes out with a fresh tag.
    func apply(_ page: ZonePage, of id: ZoneID) throws -> CacheNews {
        try write { database, news in
            guard let zone = try zone(id, database) else { return }
            let pendingCount = try Int.fetchOne(
                database, sql: "SELECT EXISTS (SELECT 1 FROM pending WHERE zone = ?)",
                arguments: [zone.key])
            let hasPending = pendingCount == 1
            for server in page.records {
                if hasPending, let row = try pending(server.id.name, zone, database) {
                    try meet(server, row, zone, countsRound: false, &news, database)
                } else {
                    try takeOver(server, zone, &news, database)
                }
                if news.haltReason != nil { return }
            }
            for name in page.deletedNames {
                try meetDeletion(of: name, zone, &news, database)
            }
            if !page.moreComing, zone.isRefetching {
                try reconcile(zone, &news, database)
            }
            try database.execute(
                sql: """
                    UPDATE zone SET token = ?, state = max(state, 1),
                        isRefetching = isRefetching AND ?, needsFetch = needsFetch AND ?
                    WHERE id = ?
                    """,
                arguments: [page.token, page.moreComing, page.moreComing, zone.key])
        }
    }

    /// Forgets a zone's token; the next fetch is a full one.
    func dropToken(of id: ZoneID) throws {
        try pool.write { database in
            try database.execute(
                sql: "UPDATE zone SET token = NULL, needsFetch = 1 WHERE name = ? AND owner = ?",
                arguments: [id.name, id.ownerName])
        }
    }

    /// The service's record takes the place of a row without local edits.
    private func takeOver(
        _ server: RecordSnapshot, _ zone: ZoneRow, _ news: inout CacheNews, _ database: Database
    ) throws {
        let statement = try database.cachedStatement(
            sql: "SELECT system FROM record WHERE zone = ? AND name = ?")
        let known = try Data.fetchOne(statement, arguments: [zone.key, server.id.name])
        if let known, known == server.systemData {
            if zone.isRefetching {
                try putSystem(server.system, of: server.id.name, zone, database)
            }
            return
        }
        try put(server, zone, database)
        news.changedIDs.insert(server.id)
    }

    /// What a full fetch did not bring is deleted.
    private func reconcile(
        _ zone: ZoneRow, _ news: inout CacheNews, _ database: Database
    ) throws {
        let names = try String.fetchAll(
            database,
            sql: "SELECT name FROM record WHERE zone = ? AND system IS NOT NULL AND pass <> ?",
            arguments: [zone.key, zone.pass])
        for name in names {
            try meetDeletion(of: name, zone, &news, database)
        }
    }

    /// The service deleted a record, here or elsewhere.
    func meetDeletion(
        of name: String, _ zone: ZoneRow, _ news: inout CacheNews, _ database: Database
    ) throws {
        let id = RecordID(name: name, zoneID: zone.id)
        guard var row = try pending(name, zone, database) else {
            try removeRecord(name, zone, database)
            if database.changesCount > 0 { news.changedIDs.insert(id) }
            return
        }
        guard row.change.kind == .save, let client = try record(name, zone, database) else {
            try removePending(row, database)
            return
        }
        // Made here anew since: the deletion is old news.
        guard row.base != nil else { return }
        switch resolver.resolveDeletion(
            of: client, clientEditedMilliseconds: row.editedMilliseconds)
        {
        case .acceptDeletion:
            try removePending(row, database)
            try removeRecord(name, zone, database)
            news.changedIDs.insert(id)
            news.events.append(.editOfDeletedRecord(client: try client.record()))
        case .resurrect:
            row.base = nil
            row.earlier = []
            try update(row, database)
            try putSystem(nil, of: name, zone, database)
        }
    }
}
