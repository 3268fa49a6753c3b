import HashTreeCollections

extension MemoryTransaction {
    func records(named names: [String], in zone: ZoneRow.Key) -> [String: RecordRow] {
        guard let records = state.zones[zone]?.records else { return [:] }
        var found: [String: RecordRow] = [:]
        found.reserveCapacity(names.count)
        for name in names { found[name] = records[name] }
        return found
    }

    func put(_ row: RecordRow) throws {
        guard let zone = state.zones[row.zone] else { throw StorageError.zoneMissing() }
        let holder = zone.names[row.version]
        guard holder == nil || holder == row.name else {
            throw StorageError(
                .other, "Another record has this version. Take versions before records are put.")
        }
        state.zones[row.zone]?.recordBytes += row.sizeBytes
        if let old = state.zones[row.zone]?.records.updateValue(row, forKey: row.name) {
            state.zones[row.zone]?.names[old.version] = nil
            state.zones[row.zone]?.recordBytes -= old.sizeBytes
        }
        state.zones[row.zone]?.names[row.version] = row.name
    }

    func children(of parent: String, in zone: ZoneRow.Key, limit: Int) -> [String] {
        let children = state.zones[zone]?.records.values
            .filter { $0.parent == parent && !$0.isDeleted }
            .map(\.name)
            .sorted(by: precedes)
        return Array((children ?? []).prefix(max(limit, 1)))
    }

    func scan(
        type: String, in zone: ZoneRow.Key, after name: String?,
        _ body: (RecordRow) throws -> Bool
    ) throws {
        let rows = state.zones[zone]?.records.values
            .filter { $0.type == type && !$0.isDeleted && precedes(name ?? "", $0.name) }
            .sorted { precedes($0.name, $1.name) }
        for row in rows ?? [] {
            if try !body(row) { return }
        }
    }

    // MARK: Changes

    func changes(
        in key: ZoneRow.Key, after cursor: ChangeCursor, limit: Int, payloadBytes: Int
    ) throws -> ChangePage {
        guard let zone = state.zones[key] else { throw StorageError.zoneMissing() }
        var rows: [RecordRow] = []
        var bytes = 0
        for row in zone.changed(after: cursor.version) where cursor.shows(row) {
            // No page ends inside a request.
            if rows.count >= max(limit, 1) || bytes >= payloadBytes, let last = rows.last,
                row.commitVersion != last.commitVersion
            {
                return ChangePage(rows: rows, version: last.version, moreComing: true)
            }
            bytes += row.payload.count
            rows.append(row)
        }
        return ChangePage(rows: rows, version: zone.row.version, moreComing: false)
    }

    func purgeTombstones(through version: Int64, in key: ZoneRow.Key) -> Int {
        guard var zone = state.zones[key] else { return 0 }
        var count = 0
        for row in zone.records.values where row.isDeleted && row.version <= version {
            zone.records[row.name] = nil
            zone.names[row.version] = nil
            count += 1
        }
        zone.sharing.events = zone.sharing.events.filter { $0.value.version > version }
        zone.row.floor = max(zone.row.floor, min(zone.row.version, version))
        state.zones[key] = zone
        return count
    }
}

extension MemoryState.Zone {
    /// The records changed after a version, oldest first. Follows the versions where few were taken,
    /// and sorts the records where there are fewer of those.
    fileprivate func changed(after version: Int64) -> AnySequence<RecordRow> {
        guard version < row.version else { return AnySequence([]) }
        if row.version - version > Int64(records.count) {
            let rows = records.values
                .filter { $0.version > version }
                .sorted { $0.version < $1.version }
            return AnySequence(rows)
        }
        return AnySequence(
            ((version + 1)...row.version).lazy
                .compactMap { names[$0] }
                .compactMap { records[$0] })
    }
}

extension ChangeCursor {
    fileprivate func shows(_ row: RecordRow) -> Bool {
        !row.isDeleted || row.version > skipTombstonesThrough || row.creatorDevice == device
    }
}
