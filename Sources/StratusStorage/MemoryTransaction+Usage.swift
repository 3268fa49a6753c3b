import HashTreeCollections

extension MemoryTransaction {
    var usage: StoreUsage {
        state.zones.values.reduce(StoreUsage()) { $0 + $1.usage }
    }

    func usage(of zone: ZoneRow.Key) -> StoreUsage {
        state.zones[zone]?.usage ?? StoreUsage()
    }

    func countRecordBytes() -> Int64 {
        state.zones.values.reduce(0) { sum, zone in
            zone.records.values.reduce(sum) { $0 + $1.sizeBytes }
        }
    }

    func addUsage(_ growth: StoreUsage, in zone: ZoneRow.Key) {
        guard let usage = state.zones[zone]?.usage else { return }
        state.zones[zone]?.usage = usage + growth
    }
}
