import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Testing

@testable import StratusService

/// Batches so large that a page with one of them exceeds a sender's share of the memory.
@Suite struct LargeBatchTests {
    private let world = World(
        limits: .with {
            $0.memoryBytes = 400_000
            $0.changedBytesPerAnswer = 20_000
        })

    /// Saves 120 kB in one request.
    private func saveBatch(_ person: Person, in zoneName: String) async throws {
        try await person.makeZone(zoneName)
        let note = text("note", String(repeating: "x", count: 30_000))
        try await person.modify((0..<4).map { hut(.create, "hut\($0)", [note]) }, in: zoneName)
    }

    /// What a request holds for its sender while it is answered.
    private func memory() -> HeldMemory {
        let memory = HeldMemory(world.service.memory, networkAddress: "10.0.0.1")
        memory.take(1_000)
        return memory
    }

    /// Fetches zones as a server does.
    ///
    /// - Returns: For each zone the number of records, or nil when the zone failed for lack of memory.
    private func fetch(
        _ names: [String], _ person: Person, holding memory: HeldMemory
    ) async throws -> [Int?] {
        let request = ChangesZone.Request(zones: names.map { .init(zoneID: zone($0)) })
        let answered = try await world.service.receive(
            ChangesZone.self, from: person.credentials, at: world.address, scope: .private
        ).checkRate().admit().having(request)
            .answer(receivedBytes: 100, holding: memory) { $0 }
        return try answered.inProcess().answer.items.map { item in
            switch item {
            case .success(let page): return page.records.count
            case .failure(let failure) where failure.error.code == .tryAgainLater: return nil
            case .failure(let failure): throw failure.error
            }
        }
    }

    @Test func batchLargerThanTheSendersShareIsFetched() async throws {
        let alice = try await world.person("alice")
        try await saveBatch(alice, in: "Trips")
        let neighbour = HeldMemory(world.service.memory, networkAddress: "10.0.0.2")
        neighbour.take(100_000)
        #expect(try await fetch(["Trips"], alice, holding: memory()) == [4])
        withExtendedLifetime(neighbour) {}
    }

    @Test func secondLargeBatchWaitsForTheFirst() async throws {
        let alice = try await world.person("alice")
        try await saveBatch(alice, in: "Trips")
        do {
            let first = memory()
            #expect(try await fetch(["Trips"], alice, holding: first) == [4])
            let refused = await #expect(throws: RequestFailure.self) {
                try await fetch(["Trips"], alice, holding: memory())
            }
            #expect(refused?.error.code == .tryAgainLater)
            withExtendedLifetime(first) {}
        }
        #expect(try await fetch(["Trips"], alice, holding: memory()) == [4])
    }

    /// Otherwise a request for both zones would never be answered.
    @Test func secondLargeBatchInOneRequestFailsByItself() async throws {
        let alice = try await world.person("alice")
        try await saveBatch(alice, in: "Trips")
        try await saveBatch(alice, in: "Other")
        #expect(try await fetch(["Trips", "Other"], alice, holding: memory()) == [4, nil])
        #expect(try await fetch(["Other"], alice, holding: memory()) == [4])
    }

    /// A request that shares a record is one batch, and so is each step that follows.
    @Test(arguments: [1, 5_000])
    func sharingMovesAtMostEightMegabytesAtOnce(_ recordsPerShareChange: Int) async throws {
        let storage = SQLiteStorageEngine.inMemory(world: .seeded(7))
        let world = World(
            storage, limits: .with { $0.recordsPerShareChange = recordsPerShareChange },
            startsLongChanges: false)
        let alice = try await world.person("alice", with: "Trips")
        try await alice.modify([hut(.create, "root")], in: "Trips")
        let note = text("note", String(repeating: "x", count: 900_000))
        let names = (0..<10).map { "hut\($0)" }
        for name in names {
            try await alice.modify([hut(.create, name, [note], parent: .some("root"))], in: "Trips")
        }
        try await alice.modify([share(.create, "S", of: "root")], in: "Trips")
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        var moved: [Int] = []
        repeat {
            let count = try await store.read { reader in
                guard let zone = try reader.zone(named: "Trips") else { return 0 }
                let rows = try reader.records(named: names, in: zone.key)
                return rows.values.count { $0.shareRoot == "root" }
            }
            moved.append(count)
        } while try await world.step(alice, in: storage)
        // The first step is a part of the request.
        #expect(moved == [9, 10])
    }
}
