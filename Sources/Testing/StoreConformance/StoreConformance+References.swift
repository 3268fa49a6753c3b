import StratusRecords
import StratusStorage

extension StoreConformance {
    static let references: [Case] = [
        Case("references are found by target and action, in order, once each") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let other = try await store.writeRecords {
                try $0.createZone(named: "Other", hasFeed: true)
            }
            @Sendable func row(
                _ holder: String, _ action: ReferenceRow.Action = .deleteSelf,
                to target: String = "t", in key: ZoneRow.Key? = nil
            ) -> ReferenceRow {
                ReferenceRow(zone: key ?? zone, target: target, action: action, holder: holder)
            }
            try await store.writeRecords { writer in
                for holder in ["c", "a", "b", "a"] { try writer.put(row(holder)) }
                try writer.put(row("d", .validate))
                try writer.put(row("e", to: "u"))
                try writer.put(row("f", in: other.key))
            }
            func holders(
                _ action: ReferenceRow.Action, limit: Int = 9
            ) async throws -> [String] {
                try await store.read { try $0.holders(of: "t", action, in: zone, limit: limit) }
            }
            try expect(try await holders(.deleteSelf), equals: ["a", "b", "c"])
            try expect(try await holders(.deleteSelf, limit: 2), equals: ["a", "b"])
            try expect(try await holders(.validate), equals: ["d"])
            try await store.writeRecords { writer in
                try writer.delete(row("b"))
                try writer.delete(row("nobody"))
                try writer.delete(row("a", .validate))
            }
            try expect(try await holders(.deleteSelf), equals: ["a", "c"])
            try await store.writeRecords { try $0.deleteReferences(heldBy: "a", in: zone) }
            try expect(try await holders(.deleteSelf), equals: ["c"])
            try expect(try await holders(.validate), equals: ["d"])
        },

        Case("a deleted zone loses its references and replaced states") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords { writer in
                try writer.put(
                    ReferenceRow(zone: zone, target: "t", action: .validate, holder: "h"))
                let row = record("r", in: zone, version: 1, commit: 1)
                try writer.put(AncestorRow(row, replacedAt: 2))
                try writer.deleteZone(zone, reason: .deleted)
                _ = try writer.createZone(named: "Trails", hasFeed: true)
            }
            try await store.read { reader in
                let holders = try reader.holders(of: "t", .validate, in: zone, limit: 9)
                try expect(holders, equals: [])
                try expect(try reader.ancestor(replacedAt: 2, in: zone), equals: nil)
            }
        },

        Case("replaced states are found by the change that replaced them") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let rows = (1...5).map { version in
                AncestorRow(
                    record("r", in: zone, version: version, commit: version, parent: "p"),
                    replacedAt: version * 10)
            }
            try await store.writeRecords { writer in for row in rows { try writer.put(row) } }
            func kept() async throws -> [Int64] {
                try await store.read { reader in
                    try (0...60).filter { try reader.ancestor(replacedAt: $0, in: zone) != nil }
                }
            }
            let found = try await store.read { try $0.ancestor(replacedAt: 20, in: zone) }
            try expect(found, equals: rows[1])
            try await store.writeRecords { try $0.deleteAncestor(replacedAt: 30, in: zone) }
            try expect(try await kept(), equals: [10, 20, 40, 50])
            try await store.writeRecords { writer in
                _ = try writer.takeVersions(60, in: zone)
                try writer.deleteAncestors(replacedThrough: 20, in: zone)
            }
            try expect(try await kept(), equals: [40, 50])
            try await store.writeRecords { try $0.deleteAncestors(replacedThrough: -5, in: zone) }
            try expect(try await kept(), equals: [40, 50])
        },

        Case("the oldest replaced states beyond a size are removed") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let other = try await store.writeRecords {
                try $0.createZone(named: "Other", hasFeed: true)
            }
            let sizeBytes = record("r", in: zone, version: 1, commit: 1).payload.count
            try await store.writeRecords { writer in
                for version: Int64 in 1...5 {
                    let row = record("r", in: zone, version: version, commit: version)
                    try writer.put(AncestorRow(row, replacedAt: version * 10))
                }
                let row = record("r", in: other.key, version: 1, commit: 1)
                try writer.put(AncestorRow(row, replacedAt: 20))
            }
            try await store.read { reader in
                func bytes(_ first: Int64, _ last: Int64) throws -> Int {
                    try reader.ancestorBytes(replacedAfter: first, before: last, in: zone)
                }
                try expect(try bytes(0, 60), equals: 5 * sizeBytes)
                try expect(try bytes(20, 50), equals: 2 * sizeBytes)
                try expect(try bytes(50, 60), equals: 0)
            }
            for (limit, kept) in [(9, 5), (5, 5), (4, 4), (2, 2)] {
                try await store.writeRecords {
                    try $0.deleteAncestors(beyondBytes: limit * sizeBytes, in: zone)
                }
                let found = try await store.read { reader in
                    try (0...60).filter { try reader.ancestor(replacedAt: $0, in: zone) != nil }
                }
                try expect(found, equals: (1...5).suffix(kept).map { Int64($0) * 10 })
            }
            try await store.writeRecords {
                try $0.deleteAncestors(beyondBytes: 2 * sizeBytes - 1, in: zone)
            }
            try await store.read { reader in
                try expect(try reader.ancestor(replacedAt: 40, in: zone), equals: nil)
                try expect(try reader.ancestor(replacedAt: 50, in: zone) != nil, equals: true)
                try expect(try reader.ancestor(replacedAt: 20, in: other.key) != nil, equals: true)
            }
        },

        Case("tombstones are counted, and the old ones found in the order of their versions") {
            storage in
            let (store, zone) = try await storeWithZone(storage)
            // A record of version n was modified n milliseconds after the beginning.
            let start: Int64 = 1_700_000_000_000
            try await store.writeRecords { writer in
                try writer.save(["a", "b", "c", "d", "e"], in: zone)
                try writer.save(["a", "b", "c"], in: zone, deleted: true)  // 6, 7, 8
            }
            try await store.read { reader in
                let counts = try reader.counts(of: zone)
                try expect(counts, equals: ZoneCounts(records: 5, tombstones: 3))
                try expect(try reader.tombstoneCounts(), equals: [zone: 3])
                func old(_ moment: Int64, _ limit: Int) throws -> Int64? {
                    try reader.oldTombstones(before: start + moment, in: zone, limit: limit)
                }
                try expect(try old(6, 9), equals: nil)
                try expect(try old(8, 9), equals: 7)
                try expect(try old(99, 9), equals: 8)
                try expect(try old(99, 1), equals: 6)
            }
            let purged = try await store.writeRecords {
                try $0.purgeTombstones(through: 7, in: zone)
            }
            try expect(purged, equals: 2)
            try await store.read { reader in
                let counts = try reader.counts(of: zone)
                try expect(counts, equals: ZoneCounts(records: 3, tombstones: 1))
                try expect(try reader.tombstoneCounts(), equals: [zone: 1])
                let row = try unwrap(try reader.zone(named: "Trails"))
                try expect(row.purgeHorizon, equals: 7)
            }
        },
    ]
}
