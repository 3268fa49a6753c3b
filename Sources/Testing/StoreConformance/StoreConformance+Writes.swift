import StratusRecords
import StratusStorage

extension StoreConformance {
    static let writes: [Case] = [
        Case("a new database has its default zone, without a feed") { storage in
            let store = try await storage.store(for: address)
            try expect(store.address, equals: address)
            let zones = try await store.read { try $0.zones() }
            try expect(zones.map(\.name), equals: [ZoneID.defaultZoneName])
            try expect(zones.first?.hasFeed, equals: false)
        },

        Case("a record is read as it was put, with any text and bytes") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let row = RecordRow(
                zone: zone, name: "a ~ name", type: "T", version: 1, commitVersion: 1,
                changeTag: "", isDeleted: false, creatorDevice: "dévice \u{1F3D4}",
                createdMilliseconds: .min, modifiedMilliseconds: .max, creator: "_a",
                modifier: "nul\u{0}inside", modifierDevice: "", parent: "p", shareRoot: "r",
                payload: Array(0...255))
            let found = try await store.writeRecords { writer in
                _ = try writer.takeVersions(1, in: zone)
                try writer.put(row)
                return try writer.records(named: ["a ~ name", "absent"], in: zone)
            }
            try expect(found, equals: ["a ~ name": row])
            let later = try await store.read { try $0.records(named: ["a ~ name"], in: zone) }
            try expect(later, equals: ["a ~ name": row])
        },

        Case("a tombstone is found under its name") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await store.writeRecords { _ = try $0.save(["a"], in: zone) }
            try await store.writeRecords { _ = try $0.save(["a"], in: zone, deleted: true) }
            let row = try await store.read { try $0.records(named: ["a"], in: zone)["a"] }
            try expect(row?.isDeleted, equals: true)
            try expect(row?.version, equals: 2)
            try expect(row?.payload, equals: [])
        },

        Case("a closure that throws leaves nothing behind and takes no version") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let before = try await store.read { try $0.databaseVersion }
            do {
                try await store.writeRecords { writer in
                    try writer.save(["a", "b"], in: zone)
                    _ = try writer.createZone(named: "Other", hasFeed: true)
                    try writer.put(SubscriptionRow(user: "_alice", identifier: "s", body: [1]))
                    try writer.enqueue([1])
                    throw Refusal()
                }
                throw Failure(
                    message: "the closure's error was not thrown", file: #fileID, line: #line)
            } catch is Refusal {
                // This error is expected.
            }
            try await store.read { reader in
                try expect(reader.records(named: ["a", "b"], in: zone), equals: [:])
                try expect(reader.zone(named: "Other"), equals: nil)
                try expect(reader.zone(named: "Trails")?.version, equals: 0)
                try expect(reader.databaseVersion, equals: before)
                try expect(reader.subscriptions(of: nil), equals: [])
                try expect(reader.outbox(limit: 10), equals: [])
            }
            let next = try await store.writeRecords { try $0.save(["c"], in: zone) }
            try expect(next, equals: 1...1)
        },

        Case("a closure sees its own writes, and so does the next one") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let inside = try await store.writeRecords { writer in
                try writer.save(["a"], in: zone)
                return try writer.changes(in: zone, after: .after(0), limit: 10).rows.map(\.name)
            }
            try expect(inside, equals: ["a"])
            let next = try await store.writeRecords { writer in
                try writer.changes(in: zone, after: .after(0), limit: 10).version
            }
            try expect(next, equals: 1)
        },

        Case("an error thrown by a closure is rethrown unchanged") { storage in
            let (store, _) = try await storeWithZone(storage)
            do {
                try await store.read { _ in throw Refusal(number: 7) }
                throw Failure(
                    message: "the closure's error was not thrown", file: #fileID, line: #line)
            } catch let refusal as Refusal {
                try expect(refusal.number, equals: 7)
            }
        },

        Case("databases are separate") { storage in
            let other = ContainerAddress(
                container: container.container, environment: .production)
            let addresses = [
                address, DatabaseAddress(container, .private(owner: "_bob")),
                DatabaseAddress(container, .public), DatabaseAddress(other, .public),
                DatabaseAddress(container, .private(owner: "public")),
                DatabaseAddress(container, .private(owner: "_ALICE")),
                DatabaseAddress(container, .private(owner: "../../up")),
            ]
            for (index, address) in addresses.enumerated() {
                let store = try await storage.store(for: address)
                _ = try await store.writeRecords {
                    try $0.createZone(named: "\(index)", hasFeed: true)
                }
            }
            for (index, address) in addresses.enumerated() {
                let store = try await storage.store(for: address)
                let names = try await store.read { try $0.zones().map(\.name) }
                try expect(names, equals: ["\(index)", ZoneID.defaultZoneName])
            }
            try expect(Set(try await storage.databases()), equals: Set(addresses))
        },

        Case("the store of one address is the same database each time") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let again = try await storage.store(for: address)
            try await store.writeRecords { _ = try $0.save(["a"], in: zone) }
            let found = try await again.read { try $0.records(named: ["a"], in: zone).count }
            try expect(found, equals: 1)
        },

        Case("a closed engine refuses") { storage in
            let (store, zone) = try await storeWithZone(storage)
            try await storage.close()
            try await expect(.closed) { _ = try await store.read { try $0.zones() } }
            try await expect(.closed) {
                try await store.writeRecords { _ = try $0.save(["a"], in: zone) }
            }
            try await expect(.closed) { _ = try await storage.store(for: address) }
            try await expect(.closed) { _ = try await storage.directory.signingKey() }
            try await expect(.closed) { try await storage.directory.createContainer(container) }
        },
    ]
}
