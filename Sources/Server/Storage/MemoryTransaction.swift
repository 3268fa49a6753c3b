import HashTreeCollections
import StratusRecords

/// A transaction on a copy of a database's state, in the words of the store.
final class MemoryTransaction: StoreWriter {
    var state: MemoryState

    init(_ state: MemoryState) {
        self.state = state
    }

    // MARK: History

    var incarnation: Incarnation { state.incarnation }

    var databaseVersion: Int64 { state.databaseVersion }

    func renewIncarnation(_ incarnation: Incarnation) {
        state.incarnation = incarnation
    }

    func takeDatabaseVersion() -> Int64 {
        state.databaseVersion += 1
        return state.databaseVersion
    }

    // MARK: Zones

    func zones() -> [ZoneRow] {
        state.zones.values.map(\.row)
            .filter { $0.deletion == nil }
            .sorted { precedes($0.name, $1.name) }
    }

    func zone(named name: String) -> ZoneRow? {
        state.zoneKeys[name].flatMap { state.zones[$0]?.row }
    }

    func zones(changedAfter databaseVersion: Int64, limit: Int) -> [ZoneRow] {
        let changed = state.zones.values.map(\.row)
            .filter { $0.changedAtDatabaseVersion > databaseVersion }
            .sorted { $0.changedAtDatabaseVersion < $1.changedAtDatabaseVersion }
        return Array(changed.prefix(max(limit, 1)))
    }

    func createZone(
        named name: String, hasFeed: Bool, encryptionScope: ZoneEncryptionScope
    ) throws -> ZoneRow {
        if var row = zone(named: name) {
            guard row.deletion != nil else { return row }
            row.generation += 1
            row.hasFeed = hasFeed
            row.changedAtDatabaseVersion = takeDatabaseVersion()
            row.deletion = nil
            row.encryptionScope = encryptionScope
            state.zones[row.key]?.row = row
            return row
        }
        let row = ZoneRow(
            key: ZoneRow.Key(rawValue: Int64(state.zones.count) + 1), name: name, generation: 1,
            version: 0, floor: 0, hasFeed: hasFeed,
            changedAtDatabaseVersion: takeDatabaseVersion(), deletion: nil,
            encryptionScope: encryptionScope)
        state.zones[row.key] = MemoryState.Zone(row: row)
        state.zoneKeys[name] = row.key
        return row
    }

    func deleteZone(_ zone: ZoneRow.Key, reason: ZoneRow.Deletion) throws {
        var row = try living(zone)
        try releaseAssets(in: zone)
        row.deletion = reason
        row.changedAtDatabaseVersion = takeDatabaseVersion()
        state.zones[zone] = MemoryState.Zone(row: row)
    }

    func takeVersions(_ count: Int, in zone: ZoneRow.Key) throws -> ClosedRange<Int64> {
        guard count > 0 else { throw StorageError.noVersions() }
        var row = try living(zone)
        let first = row.version + 1
        row.version += Int64(count)
        row.changedAtDatabaseVersion = takeDatabaseVersion()
        state.zones[zone]?.row = row
        return first...row.version
    }

    private func living(_ zone: ZoneRow.Key) throws -> ZoneRow {
        guard let row = state.zones[zone]?.row, row.deletion == nil else {
            throw StorageError.zoneMissing()
        }
        return row
    }
}
