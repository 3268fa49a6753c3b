import StratusRecords
import StratusStorage

/// The data derived from records: replaced states, references, index entries, assets.
extension ModelTransaction {
    // MARK: Ancestors

    func ancestor(replacedAt version: Int64, in zone: ZoneRow.Key) -> AncestorRow? {
        model.ancestors.first { $0.zone == zone && $0.replacedAt == version }
    }

    func put(_ row: AncestorRow) {
        deleteAncestor(replacedAt: row.replacedAt, in: row.zone)
        model.ancestors.append(row)
    }

    func deleteAncestor(replacedAt version: Int64, in zone: ZoneRow.Key) {
        model.ancestors.removeAll { $0.zone == zone && $0.replacedAt == version }
    }

    func deleteAncestors(replacedThrough version: Int64, in zone: ZoneRow.Key) {
        let last =
            model.defect == .ancestorsAreDeletedBelowTheVersion ? version - 1 : version
        model.ancestors.removeAll { $0.zone == zone && $0.replacedAt <= last }
    }

    func ancestorBytes(
        replacedAfter first: Int64, before last: Int64, in zone: ZoneRow.Key
    ) -> Int {
        model.ancestors
            .filter { $0.zone == zone && $0.replacedAt > first && $0.replacedAt < last }
            .reduce(0) { $0 + $1.payload.count }
    }

    func deleteAncestors(beyondBytes limit: Int, in zone: ZoneRow.Key) {
        var bytes = 0
        let states = model.ancestors.filter { $0.zone == zone }
            .sorted { $0.replacedAt > $1.replacedAt }
        for state in states {
            bytes += state.payload.count
            if bytes > limit { deleteAncestor(replacedAt: state.replacedAt, in: zone) }
        }
    }

    // MARK: References

    func holders(
        of target: String, _ action: ReferenceRow.Action, in zone: ZoneRow.Key, limit: Int
    ) -> [String] {
        let found = model.references.filter {
            $0.zone == zone && $0.target == target && $0.action == action
        }
        return Array(found.map(\.holder).sorted().prefix(max(limit, 1)))
    }

    func put(_ row: ReferenceRow) { model.references.insert(row) }

    func delete(_ row: ReferenceRow) { model.references.remove(row) }

    func deleteReferences(heldBy holder: String, in zone: ZoneRow.Key) {
        model.references = model.references.filter { $0.zone != zone || $0.holder != holder }
    }

    // MARK: Indexes

    var hasRecordsOlderThanIndexes: Bool { false }

    func indexes() -> [IndexRow] {
        model.indexRows.sorted { $0.key.rawValue < $1.key.rawValue }
    }

    func indexes(ofType recordType: String) -> [IndexRow] {
        indexes().filter { $0.definition.recordType == recordType }
    }

    func createIndex(_ definition: IndexRow.Definition, phase: IndexRow.Phase) -> IndexRow {
        model.lastIndex += 1
        let row = IndexRow(
            key: .init(rawValue: model.lastIndex), definition: definition, phase: phase)
        model.indexRows.append(row)
        return row
    }

    func update(_ index: IndexRow) {
        guard let place = model.indexRows.firstIndex(where: { $0.key == index.key }) else { return }
        model.indexRows[place].phase = index.phase
        model.indexRows[place].progressZone = index.progressZone
        model.indexRows[place].progressName = index.progressName
    }

    func deleteIndex(_ index: IndexRow.Key) { model.indexRows.removeAll { $0.key == index } }

    func entries(
        of index: IndexRow.Key, in zone: ZoneRow.Key, between bounds: (IndexEntry, IndexEntry),
        isAscending: Bool, limit: Int
    ) -> [IndexEntry] {
        let found = model.indexEntries
            .filter { $0.index == index && $0.zone == zone }
            .map(\.entry)
            .filter { bounds.0 < $0 && $0 < bounds.1 }
            .sorted { isAscending ? $0 < $1 : $1 < $0 }
        return Array(found.prefix(max(limit, 1)))
    }

    func entryCount(
        of index: IndexRow.Key, in zone: ZoneRow.Key, between bounds: (IndexEntry, IndexEntry),
        limit: Int
    ) -> Int {
        entries(of: index, in: zone, between: bounds, isAscending: true, limit: limit).count
    }

    func put(_ entry: IndexEntry, of index: IndexRow.Key, in zone: ZoneRow.Key) {
        model.indexEntries.insert(.init(index: index, zone: zone, entry: entry))
    }

    func delete(_ entry: IndexEntry, of index: IndexRow.Key, in zone: ZoneRow.Key) {
        model.indexEntries.remove(.init(index: index, zone: zone, entry: entry))
    }

    // MARK: Assets

    func asset(_ sha256: [UInt8]) -> AssetRow? { model.assets.first { $0.blob.sha256 == sha256 } }

    func unreferencedAssets(generationPrefix: UInt32, amongLast count: Int) -> [AssetRow] {
        model.assets.filter { $0.references == 0 && $0.touchedMilliseconds != nil }
            .sorted { ($0.touchedMilliseconds ?? 0) > ($1.touchedMilliseconds ?? 0) }
            .prefix(max(count, 1))
            .filter { $0.blob.generation >> 32 == UInt64(generationPrefix) }
    }

    var assetBytes: Int64 { model.assets.reduce(0) { $0 + $1.sizeBytes } }

    func admit(_ row: AssetRow) -> AssetRow {
        var stored = asset(row.blob.sha256) ?? row
        stored.touchedMilliseconds = row.touchedMilliseconds
        store(stored)
        return stored
    }

    func setAssets(_ digests: Set<[UInt8]>, of record: String, in zone: ZoneRow.Key) throws {
        let held = model.holds.filter { $0.zone == zone && $0.record == record }
        for hold in held where !digests.contains(hold.sha256) { try release(hold) }
        for digest in digests {
            let hold = StoreModel.Hold(zone: zone, record: record, sha256: digest)
            if model.holds.insert(hold).inserted { try count(digest, by: 1) }
        }
    }

    func release(_ hold: StoreModel.Hold) throws {
        model.holds.remove(hold)
        try count(hold.sha256, by: -1)
    }

    private func count(_ sha256: [UInt8], by difference: Int64) throws {
        guard var row = asset(sha256) else { throw refusal }
        row.references += difference
        if model.defect != .assetIsTouchedWhenReleased { row.touchedMilliseconds = nil }
        store(row)
    }

    private func store(_ row: AssetRow) {
        model.assets.removeAll { $0.blob.sha256 == row.blob.sha256 }
        model.assets.append(row)
    }

    func touchUnreferencedAssets(atMilliseconds milliseconds: Int64) {
        for index in model.assets.indices
        where model.assets[index].references == 0
            && model.assets[index].touchedMilliseconds == nil
        {
            model.assets[index].touchedMilliseconds = milliseconds
        }
    }

    func takeUnreferencedAssets(touchedBefore milliseconds: Int64, limit: Int) -> [AssetRow] {
        let taken = model.assets
            .filter { $0.references == 0 && $0.touchedMilliseconds ?? .max < milliseconds }
            .sorted { $0.touchedMilliseconds ?? 0 < $1.touchedMilliseconds ?? 0 }
            .prefix(max(limit, 1))
        model.assets.removeAll { taken.contains($0) }
        return Array(taken)
    }
}
