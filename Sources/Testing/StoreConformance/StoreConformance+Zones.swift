import StratusRecords
import StratusStorage

extension StoreConformance {
    static let zones: [Case] = [
        Case("creating a zone that exists changes nothing") { storage in
            let store = try await storage.store(for: address)
            let first = try await store.writeRecords {
                try $0.createZone(named: "Trails", hasFeed: true)
            }
            try expect(first.generation, equals: 1)
            try expect(first.version, equals: 0)
            try expect(first.hasFeed, equals: true)
            let again = try await store.writeRecords {
                try $0.createZone(named: "Trails", hasFeed: false)
            }
            try expect(again, equals: first)
            let found = try await store.read { try $0.zone(named: "Trails") }
            try expect(found, equals: first)
            let absent = try await store.read { try $0.zone(named: "trails") }
            try expect(absent, equals: nil)
        },

        Case("a zone keeps its encryption scope until it is created again") { storage in
            let store = try await storage.store(for: address)
            func create(_ scope: ZoneEncryptionScope) async throws -> ZoneRow {
                try await store.writeRecords {
                    try $0.createZone(named: "Vault", hasFeed: true, encryptionScope: scope)
                }
            }
            let first = try await create(.perZone)
            try expect(first.encryptionScope, equals: .perZone)
            try expect(try await create(.perRecord), equals: first)
            let scopes = try await store.read { reader in
                try reader.zones().map(\.encryptionScope)
            }
            try expect(scopes, equals: [.perZone, .perRecord])
            try await store.writeRecords { try $0.deleteZone(first.key, reason: .deleted) }
            try expect(try await create(.perRecord).encryptionScope, equals: .perRecord)
            let found = try await store.read { try $0.zone(named: "Vault") }
            try expect(found?.encryptionScope, equals: .perRecord)
        },

        Case("zones are listed by name, without deleted ones") { storage in
            let store = try await storage.store(for: address)
            let names = try await store.writeRecords { writer in
                for name in ["b", "B", "a", "c"] {
                    _ = try writer.createZone(named: name, hasFeed: true)
                }
                let gone = try unwrap(writer.zone(named: "c"))
                try writer.deleteZone(gone.key, reason: .purged)
                try expect(try writer.zoneCount(), equals: 5)
                return try writer.zones().map(\.name)
            }
            try expect(names, equals: ["B", ZoneID.defaultZoneName, "a", "b"])
        },

        Case("versions are dense and belong to the zone") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let other = try await store.writeRecords {
                try $0.createZone(named: "Other", hasFeed: true).key
            }
            let taken = try await store.writeRecords { writer in
                try [
                    writer.takeVersions(3, in: zone), writer.takeVersions(1, in: other),
                    writer.takeVersions(2, in: zone),
                ]
            }
            try expect(taken, equals: [1...3, 1...1, 4...5])
            let version = try await store.read { try $0.zone(named: "Trails")?.version }
            try expect(version, equals: 5)
        },

        Case("taking no versions, or versions of a deleted zone, is refused") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await expect(.other) {
                try await store.writeRecords { _ = try $0.takeVersions(0, in: zone) }
            }
            try await store.writeRecords { try $0.deleteZone(zone, reason: .deleted) }
            try await expect(.other) {
                try await store.writeRecords { _ = try $0.takeVersions(1, in: zone) }
            }
            try await expect(.other) {
                try await store.writeRecords { try $0.deleteZone(zone, reason: .deleted) }
            }
            let absent = ZoneRow.Key(rawValue: 4_711)
            try await expect(.other) {
                _ = try await store.read { try $0.changes(in: absent, after: .after(0), limit: 1) }
            }
        },

        Case("a recreated zone continues its versions in a new generation") {
            storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords { _ = try $0.save(["a", "b"], in: zone) }
            try await store.writeRecords { try $0.deleteZone(zone, reason: .encryptedDataReset) }
            let deleted = try await store.read { try unwrap($0.zone(named: "Trails")) }
            try expect(deleted.deletion, equals: .encryptedDataReset)
            try expect(deleted.generation, equals: 1)
            let left = try await store.read { try $0.records(named: ["a", "b"], in: zone) }
            try expect(left, equals: [:])
            let again = try await store.writeRecords {
                try $0.createZone(named: "Trails", hasFeed: true)
            }
            try expect(again.key, equals: zone)
            try expect(again.generation, equals: 2)
            try expect(again.deletion, equals: nil)
            let versions = try await store.writeRecords { try $0.save(["a"], in: zone) }
            try expect(versions, equals: 3...3)
            let page = try await store.read { try $0.changes(in: zone, after: .after(0), limit: 9) }
            try expect(page.rows.map(\.name), equals: ["a"])
        },

        Case("the database feed has each changed zone once, oldest change first") { storage in
            let store = try await storage.store(for: address)
            let keys = try await store.writeRecords { writer in
                try ["a", "b", "c"].map { try writer.createZone(named: $0, hasFeed: true).key }
            }
            let start = try await store.read { try $0.databaseVersion }
            try await store.writeRecords { _ = try $0.save(["x"], in: keys[0]) }
            try await store.writeRecords { try $0.deleteZone(keys[1], reason: .deleted) }
            try await store.writeRecords { writer in
                try writer.save(["x"], in: keys[2])
                try writer.save(["y"], in: keys[0])
            }
            let changed = try await store.read {
                try $0.zones(changedAfter: start, deletedAfter: start, limit: 10)
            }
            try expect(changed.map(\.name), equals: ["b", "c", "a"])
            try expect(changed.map(\.deletion), equals: [.deleted, nil, nil])
            let deletion = changed[0].changedAtDatabaseVersion
            let living = try await store.read {
                try $0.zones(changedAfter: start, deletedAfter: deletion, limit: 2)
            }
            try expect(living.map(\.name), equals: ["c", "a"])
            // With pages of one zone, no zone of the same write is lost.
            var cursor = start
            var names: [String] = []
            while let zone = try await store.read({ [cursor] in
                try $0.zones(changedAfter: cursor, deletedAfter: start, limit: 1).first
            }) {
                try expect(zone.changedAtDatabaseVersion > cursor, "the feed makes no progress")
                cursor = zone.changedAtDatabaseVersion
                names.append(zone.name)
            }
            try expect(names, equals: ["b", "c", "a"])
            let version = try await store.read { try $0.databaseVersion }
            try expect(cursor, equals: version)
        },
    ]
}
