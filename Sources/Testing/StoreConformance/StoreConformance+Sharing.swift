import StratusRecords
import StratusStorage

extension StoreConformance {
    static let sharing: [Case] = shares + views + sharedZones

    private static func access(
        _ user: String, _ share: String, root: String?, since: Int64 = 1
    ) -> ShareAccessRow {
        ShareAccessRow(share: share, user: user, root: root, canWrite: since % 2 == 0, since: since)
    }

    private static let shares: [Case] = [
        Case("shares are found, and the users with access to them") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let first = ShareRow(zone: zone, name: "S", root: "r", shortGUID: "g1")
            let second = ShareRow(zone: zone, name: "T", root: nil, shortGUID: "g2")
            try await store.writeRecords { writer in
                try expect(writer.hasShares(in: zone), equals: false)
                try writer.put(
                    first,
                    access: [
                        access("_bo", "S", root: "r"), access("_cy", "S", root: "r", since: 2),
                    ])
                try writer.put(second, access: [access("_bo", "T", root: nil)])
            }
            try await store.read { reader in
                try expect(reader.hasShares(in: zone), equals: true)
                try expect(reader.shares(in: zone, limit: 9), equals: [first, second])
                try expect(reader.shares(in: zone, limit: 1), equals: [first])
                try expect(reader.share(shortGUID: "g2"), equals: second)
                try expect(reader.share(shortGUID: "g3"), equals: nil)
                try expect(
                    reader.access(of: "_bo", in: zone),
                    equals: [access("_bo", "S", root: "r"), access("_bo", "T", root: nil)])
                try expect(reader.access(of: "_eve", in: zone), equals: [])
                try expect(
                    reader.audience(of: zone).map(\.user), equals: ["_bo", "_bo", "_cy"])
            }
            try await store.writeRecords { writer in
                try writer.put(first, access: [access("_cy", "S", root: "r", since: 4)])
                try writer.deleteShare("T", in: zone)
            }
            try await store.read { reader in
                try expect(
                    reader.audience(of: zone), equals: [access("_cy", "S", root: "r", since: 4)])
                try expect(reader.share(shortGUID: "g2"), equals: nil)
            }
        },

        Case("a deleted zone loses its shares") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords { writer in
                try writer.put(
                    ShareRow(zone: zone, name: "S", root: "r", shortGUID: "g"),
                    access: [access("_bo", "S", root: "r")])
                let version = try writer.takeVersions(1, in: zone).lowerBound
                try writer.put(event("a", in: zone, version: version))
                try writer.deleteZone(zone, reason: .deleted)
                _ = try writer.createZone(named: "Trails", hasFeed: true)
            }
            try await store.read { reader in
                try expect(reader.hasShares(in: zone), equals: false)
                try expect(reader.share(shortGUID: "g"), equals: nil)
                try expect(reader.audience(of: zone), equals: [])
                try expect(reader.sharedVersion(of: zone, roots: ["r"]), equals: 0)
            }
        },

        Case("a record's sharing data is stored") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords { writer in
                let versions = try writer.takeVersions(2, in: zone)
                var row = record(
                    "r", in: zone, version: versions.lowerBound, commit: versions.upperBound)
                row.sharing = [1, 2, 3]
                try writer.put(row)
                try writer.put(
                    record("s", in: zone, version: versions.upperBound, commit: versions.upperBound)
                )
            }
            let rows = try await store.read { try $0.records(named: ["r", "s"], in: zone) }
            try expect(rows["r"]?.sharing, equals: [1, 2, 3])
            try expect(rows["s"]?.sharing, equals: [])
        },
    ]

    private static func event(
        _ name: String, root: String = "r", in zone: ZoneRow.Key, version: Int64
    ) -> ShareEventRow {
        ShareEventRow(
            zone: zone, root: root, name: name, type: "Trail", version: version,
            commitVersion: version)
    }

    private static let views: [Case] = [
        Case("descendants are found at any depth, and cycles do not loop") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords { writer in
                for (name, parent) in [("a", "c"), ("b", "a"), ("c", "b"), ("d", "c")] {
                    try writer.save([name], in: zone, parent: parent)
                }
                try writer.save(["e"], in: zone)
                try writer.save(["f"], in: zone, deleted: true)
            }
            try await store.read { reader in
                let below = try reader.descendants(
                    of: "a", in: zone, limit: 9, payloadBytes: .max)
                try expect(below.map(\.name).sorted(), equals: ["b", "c", "d"])
                let names = try reader.descendantNames(of: "a", in: zone, limit: 9)
                try expect(names.sorted(), equals: ["b", "c", "d"])
                for (limit, bytes, count) in [(2, Int.max, 2), (9, 0, 1)] {
                    let part = try reader.descendants(
                        of: "a", in: zone, limit: limit, payloadBytes: bytes)
                    try expect(part.count, equals: count)
                }
                let none = try reader.descendants(
                    of: "e", in: zone, limit: 9, payloadBytes: .max)
                try expect(none, equals: [])
            }
        },

        Case("a share's view has the records of its roots and those that left it, by version") {
            storage in
            for count in [1, 3, 40] {
                try await checkView(
                    of: (0..<count).map { "r\($0)" }, in: "Trails\(count)", storage)
            }
        },

        Case("a purge of tombstones removes older share events") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords { writer in
                let versions = try writer.takeVersions(2, in: zone)
                try writer.put(event("a", in: zone, version: versions.lowerBound))
                try writer.put(event("b", in: zone, version: versions.upperBound))
                try writer.purgeTombstones(through: versions.lowerBound, in: zone)
            }
            let page = try await store.read {
                try $0.sharedChanges(
                    in: zone, roots: ["r"], after: .after(0), limit: 9, payloadBytes: .max)
            }
            try expect(page.rows.map(\.name), equals: ["b"])
        },
    ]

    /// Puts nine records under the roots in turn, and a tenth under another one; then three leave, of which one comes
    /// back.
    private static func checkView(
        of roots: [String], in zoneName: String, _ storage: any StorageEngine
    ) async throws {
        let store = try await storage.store(for: address)
        let zone = try await store.writeRecords { writer in
            let zone = try writer.createZone(named: zoneName, hasFeed: true).key
            for number in 0..<10 {
                let version = try writer.takeVersions(1, in: zone).lowerBound
                var row = record("n\(number)", in: zone, version: version, commit: version)
                row.shareRoot = number == 9 ? "elsewhere" : roots[number % roots.count]
                try writer.put(row)
            }
            for number in [0, 3, 6] {
                let version = try writer.takeVersions(1, in: zone).lowerBound
                var row = record("n\(number)", in: zone, version: version, commit: version)
                let root = roots[number % roots.count]
                try writer.put(event(row.name, root: root, in: zone, version: version))
                if number == 6 {
                    row.shareRoot = root
                    try writer.deleteShareEvent(of: row.name, root: root, in: zone)
                }
                try writer.put(row)
            }
            return zone
        }
        try await store.read { reader in
            func page(_ cursor: ChangeCursor, limit: Int) throws -> ChangePage {
                try reader.sharedChanges(
                    in: zone, roots: roots, after: cursor, limit: limit, payloadBytes: .max)
            }
            let all = try page(.after(0), limit: 99)
            try expect(
                all.rows.map(\.name),
                equals: ["n1", "n2", "n4", "n5", "n7", "n8", "n0", "n3", "n6"])
            try expect(
                all.rows.map(\.isDeleted),
                equals: Array(repeating: false, count: 6) + [true, true, false])
            try expect(all.moreComing, equals: false)
            try expect(all.version, equals: 13)
            let some = try page(.after(5), limit: 3)
            try expect(some.rows.map(\.name), equals: ["n5", "n7", "n8"])
            try expect(some.moreComing, equals: true)
            let rest = try page(.after(some.version), limit: 3)
            try expect(rest.rows.map(\.name), equals: ["n0", "n3", "n6"])
            let fresh = try page(
                ChangeCursor(version: 0, skipTombstonesThrough: 13, device: "phone"), limit: 99)
            try expect(fresh.rows.contains { $0.isDeleted }, equals: false)
            try expect(reader.sharedVersion(of: zone, roots: roots), equals: 13)
            try expect(reader.sharedVersion(of: zone, roots: ["nothing"]), equals: 0)
            try expect(page(.after(0), limit: 1).rows.count, equals: 1)
            let none = try reader.sharedChanges(
                in: zone, roots: [], after: .after(0), limit: 9, payloadBytes: .max)
            try expect(none.rows, equals: [])
        }
    }

    private static func othersZone(_ owner: String, deleted: Bool = false) -> SharedZoneRow {
        SharedZoneRow(
            owner: owner, name: "Z", seenVersion: 3, seenAccess: -4, isDeleted: deleted)
    }

    private static let sharedZones: [Case] = [
        Case("other users' zones are listed, also in the order of their changes") { storage in
            let store = try await storage.store(for: address)
            let start = try await store.read { try $0.databaseVersion }
            try await store.writeRecords { writer in
                let first = try writer.put(othersZone("_b"))
                try expect(first.changedAtDatabaseVersion, equals: start + 1)
                try writer.put(othersZone("_a"))
                try writer.put(othersZone("_b", deleted: true))
            }
            try await store.read { reader in
                try expect(reader.databaseVersion, equals: start + 3)
                try expect(reader.sharedZones().map(\.owner), equals: ["_a"])
                let changed = try reader.sharedZones(changedAfter: start, limit: 9)
                try expect(changed.map(\.owner), equals: ["_a", "_b"])
                try expect(changed.map(\.isDeleted), equals: [false, true])
                let one = try reader.sharedZones(changedAfter: start, limit: 1)
                try expect(one.map(\.owner), equals: ["_a"])
                try expect(reader.sharedZone(owner: "_b", name: "Z")?.seenAccess, equals: -4)
                try expect(reader.sharedZone(owner: "_c", name: "Z"), equals: nil)
            }
        },

        Case("short GUIDs lead to owners until they are deleted") { storage in
            let rows = ["g1", "g2"].map {
                ShortGUIDRow(shortGUID: $0, address: container, owner: "_alice")
            }
            try await storage.directory.put(rows)
            try await expect(storage.directory.shortGUID("g2"), equals: rows[1])
            try await storage.directory.deleteShortGUIDs(["g2", "g3"])
            try await expect(storage.directory.shortGUID("g2"), equals: nil)
            try await expect(storage.directory.shortGUID("g1"), equals: rows[0])
        },
    ]
}
