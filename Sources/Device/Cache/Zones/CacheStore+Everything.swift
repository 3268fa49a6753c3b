import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// Whole zones, and all of them.
extension CacheStore {
    /// Lets everything be fetched again, as if nothing had been; what is pending stays.
    ///
    /// - Returns: the zones.
    func forgetTokens() throws -> [ZoneID] {
        try file.write { database in
            try setFlag(CacheFlag.databaseToken, nil, database)
            try database.execute(
                sql: "UPDATE zone SET token = NULL, needsFetch = 1 WHERE \(isHere) AND state = 1")
            try file.noteChange(of: [], in: scope, database)
            return try Row.fetchAll(
                database, sql: "SELECT \(ZoneRow.columns) FROM zone WHERE \(isHere) AND state = 1"
            ).map { ZoneRow($0).id }
        }
    }

    /// Deletes all zones here at once; those of the service are asked for, and deleted too.
    func unwantEverything() throws -> CacheOutcome {
        try write { database, outcome in
            let rows = try Row.fetchAll(
                database, sql: "SELECT \(ZoneRow.columns) FROM zone WHERE \(isHere)"
            ).map { ZoneRow($0) }
            for row in rows {
                _ = try removeContent(of: row, deleted: nowMilliseconds, &outcome, database)
                guard !row.id.isDefault else { continue }
                try setUnwanted(row, database)
            }
            try setFlag(CacheFlag.databaseToken, nil, database)
            try setFlag(CacheFlag.isErasing, "1", database)
            try file.noteChange(of: [], in: scope, database)
        }
    }

    func setUnwanted(_ row: ZoneRow, _ database: Database) throws {
        try database.execute(
            sql: "UPDATE zone SET state = 2, token = NULL, needsFetch = 0 WHERE id = ?",
            arguments: [row.key])
    }

    /// While everything is deleted: whether a zone of the service goes, too. One that the app made since stays.
    func isErased(_ id: ZoneID, _ database: Database) throws -> Bool {
        let known = try zone(id, database)
        guard known == nil || known?.state == .unwanted else { return false }
        try setUnwanted(try zone(id, orMake: .unwanted, database), database)
        return true
    }

    /// Lets a zone be neither fetched nor sent.
    func detach(_ id: ZoneID) throws {
        try file.write { database in
            guard let row = try zone(id, database), !id.isDefault, row.state != .unwanted else {
                throw CacheError(.invalidZone, "The zone is not on this device. Name one that is.")
            }
            guard row.state != .detached else { return }
            try database.execute(
                sql: "UPDATE zone SET state = 5, token = NULL, needsFetch = 0 WHERE id = ?",
                arguments: [row.key])
            try file.noteChange(of: [], in: scope, database)
        }
    }

    /// Lets a zone be synced again: all of it is fetched, and what was edited meanwhile is merged. One that the service has
    /// no more is made anew.
    func attach(_ id: ZoneID) throws {
        try file.write { database in
            guard let row = try zone(id, database) else {
                throw CacheError(.invalidZone, "The zone is not on this device. Name one that is.")
            }
            guard row.state == .detached else { return }
            try file.noteChange(of: [], in: scope, database)
            guard row.token == ZoneRow.gone else {
                try database.execute(
                    sql: "UPDATE zone SET state = 1, needsFetch = 1 WHERE id = ?",
                    arguments: [row.key])
                return
            }
            guard createsZones else {
                throw CacheError(
                    .invalidZone,
                    "The owner does not share the zone any more; the record stays as"
                        + " it is.")
            }
            try recreate(row, database)
        }
    }

    /// Whether a zone is to be fetched, whatever the service tells of it.
    func needsFetch(_ id: ZoneID) throws -> Bool {
        try read { database in
            try Bool.fetchOne(
                database,
                sql: "SELECT needsFetch FROM zone WHERE \(isHere) AND name = ? AND owner = ?",
                arguments: [id.name, id.ownerName]) ?? false
        }
    }

    func isDetached(_ id: ZoneID) throws -> Bool {
        try read { try zone(id, $0)?.state == .detached }
    }
}
