import StratusRecords
import StratusService
import StratusWire
import Testing

/// The feed of a zone for a user who sees several of its hierarchies.
@Suite struct SharedFeedTests {
    /// A move takes the record from one root to the other in one version.
    @Test(arguments: [("a", "b"), ("b", "a")])
    func recordMovedBetweenSeenHierarchiesIsNotDeleted(_ from: String, _ to: String) async throws {
        let world = World()
        let ida = try await world.person("ida@example.org")
        let paul = try await world.person("paul@example.org")
        try await ida.makeZone("Trips")
        let made = try await ida.modify(
            [
                hut(.create, "a"), hut(.create, "b"),
                hut(.create, "moving", parent: .some(from)),
                share(.create, "S", of: "a", participants: [invited(paul)]),
                share(.create, "T", of: "b", participants: [invited(paul)]),
            ], in: "Trips")
        for share in made.suffix(2) {
            #expect(try await paul.accept(share.record?.shortGUID ?? "").error == nil)
        }
        let trips = zone("Trips", of: ida)
        let first = try #require(try await paul.changes(in: trips).page)
        try await ida.modify([hut(.forceUpdate, "moving", parent: .some(to))], in: "Trips")
        let page = try #require(try await paul.changes(in: trips, since: first.syncToken).page)
        let moved = page.records.filter { $0.name == "moving" }
        #expect(moved.count == 1 && moved[0].record != nil, "\(moved)")
    }
}
