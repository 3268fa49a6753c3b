import GRDB
import StratusRecords

/// Records which zone the app deletes, because several zones may have the same name one after the other.
extension CacheStore {
    private func unwantedName(of row: CachedZoneRow) -> String { "unwanted/\(row.key)" }

    /// Notes that the app deletes the zone that this device knows, not a later one of the same name.
    func noteUnwanted(_ row: CachedZoneRow, _ database: Database) throws {
        let known = try text(named: generationName(of: row), database)
        let state =
            row.state == .detached ? try stateBeforeDetaching(row, database) : row.state
        // The zone was deleted once more, before the first deletion, or the creation of the next zone, was confirmed:
        // the first note stays.
        if known == nil, state != .existing { return }
        try setText(known, named: unwantedName(of: row), database)
    }

    /// Notes that a deletion was refused: the zone is the one that was to be deleted.
    func keepUnwanted(_ row: CachedZoneRow, _ database: Database) throws {
        guard let generation = try text(named: unwantedName(of: row), database) else { return }
        try setGeneration(Int64(generation), of: row, database)
    }

    func forgetUnwanted(_ row: CachedZoneRow, _ database: Database) throws {
        try setText(nil, named: unwantedName(of: row), database)
        try forgetDetaching(of: row, database)
    }

    /// The generations of the zones that the app deleted, as far as the service had reported them.
    func unwantedGenerations(of zones: [ZoneID]) throws -> [ZoneID: Int64] {
        try read { database in
            var generations: [ZoneID: Int64] = [:]
            for id in zones {
                guard let row = try zone(id, database) else { continue }
                generations[id] = try text(named: unwantedName(of: row), database)
                    .flatMap { Int64($0) }
            }
            return generations
        }
    }

    /// The generation of the zone that others have created under the name of a deleted one since; nil if the service
    /// has reported none.
    func generationMadeSince(_ row: CachedZoneRow, _ database: Database) throws -> Int64? {
        func number(_ name: String) throws -> Int64? {
            try text(named: name, database).flatMap { Int64($0) }
        }
        guard let unwanted = try number(unwantedName(of: row)),
            let current = try number(generationName(of: row)), current > unwanted
        else { return nil }
        return current
    }
}
