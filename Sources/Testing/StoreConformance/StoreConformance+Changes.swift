import StratusRecords
import StratusStorage

extension StoreConformance {
    static let changes: [Case] = [
        Case("changes come oldest first, each record once, in its present state") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords { _ = try $0.save(["a", "b", "c"], in: zone) }
            try await store.writeRecords { _ = try $0.save(["a"], in: zone) }
            let page = try await store.read { try $0.changes(in: zone, after: .after(0), limit: 9) }
            try expect(page.rows.map(\.name), equals: ["b", "c", "a"])
            try expect(page.rows.map(\.version), equals: [2, 3, 4])
            try expect(page.version, equals: 4)
            try expect(page.moreComing, equals: false)
            let none = try await store.read { try $0.changes(in: zone, after: .after(4), limit: 9) }
            try expect(none, equals: ChangePage(rows: [], version: 4, moreComing: false))
        },

        Case("the last page returns the zone's version, even if no record has it") {
            storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords { _ = try $0.save(["a", "b"], in: zone) }
            // A change of visibility takes a version without a record.
            try await store.writeRecords { _ = try $0.takeVersions(5, in: zone) }
            let page = try await store.read { try $0.changes(in: zone, after: .after(0), limit: 2) }
            try expect(page.version, equals: 7)
            try expect(page.moreComing, equals: false)
        },

        Case("no page ends inside a request") { storage in
            let (store, zone) = try await storeWithZone(storage)
            for batch in 0..<4 {
                let names = (0..<5).map { "\(batch).\($0)" }
                try await store.writeRecords { _ = try $0.save(names, in: zone) }
            }
            var cursor: Int64 = 0
            var sizes: [Int] = []
            var moreComing = true
            while moreComing {
                let page = try await store.read { [cursor] in
                    try $0.changes(in: zone, after: .after(cursor), limit: 6)
                }
                try expect(page.version, equals: page.rows.last?.version ?? 0)
                sizes.append(page.rows.count)
                cursor = page.version
                moreComing = page.moreComing
            }
            try expect(sizes, equals: [10, 10])
        },

        Case("a page ends at its limit if whole batches are not wanted") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords {
                _ = try $0.save((0..<5).map { "r\($0)" }, in: zone)
            }
            var cursor = ChangeCursor.after(0)
            cursor.wantsWholeBatches = false
            var names: [[String]] = []
            for _ in 0..<3 {
                let page = try await store.read { [cursor] in
                    try $0.changes(in: zone, after: cursor, limit: 2)
                }
                names.append(page.rows.map(\.name))
                try expect(page.moreComing, equals: names.count < 3)
                cursor.version = page.version
            }
            try expect(names, equals: [["r0", "r1"], ["r2", "r3"], ["r4"]])
        },

        Case("a full last page says that nothing comes after it") { storage in
            let (store, zone) = try await storeWithZone(storage)
            for name in ["a", "b"] {
                try await store.writeRecords { _ = try $0.save([name], in: zone) }
            }
            let page = try await store.read { try $0.changes(in: zone, after: .after(0), limit: 2) }
            try expect(page.moreComing, equals: false)
            let first = try await store.read {
                try $0.changes(in: zone, after: .after(0), limit: 1)
            }
            try expect(first.moreComing, equals: true)
            try expect(first.version, equals: 1)
        },

        Case("old tombstones are skipped, except for the record's creating device") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords { writer in
                try writer.save(["phone's"], in: zone, device: "phone")
                try writer.save(["tablet's"], in: zone, device: "tablet")
                try writer.save(["living"], in: zone, device: "tablet")
                try writer.save(["phone's"], in: zone, deleted: true, device: "phone")  // 4
                try writer.save(["tablet's"], in: zone, deleted: true, device: "tablet")  // 5
                try writer.save(["late"], in: zone, deleted: true, device: "tablet")  // 6
            }
            func names(_ skip: Int64, _ device: String) async throws -> [String] {
                let cursor = ChangeCursor(version: 0, skipTombstonesThrough: skip, device: device)
                return try await store.read {
                    try $0.changes(in: zone, after: cursor, limit: 9).rows.map(\.name)
                }
            }
            try expect(await names(0, "phone"), equals: ["living", "phone's", "tablet's", "late"])
            try expect(await names(5, "other"), equals: ["living", "late"])
            try expect(await names(5, "phone"), equals: ["living", "phone's", "late"])
            try expect(await names(6, "other"), equals: ["living"])
        },

        Case("a page followed only by skipped tombstones is the last one") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords { _ = try $0.save(["a"], in: zone) }
            try await store.writeRecords { _ = try $0.save(["b"], in: zone, deleted: true) }
            let cursor = ChangeCursor(version: 0, skipTombstonesThrough: 2, device: "")
            let page = try await store.read { try $0.changes(in: zone, after: cursor, limit: 1) }
            try expect(page.rows.map(\.name), equals: ["a"])
            try expect(page.moreComing, equals: false)
            try expect(page.version, equals: 2)
        },

        Case("a purge removes tombstones up to its version and raises the purge horizon") {
            storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords { _ = try $0.save(["a", "b", "c"], in: zone) }
            try await store.writeRecords { _ = try $0.save(["a"], in: zone, deleted: true) }
            try await store.writeRecords { _ = try $0.save(["b"], in: zone, deleted: true) }
            _ = try await store.writeRecords { try $0.purgeTombstones(through: 4, in: zone) }
            try await store.read { reader in
                let page = try reader.changes(in: zone, after: .after(0), limit: 9)
                try expect(page.rows.map(\.name), equals: ["c", "b"])
                try expect(reader.zone(named: "Trails")?.purgeHorizon, equals: 4)
                try expect(reader.zone(named: "Trails")?.version, equals: 5)
            }
            _ = try await store.writeRecords { try $0.purgeTombstones(through: 2, in: zone) }
            let horizon = try await store.read { try $0.zone(named: "Trails")?.purgeHorizon }
            try expect(horizon, equals: 4)
            _ = try await store.writeRecords { try $0.purgeTombstones(through: 99, in: zone) }
            let top = try await store.read { try $0.zone(named: "Trails")?.purgeHorizon }
            try expect(top, equals: 5)
        },

        Case("a deleted name can be saved again") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords { _ = try $0.save(["a"], in: zone) }
            try await store.writeRecords { _ = try $0.save(["a"], in: zone, deleted: true) }
            try await store.writeRecords { _ = try $0.save(["a"], in: zone) }
            _ = try await store.writeRecords { try $0.purgeTombstones(through: 2, in: zone) }
            let page = try await store.read { try $0.changes(in: zone, after: .after(0), limit: 9) }
            try expect(page.rows.map(\.version), equals: [3])
            try expect(page.rows.map(\.isDeleted), equals: [false])
        },

        Case("a scan returns a type's records in byte order, without tombstones") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let names = (0..<300).map { "n\($0)" }
            try await store.writeRecords { writer in
                try writer.save(names, in: zone)
                try writer.save(["N", "~"], in: zone)
                try writer.save(["other"], in: zone, type: "Bench")
                try writer.save(["n7"], in: zone, deleted: true)
            }
            let wanted = (names + ["N", "~"]).filter { $0 != "n7" }.sorted()
            func scan(after name: String?, count: Int) async throws -> [String] {
                try await store.read { reader in
                    var found: [String] = []
                    try reader.scan(type: "Trail", in: zone, after: name) { row in
                        found.append(row.name)
                        return found.count < count
                    }
                    return found
                }
            }
            try expect(await scan(after: nil, count: .max), equals: wanted)
            try expect(await scan(after: "n5", count: 2), equals: ["n50", "n51"])
            try expect(await scan(after: "~", count: 2), equals: [])
        },

        Case("a scan's closure may read and write") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let names = (100..<400).map(String.init)
            try await store.writeRecords { _ = try $0.save(names, in: zone) }
            let seen = try await store.writeRecords { writer in
                var seen: [String] = []
                try writer.scan(type: "Trail", in: zone, after: nil) { row in
                    seen.append(row.name)
                    try writer.save([row.name], in: zone)
                    return try writer.records(named: [row.name], in: zone).count == 1
                }
                return seen
            }
            try expect(seen, equals: names)
        },

        Case("children are found by their parent") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords { writer in
                try writer.save(["root"], in: zone)
                try writer.save(["b", "a", "gone"], in: zone, parent: "root")
                try writer.save(["else"], in: zone, parent: "other")
                try writer.save(["gone"], in: zone, deleted: true, parent: "root")
                let other = try writer.createZone(named: "Other", hasFeed: true)
                try writer.save(["elsewhere"], in: other.key, parent: "root")
            }
            try await store.read { reader in
                try expect(reader.children(of: "root", in: zone, limit: 9), equals: ["a", "b"])
                try expect(reader.children(of: "root", in: zone, limit: 1), equals: ["a"])
                try expect(reader.children(of: "a", in: zone, limit: 9), equals: [])
            }
        },
    ]
}
