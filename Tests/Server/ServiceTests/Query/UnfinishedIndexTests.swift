import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import TestSeeds
import Testing

@testable import StratusService

/// Queries are answered correctly and without errors while the indexes that they need are built, replaced by
/// others, and completed after a restart.
@Suite struct UnfinishedIndexTests {
    static let seeds = Seeds.forTest("UnfinishedIndexTests", count: 3)

    /// A few records fill every step, and a few queries use up the limit of indexes.
    private static func limits(_ script: inout QueryScript) -> Limits {
        var limits = Limits()
        limits.recordsPerIndexStep = 3
        limits.entriesPerIndexStep = 5
        limits.recordsSortedTogether = 16
        limits.recordsReadPerCompoundIndex = 0
        limits.indexesPerDatabase = 12
        limits.compoundIndexesPerDatabase = 2
        limits.savesPerUnusedIndex = 6
        if script.numbers.next() % 2 == 0 { limits.recordsScannedPerQuery = 40 }
        return limits
    }

    /// In production the marks come from a deployment.
    @Test(arguments: seeds) func queriesAreCorrectWhileIndexesAreBuiltAndDropped(_ seed: UInt64)
        async throws
    {
        var script = QueryScript(seed: seed)
        let limits = Self.limits(&script)
        let storage = SQLiteStorageEngine.inMemory(world: .seeded(seed))
        for environment in [ContainerEnvironment.development, .production] {
            let first = try await World(storage, environment: environment, limits: limits)
                .person("alice")
            for name in QueryScript.zones where name != "_defaultZone" {
                try await first.makeZone(name)
            }
            try await first.modify(
                [script.saveOfEveryField("all"), script.saveOfEveryField("all7")], in: "Trips")
            for round in 0..<5 {
                // A new service: an index is built further only if a query asks for it.
                let world = World(
                    storage, environment: environment, limits: limits,
                    heldBack: round % 2 == 0 ? ["index building"] : [])
                let alice = try await world.person("alice")
                for zoneName in QueryScript.zones {
                    try await alice.modify(script.operations(), in: zoneName, isAtomic: false)
                }
                for _ in 0..<5 {
                    try await alice.compare(
                        script.query(), zoneName: script.zoneName(), limit: script.pageLength())
                }
                try await Self.askAtOnce(alice, &script)
            }
            guard environment == .development else { continue }
            try await first.world.service.schemaDeployment(of: World.container).deploy()
        }
        try await storage.close()
    }

    /// Queries of both types, whose indexes replace one another.
    private static func askAtOnce(_ alice: Person, _ script: inout QueryScript) async throws {
        let queries = (0..<4).map { _ in
            (script.query(), script.zoneName(), script.pageLength())
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (query, zoneName, limit) in queries {
                group.addTask {
                    try await alice.compare(query, zoneName: zoneName, limit: limit)
                }
            }
            try await group.waitForAll()
        }
    }
}
