import StratusRecords
import StratusStorage

extension StoreConformance {
    static let epochs: [Case] = [
        Case("the first write begins an epoch, which the next ones continue") { storage in
            let store = try await storage.store(for: address)
            let unwritten = try await store.read { try $0.epoch }
            let zone = try await store.writeRecords {
                try $0.createZone(named: "Trails", hasFeed: true).key
            }
            let first = try await store.read { try $0.epoch }
            try expect(first != unwritten, "the epoch from before the first write continues")
            for name in ["a", "b", "c"] {
                try await store.writeRecords { _ = try $0.save([name], in: zone) }
            }
            try await store.read { reader in
                try expect(reader.epoch, equals: first)
                try expect(
                    reader.epochs(of: zone, from: 0, limit: 9).map(\.epoch), equals: [first])
                let own = try reader.epochs(of: nil, from: first.number, limit: 9)
                try expect(own.map(\.epoch), equals: [first])
            }
            let other = try await storage.store(for: DatabaseAddress(container, .public))
            let theirs = try await other.read { try $0.epoch }
            try expect(theirs.identifier != unwritten.identifier, "two databases share an epoch")
        },

        Case("a new epoch begins at the present version, in a zone with its first change") {
            storage in
            let (store, zone) = try await storeWithZone(storage)
            let second = try await store.writeRecords {
                try $0.createZone(named: "Huts", hasFeed: true).key
            }
            try await store.writeRecords { _ = try $0.save(["a", "b"], in: zone) }
            let old = try await store.read { try $0.epoch }
            let (next, start) = try await store.write {
                (try $0.beginEpoch(), try $0.databaseVersion)
            }
            try expect(next.number, equals: old.number + 1)
            try await store.writeRecords { _ = try $0.save(["c"], in: zone) }
            try await store.writeRecords { _ = try $0.save(["d"], in: second) }
            try await store.read { reader in
                try expect(reader.epoch, equals: next)
                let own = try reader.epochs(of: nil, from: old.number, limit: 9)
                try expect(own.map(\.epoch), equals: [old, next])
                try expect(own.last?.startVersion, equals: start)
                let zones = try [zone, second].map { try reader.epochs(of: $0, from: 0, limit: 9) }
                try expect(zones[0].map(\.epoch), equals: [old, next])
                try expect(zones[0].map(\.startVersion), equals: [0, 2])
                try expect(zones[1].map(\.epoch), equals: [next])
                try expect(zones[1].map(\.startVersion), equals: [0])
                // Version 2 was taken in the old epoch, version 3 in the new one.
                try expect(
                    reader.epochs(of: zone, before: 2, limit: 9).map(\.epoch), equals: [old])
                try expect(
                    reader.epochs(of: zone, before: 3, limit: 9).map(\.epoch), equals: [next, old])
                try expect(
                    reader.epochs(of: zone, before: 3, limit: 1).map(\.epoch), equals: [next])
            }
        },

        Case("a write that fails leaves no epoch behind") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords { _ = try $0.save(["a"], in: zone) }
            let old = try await store.read { try $0.epoch }
            do {
                try await store.writeRecords { writer in
                    try writer.beginEpoch()
                    try writer.save(["b"], in: zone)
                    throw Refusal()
                }
            } catch is Refusal {
                // This error is expected.
            }
            try await store.read { reader in
                try expect(reader.epoch, equals: old)
                try expect(reader.epochs(of: zone, from: 0, limit: 9).count, equals: 1)
            }
            try await store.writeRecords { _ = try $0.save(["c"], in: zone) }
            let rows = try await store.read { try $0.epochs(of: zone, from: 0, limit: 9) }
            try expect(rows.map(\.startVersion), equals: rows.count == 1 ? [0] : [0, 1])
        },

        Case("old epochs are merged into the next one, and the newest stays") { storage in
            let (store, zone) = try await storeWithZone(storage)
            for name in ["a", "b", "c"] {
                try await store.writeRecords { writer in
                    try writer.beginEpoch()
                    try writer.save([name], in: zone)
                }
            }
            let newest = try await store.read { try $0.epoch }
            try expect(try await store.write { try $0.mergeEpochs(endedBefore: 0) }, equals: 0)
            let merged = try await store.write { try $0.mergeEpochs(endedBefore: .max) }
            try expect(merged >= 4, "old epochs stay")
            try await store.read { reader in
                for zone in [nil, zone] {
                    let rows = try reader.epochs(of: zone, from: 0, limit: 9)
                    try expect(rows.map(\.epoch), equals: [newest])
                    try expect(rows.map(\.startVersion), equals: [0])
                }
            }
        },

        Case("an event in the outbox keeps the epoch in which it was enqueued") { storage in
            let (store, _) = try await storeWithZone(storage)
            try await store.writeRecords { try $0.enqueue([1]) }
            let old = try await store.read { try $0.epoch }
            let next = try await store.write { try $0.beginEpoch() }
            try await store.writeRecords { try $0.enqueue([2]) }
            let rows = try await store.read { try $0.outbox(limit: 9) }
            try expect(rows.map(\.epoch), equals: [old, next])
        },
    ]
}
