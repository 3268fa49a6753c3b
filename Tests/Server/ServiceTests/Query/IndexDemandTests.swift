import Foundation
import StratusRecords
import StratusWire
import Testing

@testable import StratusService
@testable import StratusStorage

/// In development every field may be queried, and in production after a deployment; what is not queried costs
/// nothing.
@Suite struct IndexDemandTests {
    /// The rows that the writing connection has written since it was opened.
    private func writes(_ storage: SQLiteStorageEngine, _ alice: Person) async throws -> Int64 {
        let address = DatabaseAddress(alice.world.address, .private(owner: alice.name))
        return try await storage.withDatabase(of: address) { file in
            try await file.write { database in
                try SQLStatement(database, "SELECT total_changes()").first { $0.integer(0) } ?? 0
            }
        }
    }

    private func record(_ name: String) -> RecordsModify.Operation {
        hut(
            .create, name,
            (0..<10).map { text("text\($0)", "the words of field \($0)") }
                + (0..<5).map { Field(name: "number\($0)", value: .int64(Int64($0))) })
    }

    @Test(arguments: [ContainerEnvironment.development, .production])
    func saveWritesOnlyTheIndexesThatQueriesAskedFor(
        _ environment: ContainerEnvironment
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-service-tests-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }  // a leftover fails no test
        let storage = try SQLiteStorageEngine(folder: folder)
        if environment == .production {
            let developer = try await World(storage).person("alice")
            try await developer.modify([record("first")])
            try await developer.world.service.schemaDeployment(of: World.container).deploy()
        }
        let alice = try await World(storage, environment: environment)
            .person("alice", with: "Trips")
        try await alice.modify([record("a"), record("b")], in: "Trips")
        var before = try await writes(storage, alice)
        try await alice.modify([record("c")], in: "Trips")
        let unasked = try await writes(storage, alice) - before
        #expect(unasked <= 22, "\(unasked)")
        // A search and a sort ask for one index each: five words and one number.
        let query = QueryDictionary(
            recordType: "Hut",
            filterBy: [.init(.containsAllTokens, .user("text1"), .string("words"))],
            sortBy: [.init(.user("number1"))])
        let found = try await alice.ask(
            RecordsQuery.self, .init(query: query, zoneID: zone("Trips")))
        #expect(found.records.compactMap(\.name) == ["a", "b", "c"])
        before = try await writes(storage, alice)
        try await alice.modify([record("d")], in: "Trips")
        let asked = try await writes(storage, alice) - before
        #expect(asked == unasked + 6, "\(asked) \(unasked)")
        await alice.world.service.waitUntilIdle()
        try await storage.close()
    }
}
