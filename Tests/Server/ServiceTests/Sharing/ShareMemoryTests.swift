import StratusRecords
import StratusWire
import Testing

@testable import StratusService

/// The memory of requests about links.
@Suite struct ShareMemoryTests {
    /// A request may follow many links, each with a root record of a megabyte.
    @Test func rootRecordsOfLinksCountAgainstMemory() async throws {
        let world = World(limits: .with { $0.memoryBytes = 400_000 })
        let ida = try await world.person("ida", with: "Trips")
        let made = try await ida.modify(
            [
                hut(.create, "trail", [text("note", String(repeating: "x", count: 100_000))]),
                share(.create, "S", of: "trail"),
            ], in: "Trips")
        let link = try #require(made[1].record?.shortGUID)
        /// Asks as a server does, with a request that holds memory itself.
        func refusal(root: Bool) async throws -> ServiceError? {
            let memory = HeldMemory(world.service.memory, networkAddress: "10.0.0.1")
            memory.take(1_000)
            let request = RecordsResolve.Request([
                .init(value: link, shouldFetchRootRecord: root)
            ])
            let answered = try await world.service.receive(
                RecordsResolve.self, from: ida.credentials, at: world.address, scope: .public
            ).checkRate().admit().having(request)
                .answer(receivedBytes: 100, holding: memory) { $0 }
            return answered.inProcess().answer.items[0].error
        }
        #expect(try await refusal(root: false) == nil)
        #expect(try await refusal(root: true)?.code == .tryAgainLater)
    }
}
