import HashTreeCollections

extension MemoryTransaction {
    // MARK: Indexes

    func indexes() -> [IndexRow] {
        state.indexes.values.sorted { $0.key.rawValue < $1.key.rawValue }
    }

    func indexes(ofType recordType: String) -> [IndexRow] {
        indexes().filter { $0.definition.recordType == recordType }
    }

    /// A state in memory begins with its indexes.
    var hasRecordsOlderThanIndexes: Bool { false }

    func createIndex(_ definition: IndexRow.Definition, phase: IndexRow.Phase) -> IndexRow {
        state.lastIndex += 1
        let index = IndexRow(
            key: IndexRow.Key(rawValue: state.lastIndex), definition: definition, phase: phase)
        state.indexes[index.key] = index
        return index
    }

    func update(_ index: IndexRow) {
        guard state.indexes[index.key] != nil else { return }
        state.indexes[index.key] = index
    }

    func deleteIndex(_ index: IndexRow.Key) {
        state.indexes[index] = nil
    }

    // MARK: Entries

    func entries(
        of index: IndexRow.Key, in zone: ZoneRow.Key, between bounds: (IndexEntry, IndexEntry),
        isAscending: Bool, limit: Int
    ) -> [IndexEntry] {
        var found: [IndexEntry] = []
        state.zones[zone]?.entries[index]?
            .forEach(between: bounds, isAscending: isAscending) { entry in
                found.append(entry)
                return found.count < limit
            }
        return found
    }

    func entryCount(
        of index: IndexRow.Key, in zone: ZoneRow.Key, between bounds: (IndexEntry, IndexEntry),
        limit: Int
    ) -> Int {
        var count = 0
        state.zones[zone]?.entries[index]?.forEach(between: bounds, isAscending: true) { _ in
            count += 1
            return count < limit
        }
        return count
    }

    func put(_ entry: IndexEntry, of index: IndexRow.Key, in zone: ZoneRow.Key) {
        state.zones[zone]?.entries[index, default: SortedEntries()].insert(entry)
    }

    func delete(_ entry: IndexEntry, of index: IndexRow.Key, in zone: ZoneRow.Key) {
        state.zones[zone]?.entries[index]?.remove(entry)
    }

    // MARK: Records

    func records(
        in zone: ZoneRow.Key, after name: String, limit: Int, payloadBytes: Int
    ) -> [RecordRow] {
        let rows = state.zones[zone]?.records.values
            .filter { precedes(name, $0.name) }
            .sorted { precedes($0.name, $1.name) }
        var bytes = 0
        return Array(
            (rows ?? []).prefix(max(limit, 1)).prefix { row in
                defer { bytes += row.payload.count }
                return bytes == 0 || bytes < payloadBytes
            })
    }
}
