import StratusStorage

extension StoreConformance {
    static let indexes: [Case] = [
        Case("entries are in the order of their keys, then of their names") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let index = try await store.writeRecords { writer in
                let index = try writer.createIndex(definition("beds"), phase: .building)
                for entry in scrambled { try writer.put(entry, of: index.key, in: zone) }
                // Repeating it changes nothing.
                try writer.put(scrambled[0], of: index.key, in: zone)
                return index.key
            }
            let sorted = scrambled.sorted()
            try await store.read { reader in
                func expectEntries(
                    _ bounds: (IndexEntry, IndexEntry), isAscending: Bool, limit: Int = 999,
                    equal entries: [IndexEntry], line: Int = #line
                ) throws {
                    try expect(
                        reader.entries(
                            of: index, in: zone, between: bounds, isAscending: isAscending,
                            limit: limit),
                        equals: entries, line: line)
                }
                try expectEntries(everything, isAscending: true, equal: sorted)
                try expectEntries(everything, isAscending: false, equal: sorted.reversed())
                for (low, high) in [(0, 5), (3, 4), (100, 400), (0, sorted.count - 1), (7, 7)] {
                    let between = Array(sorted[low...high].dropFirst().dropLast())
                    let bounds = (sorted[low], sorted[high])
                    try expectEntries(bounds, isAscending: true, equal: between)
                    try expectEntries(
                        bounds, isAscending: false, limit: 2,
                        equal: Array(between.reversed().prefix(2)))
                    try expect(
                        reader.entryCount(of: index, in: zone, between: bounds, limit: 50),
                        equals: min(between.count, 50))
                }
            }
        },
        Case("a removed entry is gone, and its neighbours stay") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let left = try await store.writeRecords { writer in
                let index = try writer.createIndex(definition("beds"), phase: .readable)
                for entry in scrambled { try writer.put(entry, of: index.key, in: zone) }
                for entry in scrambled.dropFirst(3) {
                    try writer.delete(entry, of: index.key, in: zone)
                }
                try writer.delete(scrambled[5], of: index.key, in: zone)
                return try writer.entries(
                    of: index.key, in: zone, between: everything, isAscending: true, limit: 999)
            }
            try expect(left, equals: scrambled.prefix(3).sorted())
        },
        Case("a deleted zone has no entries, and another zone keeps its own") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let counts = try await store.writeRecords { writer in
                let other = try writer.createZone(named: "Huts", hasFeed: true).key
                let index = try writer.createIndex(definition("beds"), phase: .readable).key
                for zone in [zone, other] {
                    try writer.put(IndexEntry(key: [1], name: "a"), of: index, in: zone)
                }
                try writer.deleteZone(zone, reason: .deleted)
                _ = try writer.createZone(named: "Trails", hasFeed: true)
                return try [zone, other].map {
                    try writer.entryCount(of: index, in: $0, between: everything, limit: 9)
                }
            }
            try expect(counts, equals: [0, 1])
        },
        Case("an index keeps its phase and progress, and its key is not reused") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let keys = try await store.writeRecords { writer in
                var first = try writer.createIndex(definition("beds"), phase: .building)
                let second = try writer.createIndex(definition("name"), phase: .readable)
                first.phase = .dropping
                first.progressZone = zone
                first.progressName = "a"
                try writer.update(first)
                try writer.deleteIndex(second.key)
                let third = try writer.createIndex(definition("name"), phase: .readable)
                try expect(writer.indexes(), equals: [first, third])
                try expect(writer.indexes(ofType: "Trail"), equals: [first, third])
                try expect(writer.indexes(ofType: "Hut"), equals: [])
                try expect(writer.hasRecordsOlderThanIndexes, equals: false)
                return [first.key, second.key, third.key]
            }
            try expect(Set(keys).count, equals: 3)
        },
        Case("a write that throws leaves indexes unchanged") { storage in
            let (store, zone) = try await storeWithZone(storage)
            do {
                try await store.writeRecords { writer in
                    let index = try writer.createIndex(definition("beds"), phase: .readable)
                    try writer.put(IndexEntry(key: [1], name: "a"), of: index.key, in: zone)
                    throw Refusal()
                }
            } catch is Refusal {}  // thrown above
            try await store.read { try expect($0.indexes(), equals: []) }
        },
        Case("a zone's records of all types are sorted by name, including tombstones") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let names = try await store.writeRecords { writer in
                try writer.save(["c", "a"], in: zone)
                try writer.save(["b"], in: zone, type: "Hut")
                try writer.save(["d"], in: zone)
                try writer.save(["c"], in: zone, deleted: true)
                return [
                    try writer.records(in: zone, after: "", limit: 9, payloadBytes: 999),
                    try writer.records(in: zone, after: "a", limit: 2, payloadBytes: 999),
                    try writer.records(in: zone, after: "", limit: 9, payloadBytes: 1),
                ].map { $0.map(\.name) }
            }
            try expect(names, equals: [["a", "b", "c", "d"], ["b", "c"], ["a"]])
        },
    ]

    private static func definition(_ field: String) -> IndexRow.Definition {
        .init(recordType: "Trail", field: field, kind: .value, valueType: .int64)
    }

    private static let everything = (
        IndexEntry(key: [], name: ""), IndexEntry(key: [0xFF], name: "")
    )

    /// More entries than one step of any store, in no order, some of them with the same key.
    private static let scrambled: [IndexEntry] = (0..<700).map { number in
        let mixed = number * 337 % 701
        return IndexEntry(
            key: [1] + [UInt8](repeating: 0, count: mixed % 3) + [UInt8(mixed % 50)],
            name: "r\(mixed)")
    }
}
