import StratusRecords
import StratusStorage
import StratusWire
import Testing

@testable import StratusService

/// The cost of finding the shares of records.
@Suite struct ShareTreeTests {
    /// Creates a chain in which each record is the parent of the next.
    private static func chain(_ count: Int, of person: Person) async throws {
        try await person.makeZone("Trips")
        for start in stride(from: 0, to: count, by: 400) {
            try await person.modify(
                (start..<min(start + 400, count)).map { number in
                    hut(
                        .create, "r\(number)",
                        parent: number == 0 ? .absent : .some("r\(number - 1)"))
                }, in: "Trips")
        }
    }

    /// Each record of a chain is read once, however long the chain is.
    @Test(arguments: [1_200, 4_800])
    func sharingAChainIsLinear(_ count: Int) async throws {
        let alice = try await World().person("alice")
        try await Self.chain(count, of: alice)
        let store = try await alice.world.service.components.databases.store(
            for: DatabaseAddress(alice.world.address, .private(owner: alice.name)))
        let (carried, steps) = try await store.read { reader in
            let zone = try reader.existingZone(named: "Trips")
            var tree = ShareTree(zone.key, isPlacing: false, reader: reader)
            tree.created["r0"] = "share"
            let carried = try tree.carriedAlong(limit: 5_000)
            return (carried, tree.steps)
        }
        #expect(carried.rows.count == count - 1)
        #expect(carried.rows.allSatisfy { $0.root == "r0" })
        #expect(steps <= 3 * count, "\(steps)")
    }

    @Test func recordsBelowOneThatStaysInItsShareAreNotRead() async throws {
        let alice = try await World().person("alice")
        try await Self.chain(20, of: alice)
        try await alice.modify([share(.create, "S", of: "r0")], in: "Trips")
        let store = try await alice.world.service.components.databases.store(
            for: DatabaseAddress(alice.world.address, .private(owner: alice.name)))
        let rowsRead = try await store.read { reader in
            let zone = try reader.existingZone(named: "Trips")
            var tree = ShareTree(zone.key, isPlacing: false, reader: reader)
            let old = try #require(try reader.records(named: ["r9"], in: zone.key)["r9"])
            var row = old
            row.parent = "r3"
            tree.save(row, old: old)
            return try tree.carriedAlong(limit: 5_000).rowsRead
        }
        #expect(rowsRead == 0)
    }

    /// A request that moves many records of one chain does not read the records below them again for each one, in any
    /// order of their names; the rest follows in steps.
    @Test(arguments: [1, 1_000, 10_000], [true, false])
    func movingManyRecordsOfAChainIsLinear(_ limit: Int, _ isReversed: Bool) async throws {
        let (count, moved) = (900, 300)
        let alice = try await World().person("alice", with: "Trips")
        func name(_ number: Int) -> String { "r\(isReversed ? 9_999 - number : 1_000 + number)" }
        for start in stride(from: 0, to: count, by: 300) {
            try await alice.modify(
                (start..<start + 300).map { number in
                    hut(
                        .create, name(number),
                        parent: number == 0 ? .absent : .some(name(number - 1)))
                }, in: "Trips")
        }
        let store = try await alice.world.service.components.databases.store(
            for: DatabaseAddress(alice.world.address, .private(owner: alice.name)))
        let names = (1...moved).map(name)
        let (carried, steps) = try await store.read { reader in
            let zone = try reader.existingZone(named: "Trips")
            var tree = ShareTree(zone.key, isPlacing: false, reader: reader)
            let rows = try reader.records(named: names, in: zone.key)
            for name in names {
                let old = try #require(rows[name])
                var row = old
                row.parent = nil
                tree.save(row, old: old)
            }
            tree.created[names[0]] = "share"
            return (try tree.carriedAlong(limit: limit), tree.steps)
        }
        #expect(
            carried.rowsRead <= 3 * (limit + 1) && (isReversed || carried.rowsRead <= 3 * count))
        #expect(steps <= 3 * count, "\(steps)")
        // Nothing was left out: the records that were not moved now follow in steps.
        #expect(carried.later.isEmpty == (limit > count))
    }
}
