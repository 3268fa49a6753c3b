import StratusSQLite
import StratusWire
import Testing

@testable import StratusService
@testable import StratusStorage

/// Shares that a request would have created, but for an error of the whole request.
@Suite struct RefusedShareTests {
    /// Otherwise the directory would grow with each refused request, up to 400 rows at a time.
    @Test func refusedRequestLeavesNoLinksInTheDirectory() async throws {
        let storage = SQLiteStorageEngine.inMemory(world: .seeded(7))
        let ida = try await World(storage).person("ida", with: "Trips")
        func links() async throws -> Int64 {
            try await storage.placement.directory.read { database in
                try SQLStatement(database, "SELECT count(*) FROM short_guid")
                    .first { $0.integer(0) } ?? 0
            }
        }
        try await ida.modify([hut(.create, "trail")], in: "Trips", operationID: "1")
        let request = RecordsModify.Request(
            operations: [share(.create, "S", of: "trail")], zoneID: zone("Trips"),
            operationID: "1")
        // The identifier belongs to another request.
        let refused = await ida.refusal(RecordsModify.self, request)
        #expect(refused?.error.code == .badRequest)
        #expect(try await links() == 0)
        let made = try await ida.modify([share(.create, "S", of: "trail")], in: "Trips")
        #expect(made[0].record?.shortGUID != nil)
        #expect(try await links() == 1)
    }
}
