import StratusRecords
import StratusStorage

extension StoreConformance {
    static let usage: [Case] = [
        Case("usage adds up over zones, up and down") { house in
            let (store, trails) = try await storeWithZone(house)
            let huts = try await store.write { try $0.createZone(named: "Huts", hasFeed: true).key }
            let found = try await store.write { writer in
                try writer.addUsage(StoreUsage(recordBytes: 10, assetBytes: 1_000), in: trails)
                try writer.addUsage(StoreUsage(recordBytes: 5), in: huts)
                try writer.addUsage(StoreUsage(recordBytes: -4, assetBytes: -1_000), in: trails)
                return try (writer.usage, writer.usage(of: trails), writer.usage(of: huts))
            }
            try expect(found.0, equals: StoreUsage(recordBytes: 11))
            try expect(found.1, equals: StoreUsage(recordBytes: 6))
            try expect(found.2, equals: StoreUsage(recordBytes: 5))
            try await expect(try store.read { try $0.usage }, equals: StoreUsage(recordBytes: 11))
        },

        Case("a deleted zone counts nothing, also when it comes back") { house in
            let (store, zone) = try await storeWithZone(house)
            try await store.write { writer in
                try writer.addUsage(StoreUsage(recordBytes: 7, assetBytes: 8), in: zone)
                try writer.deleteZone(zone, reason: .deleted)
            }
            try await expect(try store.read { try $0.usage }, equals: StoreUsage())
            let again = try await store.write {
                let key = try $0.createZone(named: "Trails", hasFeed: true).key
                return try $0.usage(of: key)
            }
            try expect(again, equals: StoreUsage())
        },

        Case("a closure that throws counts nothing") { house in
            let (store, zone) = try await storeWithZone(house)
            do {
                try await store.write { writer in
                    try writer.addUsage(StoreUsage(recordBytes: 7), in: zone)
                    throw Refusal()
                }
            } catch is Refusal {
                // As it should be.
            }
            try await expect(try store.read { try $0.usage }, equals: StoreUsage())
        },

        Case("records are counted by name and fields, tombstones not") { house in
            let (store, zone) = try await storeWithZone(house)
            let rows = try await store.write { writer in
                try writer.save(["é", "b", "c"], in: zone)
                try writer.save(["c"], in: zone, deleted: true)
                return try writer.records(named: ["é", "b", "c"], in: zone)
            }
            let wanted = rows.values.filter { !$0.isDeleted }
                .reduce(Int64(0)) { $0 + Int64($1.name.utf8.count + $1.payload.count) }
            try expect(wanted > 0, "there are records to count")
            try expect(rows.values.reduce(0) { $0 + $1.sizeBytes }, equals: wanted)
            try await expect(try store.read { try $0.countRecordBytes() }, equals: wanted)
        },
    ]
}
