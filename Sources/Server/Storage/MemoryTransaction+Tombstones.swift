extension MemoryTransaction {
    func counts(of zone: ZoneRow.Key) -> ZoneCounts {
        let records = state.zones[zone]?.records
        return ZoneCounts(
            records: records?.count ?? 0,
            tombstones: records?.values.lazy.filter(\.isDeleted).count ?? 0)
    }

    func oldTombstones(
        before milliseconds: Int64, in zone: ZoneRow.Key, limit: Int
    ) -> Int64? {
        let tombstones = state.zones[zone]?.records.values
            .filter(\.isDeleted)
            .sorted { $0.version < $1.version }
            .prefix(max(limit, 1))
            .prefix { $0.modifiedMilliseconds < milliseconds }
        return tombstones?.last?.version
    }
}
