import StratusRecords
import StratusStorage
import StratusWire
import Testing

@testable import StratusService

/// What it takes to find the shares over records.
@Suite struct ShareTreeTests {
    /// A chain in which each record is the parent of the next.
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

    /// Each record of a chain is looked at once, however long the way up is.
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
}
