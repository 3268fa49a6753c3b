import StratusRecords
import StratusStorage

extension StoreConformance {
    static let usage: [Case] = [
        Case("records are counted by name and fields after each kind of change") { storage in
            let (store, trails) = try await storeWithZone(storage)
            try await expect(try store.read { try $0.recordBytes }, equals: 0)
            try await store.writeRecords { writer in
                try writer.save(["é", "b", "c"], in: trails)
                try writer.save(["d"], in: trails, deleted: true)
            }
            let rows = try await store.read {
                try $0.records(named: ["é", "b", "c", "d"], in: trails)
            }
            let living = rows.values.filter { !$0.isDeleted }
            let wanted = living.reduce(0) { $0 + $1.name.utf8.count + $1.payload.count }
            try expect(wanted > 0, "there are records to count")
            try await expectBytes(Int64(wanted), store)

            var larger = try unwrap(rows["b"])
            larger.payload += Array(repeating: 1, count: 1_000)
            let row = larger
            try await store.writeRecords { try $0.put(row) }
            try await expectBytes(Int64(wanted) + 1_000, store)

            try await store.writeRecords { _ = try $0.save(["b"], in: trails, deleted: true) }
            try await expectBytes(Int64(wanted) + 1_000 - row.sizeBytes, store)
            try await store.writeRecords { _ = try $0.save(["d"], in: trails) }
            _ = try await store.writeRecords { try $0.purgeTombstones(through: 100, in: trails) }
            let left = try await store.read {
                try $0.records(named: ["é", "b", "c", "d"], in: trails)
            }
            try await expectBytes(left.values.reduce(0) { $0 + $1.sizeBytes }, store)
        },

        Case("a deleted zone counts nothing, even when recreated") { storage in
            let (store, trails) = try await storeWithZone(storage)
            let huts = try await store.writeRecords {
                try $0.createZone(named: "Huts", hasFeed: true).key
            }
            try await store.writeRecords { writer in
                try writer.save(["a", "b"], in: trails)
                try writer.save(["c"], in: huts)
            }
            let row = try await store.read { try $0.records(named: ["c"], in: huts)["c"] }
            let bytes = try unwrap(row).sizeBytes
            try await store.writeRecords { try $0.deleteZone(trails, reason: .deleted) }
            try await expectBytes(bytes, store)
            try await store.writeRecords { _ = try $0.createZone(named: "Trails", hasFeed: true) }
            try await expectBytes(bytes, store)
        },

        Case("a closure that throws counts nothing") { storage in
            let (store, zone) = try await storeWithZone(storage)
            do {
                try await store.writeRecords { writer in
                    try writer.save(["a"], in: zone)
                    throw Refusal()
                }
            } catch is Refusal {
                // This error is expected.
            }
            try await expectBytes(0, store)
        },
    ]

    private static func expectBytes(
        _ wanted: Int64, _ store: any RecordStore, file: String = #fileID, line: Int = #line
    ) async throws {
        let found = try await store.read { try ($0.recordBytes, $0.countRecordBytes()) }
        try expect(found.0, equals: wanted, file: file, line: line)
        try expect(found.1, equals: wanted, file: file, line: line)
    }
}
