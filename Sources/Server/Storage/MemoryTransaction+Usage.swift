import HashTreeCollections

extension MemoryTransaction {
    var recordBytes: Int64 {
        state.zones.values.reduce(0) { $0 + $1.recordBytes }
    }

    func countRecordBytes() -> Int64 {
        state.zones.values.reduce(0) { sum, zone in
            zone.records.values.reduce(sum) { $0 + $1.sizeBytes }
        }
    }
}
