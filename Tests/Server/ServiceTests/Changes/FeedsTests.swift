import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import Testing

/// The feeds under their older names, the public database's feed, and the tokens in other answers.
@Suite struct FeedsTests {
    let world = World()

    // MARK: records/changes and zones/changes

    @Test func recordsChangesReturnsChangesOfOneZone() async throws {
        let alice = try await world.person("alice", with: "Trips")
        try await alice.modify([hut(.create, "a", [beds(1)]), hut(.create, "b")], in: "Trips")
        let first = try await alice.ask(
            RecordsChanges.self, .init(zoneID: zone("Trips"), numbersAsStrings: true))
        #expect(first.records.compactMap(\.name) == ["a", "b"])
        let fields = try #require(first.records[0].record?.fields)
        #expect(String(decoding: fields.encoded(), as: UTF8.self).contains("\"value\":\"1\""))
        #expect(!first.moreComing)
        try await alice.modify([hut(.forceDelete, "a")], in: "Trips")
        let next = try await alice.at("tablet").ask(
            RecordsChanges.self, .init(zoneID: zone("Trips"), syncToken: first.syncToken))
        #expect(next.records.map(\.tombstone?.recordName) == ["a"])
        // The tokens are those of changes/zone.
        #expect(try await alice.page("Trips", since: next.syncToken).records.isEmpty)
        let keyed = try await alice.ask(
            RecordsChanges.self,
            .init(zoneID: zone("Trips"), resultsLimit: 1, desiredKeys: ["none"], isReversed: true))
        #expect(keyed.records[0].name == "a")
        #expect(keyed.moreComing)
    }

    /// A device whose token expired names its last intact version: deletions before it are not reported again.
    @Test(arguments: Backend.allCases)
    func fetchFromTheBeginningNamesDeletionsAfterVersion(_ backend: Backend) async throws {
        let storage = try backend.storage()
        let world = World(storage)
        let alice = try await world.person("alice", with: "Trips")
        for name in ["kept", "later", "old", "late"] {
            try await alice.modify([hut(.create, name)], in: "Trips")
        }
        try await alice.modify([hut(.forceDelete, "old")], in: "Trips")
        try await alice.modify([hut(.forceDelete, "late")], in: "Trips")
        func feed(after version: Int64, since token: String? = nil) async throws
            -> ChangesZone.Page
        {
            try await alice.ask(
                ChangesZone.self,
                .init(zones: [
                    .init(
                        zoneID: zone("Trips"), syncToken: token, resultsLimit: 1,
                        deletionsAfterVersion: version)
                ])
            ).items[0].get()
        }
        func names(after version: Int64) async throws -> [String] {
            var page = try await feed(after: version)
            var names = page.records.compactMap(\.name)
            while page.moreComing {
                page = try await feed(after: version, since: page.syncToken)
                names += page.records.compactMap(\.name)
            }
            return names
        }
        #expect(try await names(after: 0) == ["kept", "later", "old", "late"])
        #expect(try await names(after: 5) == ["kept", "later", "late"])
        #expect(try await names(after: 6) == ["kept", "later"])
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        try await store.writeRecords { writer in
            let row = try #require(try writer.zone(named: "Trips"))
            try writer.purgeTombstones(through: 5, in: row.key)
        }
        // Purged tombstones are missing, and the fetch continues to its end.
        #expect(try await names(after: 0) == ["kept", "later", "late"])
    }

    @Test func recordsChangesFailsAsAWhole() async throws {
        let alice = try await world.person("alice", with: "Trips")
        for (zoneID, token, code, reason) in [
            (nil, nil, ServiceError.Code.badRequest, "cannot get changes in default zone"),
            (zone("_defaultZone"), nil, .badRequest, "cannot get changes in default zone"),
            (zone("Nowhere"), nil, .zoneNotFound, "Zone does not exist"),
            (zone("Trips"), "AQAB", .badRequest, "Unknown sync continuation type"),
        ] as [(ZoneIDDictionary?, String?, ServiceError.Code, String)] {
            let failure = await alice.refusal(
                RecordsChanges.self, .init(zoneID: zoneID, syncToken: token))
            #expect(failure?.error.code == code)
            #expect(failure?.error.reason == reason)
        }
        let token = try await alice.page("Trips").syncToken
        try await alice.deleteZone("Trips")
        try await alice.makeZone("Trips")
        let expired = await alice.refusal(
            RecordsChanges.self, .init(zoneID: zone("Trips"), syncToken: token))
        #expect(expired?.error.code == .changeTokenExpired)
    }

    @Test func zonesChangesReturnsChangesOfTheDatabase() async throws {
        let alice = try await world.person("alice", with: "One")
        try await alice.makeZone("Two")
        let first = try await alice.ask(ZonesChanges.self, .init(resultsLimit: 1))
        #expect(first.zones.compactMap(\.zone?.zoneID.zoneName) == ["One"])
        #expect(first.moreComing)
        let next = try await alice.ask(
            ZonesChanges.self, .init(syncToken: first.syncToken))
        #expect(next.zones.compactMap(\.zone?.zoneID.zoneName) == ["Two"])
        let same = try await alice.ask(
            ChangesDatabase.self, .init(syncToken: next.syncToken))
        #expect(same.zones.isEmpty)
        let refusal = await alice.refusal(ZonesChanges.self, .init(syncToken: "AQAB"))
        #expect(refusal?.error.reason == "Unknown sync continuation type")
    }

    // MARK: The public database

    @Test func zonesChangesIsServedInPublicDatabase() async throws {
        let alice = try await world.person("alice").elsewhere
        let first = try await alice.ask(ZonesChanges.self, .init(), in: .public)
        #expect(first.zones.isEmpty && !first.moreComing)
        try await alice.modify([hut(.create, "a")], scope: .public)
        let next = try await alice.ask(
            ZonesChanges.self, .init(syncToken: first.syncToken), in: .public)
        #expect(next.zones.isEmpty && !next.moreComing)
    }

    @Test(arguments: Backend.allCases)
    func publicDatabaseHasFeedOnlyWithExtensions(_ backend: Backend) async throws {
        let world = World(try backend.storage())
        let alice = try await world.person("alice")
        let bob = try await world.person("bob", device: "tablet")
        try await alice.modify([hut(.create, "a"), hut(.create, "b")], scope: .public)
        let request = ChangesZone.Request(zones: [.init(zoneID: zone("_defaultZone"))])
        let first = try await bob.ask(ChangesZone.self, request, in: .public)
        guard case .success(let page) = first.items[0] else {
            Issue.record("There was no page.")
            return
        }
        #expect(page.records.compactMap(\.name) == ["a", "b"])
        try await alice.modify([hut(.forceDelete, "a")], scope: .public)
        var next = request
        next.zones[0].syncToken = page.syncToken
        guard
            case .success(let rest) = try await world.nobody.ask(
                ChangesZone.self, next, in: .public
            ).items[0]
        else {
            Issue.record("The anonymous fetch was refused.")
            return
        }
        #expect(rest.records.map(\.tombstone?.recordName) == ["a"])
        let plain = await #expect(throws: RequestFailure.self) {
            try await world.service.respond(
                to: ChangesZone.self, request,
                from: Credentials(
                    apiToken: ServiceSettings.developmentToken, webAuthToken: bob.token),
                at: world.address, scope: .public)
        }
        #expect(plain?.error.frameworkCode == .badDatabase)
    }

    /// A user who fetches the user records gets only the own one.
    @Test func publicFeedOmitsOtherUserRecords() async throws {
        let world = World()
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        for person in [alice, bob] { _ = try await person.lookup([person.name], scope: .public) }
        let feed = try await bob.ask(
            ChangesZone.self, .init(zones: [.init(zoneID: zone("_defaultZone"))]), in: .public)
        guard case .success(let page) = feed.items[0] else {
            Issue.record("There was no page.")
            return
        }
        #expect(page.records.compactMap(\.name) == [bob.name])
    }

    /// The feed has neither records nor tombstones that the user may not read.
    @Test func publicFeedFollowsTheGrants() async throws {
        let (world, alice, bob) = try await GrantsTests.world(#"GRANT WRITE TO "_creator""#)
        func feed(_ person: Person) async throws -> [String] {
            let answer = try await person.ask(
                ChangesZone.self, .init(zones: [.init(zoneID: zone("_defaultZone"))]), in: .public)
            guard case .success(let page) = answer.items[0] else { return ["none"] }
            return page.records.compactMap(\.name)
        }
        for person in [alice, bob, world.nobody] {
            #expect(try await feed(person) == (person.name == alice.name ? ["a"] : []))
        }
        try await alice.modify([hut(.forceDelete, "a")], scope: .public)
        #expect(try await feed(alice) == ["a"])
        #expect(try await feed(bob.at("phone")) == [])
    }

    @Test func anonymousCallerCannotFetchPrivateZones() async throws {
        let failure = await world.nobody.refusal(
            ChangesZone.self, .init(zones: [.init(zoneID: zone("Trips"))]))
        #expect(failure?.error.code == .authenticationRequired)
    }

    // MARK: getCurrentSyncToken

    @Test func answerIncludesChangeTokenOnRequest() async throws {
        let alice = try await world.person("alice", with: "Trips")
        func ask<E: ServedEndpoint>(
            _ endpoint: E.Type, _ request: E.Request, wants: Bool = true
        ) async throws -> E.Answer {
            try await world.service.respond(
                to: endpoint, request,
                from: Credentials(
                    apiToken: ServiceSettings.developmentToken, webAuthToken: alice.token,
                    wantsSyncToken: wants),
                at: world.address, scope: .private
            ).answer
        }
        let save = RecordsModify.Request(
            operations: [hut(.forceUpdate, "hut", [beds(1)])], zoneID: zone("Trips"))
        let saved = try await ask(RecordsModify.self, save)
        let token = try #require(saved.syncToken)
        #expect(try await alice.page("Trips", since: token).records.isEmpty)
        let lookup = RecordsLookup.Request(
            records: [.init(recordName: "hut")], zoneID: zone("Trips"))
        #expect(try await ask(RecordsLookup.self, lookup).syncToken != nil)
        let query = RecordsQuery.Request(
            query: QueryDictionary(recordType: "Hut"), zoneID: zone("Trips"))
        #expect(try await ask(RecordsQuery.self, query).syncToken != nil)
        #expect(try await ask(RecordsModify.self, save, wants: false).syncToken == nil)
        var inDefaultZone = lookup
        inDefaultZone.zoneID = nil
        #expect(try await ask(RecordsLookup.self, inDefaultZone).syncToken == nil)
        try await alice.modify([hut(.forceUpdate, "hut", [beds(2)])], in: "Trips")
        #expect(try await alice.page("Trips", since: token).records.count == 1)
    }
}
