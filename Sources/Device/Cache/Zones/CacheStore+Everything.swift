import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// Operations on whole zones and on all zones.
extension CacheStore {
    /// Deletes all zones here at once; the zones of the service are fetched, and deleted too.
    ///
    /// - Returns: the outcome, and the zones to delete at the service.
    func deleteAllZones(
        _ database: Database
    ) throws -> (outcome: CacheOutcome, zones: [ZoneID]) {
        var zones: [ZoneID] = []
        let outcome = try write(in: database) { database, outcome in
            try readClock(database)
            for row in try CachedZoneRow.all(where: isHere, database) {
                _ = try removeContent(of: row, deleted: nowMilliseconds, &outcome, database)
                guard !row.id.isDefault else { continue }
                try setUnwanted(row, database)
                zones.append(row.id)
            }
            // The token is dropped with the next answer; see keepDatabaseToken.
            try setFlag(CacheFlag.isErasing, "1", database)
            try file.noteChange(of: [], in: scope, database)
        }
        return (outcome, zones)
    }

    func setUnwanted(_ row: CachedZoneRow, _ database: Database) throws {
        try database.execute(
            sql: "UPDATE zone SET state = 2, token = NULL, needsFetch = 0 WHERE id = ?",
            arguments: [row.key])
    }

    /// Whether a zone of the service must be deleted while everything is being deleted. A zone that the app created
    /// since stays.
    func isErased(
        _ id: ZoneID, _ generation: Int64?, _ database: Database
    ) throws -> Bool {
        let known = try zone(id, database)
        guard known == nil || known?.state == .unwanted else { return false }
        try setUnwanted(id, generation, database)
        return true
    }

    /// Marks a zone of the service to be deleted, and no other one of its name.
    func setUnwanted(_ id: ZoneID, _ generation: Int64?, _ database: Database) throws {
        let row = try zone(id, orMake: .unwanted, database)
        try setGeneration(generation, of: row, database)
        try noteUnwanted(row, database)
        try setUnwanted(row, database)
    }

    /// Takes back that the user left a shared zone, if the service has not confirmed it.
    ///
    /// - Returns: whether there was something to take back.
    func rejoin(_ id: ZoneID) throws -> Bool {
        try file.write { database in
            guard let row = try zone(id, database), row.state == .unwanted else { return false }
            try forgetUnwanted(row, database)
            try database.execute(
                sql: "UPDATE zone SET state = 1, token = NULL, needsFetch = 1 WHERE id = ?",
                arguments: [row.key])
            try file.noteChange(of: [], in: scope, database)
            return true
        }
    }

    /// Stops fetching and sending a zone. Its token stays, because it shows later what was deleted or lost meanwhile.
    func detach(_ id: ZoneID) throws {
        try file.write { database in
            guard let row = try zone(id, database), !id.isDefault, row.state != .unwanted else {
                throw CacheError(
                    .invalidZone,
                    "The zone \(id.name) is not on this device. Pass one that is.")
            }
            guard row.state != .detached else { return }
            try setText(
                row.state == .existing ? nil : "\(row.state.rawValue)",
                named: detachedName(of: row), database)
            try database.execute(
                sql: "UPDATE zone SET state = 5, needsFetch = 0 WHERE id = ?",
                arguments: [row.key])
            try file.noteChange(of: [], in: scope, database)
        }
    }

    /// Resumes syncing a zone: it is fetched, and edits made meanwhile are merged, as after any time
    /// offline. A zone that the service no longer has is created again.
    func attach(_ id: ZoneID) throws -> CacheOutcome {
        try write { database, outcome in
            guard let row = try zone(id, database) else {
                throw CacheError(
                    .invalidZone,
                    "The zone \(id.name) is not on this device. Pass one that is.")
            }
            guard row.state == .detached else { return }
            try file.noteChange(of: [], in: scope, database)
            let state = try stateBeforeDetaching(row, database)
            try forgetDetaching(of: row, database)
            guard row.token == CachedZoneRow.gone else {
                try database.execute(
                    sql: "UPDATE zone SET state = ?, needsFetch = ? WHERE id = ?",
                    arguments: [state.rawValue, state == .existing, row.key])
                return
            }
            guard createsZones else {
                throw CacheError(
                    .invalidZone,
                    "The owner no longer shares the zone \(id.name), so it stays detached. Ask"
                        + " \(id.ownerName) to share it again.")
            }
            try recreate(row, &outcome, database)
        }
    }

    private func detachedName(of row: CachedZoneRow) -> String { "detached/\(row.key)" }

    /// The state to which a detached zone returns: what was still to be done with it at the service waits meanwhile.
    /// A zone that was refused gets another chance, as with any edit in it.
    func stateBeforeDetaching(
        _ row: CachedZoneRow, _ database: Database
    ) throws -> CachedZoneRow.State {
        let state = try text(named: detachedName(of: row), database).flatMap { Int($0) }
            .flatMap { CachedZoneRow.State(rawValue: $0) }
        return state == .refused ? .wanted : state ?? .existing
    }

    func forgetDetaching(of row: CachedZoneRow, _ database: Database) throws {
        try setText(nil, named: detachedName(of: row), database)
    }

    /// Whether a zone must be fetched, even if the database's changes do not name it.
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
