import HashTreeCollections

extension MemoryTransaction {
    func holders(
        of target: String, _ action: ReferenceRow.Action, in zone: ZoneRow.Key, limit: Int
    ) -> [String] {
        let holders = state.zones[zone]?.holders[.init(target: target, action: action)] ?? []
        return Array(holders.sorted(by: precedes).prefix(max(limit, 1)))
    }

    func put(_ row: ReferenceRow) throws {
        guard state.zones[row.zone] != nil else { throw StorageError.zoneMissing() }
        let key = MemoryState.ReferenceKey(target: row.target, action: row.action)
        state.zones[row.zone]?.holders[key, default: []].insert(row.holder)
    }

    func delete(_ row: ReferenceRow) {
        let key = MemoryState.ReferenceKey(target: row.target, action: row.action)
        state.zones[row.zone]?.holders[key]?.remove(row.holder)
        if state.zones[row.zone]?.holders[key]?.isEmpty == true {
            state.zones[row.zone]?.holders[key] = nil
        }
    }

    func deleteReferences(heldBy holder: String, in zone: ZoneRow.Key) {
        let keys = state.zones[zone].map { Array($0.holders.keys) } ?? []
        for key in keys {
            delete(ReferenceRow(zone: zone, target: key.target, action: key.action, holder: holder))
        }
    }
}
