import StratusRecords
import StratusWire
import Testing

@testable import StratusService

/// Queries over the zones of several owners.
@Suite struct SharedQueryTests {
    private func request(
        _ field: String, after marker: String? = nil
    ) -> RecordsQuery.Request {
        let query = QueryDictionary(recordType: "Hut", sortBy: [.init(.user(field))])
        return .init(
            query: query, isZoneWide: true, resultsLimit: 10, continuationMarker: marker)
    }

    /// The first owner's database has no room for the index, and more records than are sorted without one.
    @Test func ownerWithoutRoomForAnIndexIsReportedAfterTheOthers() async throws {
        let world = World(
            limits: .with {
                $0.indexesPerDatabase = 1
                $0.recordsScannedPerQuery = 40
            })
        let owners = try await [
            world.person("alice", with: "Trips"), world.person("ida", with: "Trips"),
        ].sorted { $0.name < $1.name }
        let bob = try await world.person("bob")
        for (owner, count) in zip(owners, [60, 2]) {
            try await owner.shareTrail(with: bob)
            try await owner.modify(
                (0..<count).map {
                    hut(
                        .create, "hut\($0)of\(count)",
                        [beds(Int64($0)), Field(name: "height", value: .int64(Int64(-$0)))],
                        parent: .some("root"))
                }, in: "Trips")
        }
        // The owner's query takes the only index.
        _ = try await owners[0].ask(RecordsQuery.self, request("beds"))

        let page = try await bob.ask(RecordsQuery.self, request("height"), in: .shared)
        #expect(page.records.compactMap(\.name) == ["hut1of2", "hut0of2"])
        let marker = try #require(page.continuationMarker)
        let refused = await bob.refusal(
            RecordsQuery.self, request("height", after: marker), in: .shared)
        #expect(refused?.error.frameworkCode == .limitExceeded)
        #expect(refused?.error.reason.contains(owners[0].name) == true)
    }
}
