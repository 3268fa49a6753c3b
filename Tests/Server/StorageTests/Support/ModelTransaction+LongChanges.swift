import StratusStorage

extension ModelTransaction {
    func longChanges(in zone: ZoneRow.Key) -> Set<LongChangeRow.Kind> {
        Set(model.longChangeRows.filter { $0.zone == zone }.map(\.kind))
    }

    func longChanges(_ kind: LongChangeRow.Kind, limit: Int) -> [LongChangeRow] {
        let rows = model.longChangeRows.filter { $0.kind == kind }.sorted(by: \.name)
        let zones = Set(rows.map(\.zone.rawValue)).sorted()
        let sorted = zones.flatMap { zone in rows.filter { $0.zone.rawValue == zone } }
        return Array(sorted.prefix(max(limit, 1)))
    }

    func hasLongChange(
        _ kind: LongChangeRow.Kind, of name: String, in zone: ZoneRow.Key
    ) -> Bool {
        model.longChangeRows.contains { $0.kind == kind && $0.name == name && $0.zone == zone }
    }

    func longChangeDetail(
        _ kind: LongChangeRow.Kind, of name: String, in zone: ZoneRow.Key
    ) -> String? {
        model.longChangeRows.first { $0.kind == kind && $0.name == name && $0.zone == zone }?.detail
    }

    func decidedDeletions(limit: Int) -> [LongChangeRow] {
        let rows = longChanges(.deletion, limit: .max)
            .filter { !hasLongChange(.claim, of: $0.detail, in: $0.zone) }
        return Array(rows.prefix(max(limit, 1)))
    }

    func claimedDeletions(_ claim: LongChangeRow, limit: Int) -> [LongChangeRow] {
        let rows = longChanges(.deletion, limit: .max)
            .filter { $0.zone == claim.zone && $0.detail == claim.name }
        return Array(rows.prefix(max(limit, 1)))
    }

    func put(_ row: LongChangeRow) {
        delete(row)
        model.longChangeRows.append(row)
    }

    func delete(_ row: LongChangeRow) {
        model.longChangeRows.removeAll {
            $0.kind == row.kind && $0.name == row.name && $0.zone == row.zone
        }
    }

    func children(
        of parent: String, after name: String, in zone: ZoneRow.Key, limit: Int, payloadBytes: Int
    ) -> [RecordRow] {
        let all = model.records.filter { $0.zone == zone && $0.parent == parent && !$0.isDeleted }
            .sorted(by: \.name).filter { name.utf8.lexicographicallyPrecedes($0.name.utf8) }
        var bytes = 0
        var rows: [RecordRow] = []
        for row in all.prefix(max(limit, 1)) where bytes < payloadBytes {
            rows.append(row)
            bytes += row.payload.count
        }
        return rows
    }

    func hasRecords(under root: String, in zone: ZoneRow.Key) -> Bool {
        model.records.contains { $0.zone == zone && $0.shareRoot == root }
    }

    func holdsMoreRecords(than count: Int, in zone: ZoneRow.Key) -> Bool {
        model.records.count { $0.zone == zone } > count
    }

    func hideZone(_ zone: ZoneRow.Key, reason: ZoneRow.Deletion) throws {
        try change(zone) { $0.deletion = reason }
        model.shareRows.removeAll { $0.zone == zone }
        model.accessRows = model.accessRows.filter { $0.zone != zone }
    }

    /// The order does not matter to a caller that repeats it until nothing is left.
    func removeRows(ofHiddenZone zone: ZoneRow.Key, limit: Int) throws -> Bool {
        guard model.records.contains(where: { $0.zone == zone }) else { return false }
        for hold in model.holds where hold.zone == zone { try release(hold) }
        model.records.removeAll { $0.zone == zone }
        model.ancestors.removeAll { $0.zone == zone }
        model.references = model.references.filter { $0.zone != zone }
        model.indexEntries = model.indexEntries.filter { $0.zone != zone }
        model.shareEvents.removeAll { $0.zone == zone }
        return true
    }
}
