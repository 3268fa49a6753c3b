import StratusRecords
import StratusService
import StratusWire
import Testing

/// The feed of a zone for a user who sees several of its hierarchies.
@Suite struct SharedFeedTests {
    /// A move changes the record's root in a single version.
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

    /// With more than 16 hierarchies, all shared records of the zone are read.
    @Test func recordsOfOtherHierarchiesThatAPagePassesAreCharged() async throws {
        let world = World(limits: .with { $0.requestsInBurst = 40 }, isThrottled: true)
        let ida = try await world.person("ida", with: "Trips")
        let paul = try await world.person("paul")
        let names = (0..<17).map { "root\($0)" }
        let roots = names.map { hut(.create, $0) }
        let shares = names.map { share(.create, "S-\($0)", of: $0, permission: .readOnly) }
        let made = try await ida.modify(roots + shares, in: "Trips")
        for result in made.suffix(17) {
            world.advance(seconds: 60)
            #expect(try await paul.accept(result.record?.shortGUID ?? "").error == nil)
        }
        try await ida.modify(
            [hut(.create, "other"), share(.create, "S", of: "other", participants: [])],
            in: "Trips")
        for start in stride(from: 0, to: 1_600, by: 400) {
            world.advance(seconds: 60)
            try await ida.modify(
                (start..<start + 400).map { hut(.create, "h\($0)", parent: .some("other")) },
                in: "Trips")
        }
        world.advance(seconds: 60)
        let request = ChangesZone.Request(zones: [.init(zoneID: zone("Trips", of: ida))])
        var pages = 0
        while pages < 40,
            await paul.refusal(ChangesZone.self, request, in: .shared) == nil
        { pages += 1 }
        #expect((2...5).contains(pages), "\(pages)")
    }
}
