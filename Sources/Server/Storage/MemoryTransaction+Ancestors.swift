import HashTreeCollections

extension MemoryTransaction {
    func ancestor(replacedAt version: Int64, in zone: ZoneRow.Key) -> AncestorRow? {
        state.zones[zone]?.ancestors[version]
    }

    func put(_ row: AncestorRow) throws {
        guard var zone = state.zones[row.zone] else { throw StorageError.zoneMissing() }
        if zone.ancestors.isEmpty { zone.firstAncestor = row.replacedAt }
        zone.firstAncestor = min(zone.firstAncestor, row.replacedAt)
        zone.ancestors[row.replacedAt] = row
        state.zones[row.zone] = zone
    }

    func deleteAncestor(replacedAt version: Int64, in zone: ZoneRow.Key) {
        state.zones[zone]?.ancestors[version] = nil
    }

    func deleteAncestors(replacedThrough version: Int64, in key: ZoneRow.Key) {
        guard var zone = state.zones[key], !zone.ancestors.isEmpty else { return }
        while zone.firstAncestor <= min(version, zone.row.version) {
            zone.ancestors[zone.firstAncestor] = nil
            zone.firstAncestor += 1
        }
        state.zones[key] = zone
    }
}
