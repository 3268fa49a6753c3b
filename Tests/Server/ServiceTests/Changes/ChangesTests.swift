import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import Testing

/// Fetching the changes of zones and databases.
@Suite struct ChangesTests {
    let world = World()

    @Test(arguments: Backend.allCases)
    func fetchReturnsEachRecordOnceInNewestState(_ backend: Backend) async throws {
        let alice = try await World(try backend.storage()).person("alice", with: "Trips")
        try await alice.modify([hut(.create, "a", [beds(1)])], in: "Trips")
        try await alice.modify([hut(.create, "b", [beds(2)])], in: "Trips")
        try await alice.modify([hut(.forceUpdate, "a", [beds(3)])], in: "Trips")
        let all = try await alice.page("Trips")
        #expect(all.records.map(\.name) == ["b", "a"])
        #expect(all.records[1].values == ["beds": .int64(3)])
        #expect(!all.moreComing)
        try await alice.modify([hut(.forceDelete, "b")], in: "Trips")
        let next = try await alice.page("Trips", since: all.syncToken)
        #expect(next.records.map(\.tombstone?.recordName) == ["b"])
        #expect(next.records[0].tombstone?.recordType == "Hut")
        #expect(try await alice.page("Trips", since: next.syncToken).records.isEmpty)
        // An older token stays valid.
        #expect(try await alice.page("Trips", since: all.syncToken).records == next.records)
    }

    /// Without a token, earlier deletions are reported only to the device that created the record; those
    /// that happen during the fetch are reported to all.
    @Test func firstFetchOmitsOldTombstonesOfOtherDevices() async throws {
        let phone = try await world.person("alice")
        let tablet = phone.at("tablet")
        try await phone.makeZone("Trips")
        try await phone.modify([hut(.create, "old")], in: "Trips")
        try await phone.modify([hut(.create, "kept")], in: "Trips")
        try await phone.modify([hut(.create, "late")], in: "Trips")
        try await phone.modify([hut(.forceDelete, "old")], in: "Trips")
        let onPhone = try await phone.page("Trips")
        #expect(Set(onPhone.records.compactMap(\.name)) == ["kept", "late", "old"])
        let first = try await tablet.page("Trips", limit: 1)
        #expect(first.records.map(\.name) == ["kept"])
        #expect(first.moreComing)
        try await phone.modify([hut(.forceDelete, "late")], in: "Trips")
        let rest = try await tablet.page("Trips", since: first.syncToken)
        #expect(rest.records.map(\.tombstone?.recordName) == ["late"])
    }

    @Test func fetchReturnsOnlyDesiredTypesAndKeys() async throws {
        let alice = try await world.person("alice", with: "Trips")
        try await alice.modify(
            [hut(.create, "a", [beds(1), text("name", "x")]), hut(.create, "t", type: "Trail")],
            in: "Trips")
        let page = try await alice.page("Trips", types: ["Trail"])
        #expect(page.records.map(\.name) == ["t"])
        let keyed = try await alice.ask(
            ChangesZone.self,
            .init(zones: [.init(zoneID: zone("Trips"), desiredKeys: ["beds"])]))
        guard case .success(let cut) = keyed.items[0] else {
            Issue.record("There was no page.")
            return
        }
        #expect(cut.records[0].values == ["beds": .int64(1)])
    }

    @Test func reversedPagesReturnEachRecordOnce() async throws {
        let alice = try await world.person("alice", with: "Trips")
        for number in 0..<5 {
            try await alice.modify([hut(.create, "r\(number)")], in: "Trips")
        }
        var names: [String] = []
        var page = try await alice.page("Trips", limit: 2, isReversed: true)
        #expect(page.records.compactMap(\.name) == ["r4", "r3"])
        names += page.records.compactMap(\.name)
        try await alice.modify([hut(.create, "later")], in: "Trips")
        while page.moreComing {
            page = try await alice.page("Trips", since: page.syncToken, limit: 2, isReversed: true)
            names += page.records.compactMap(\.name)
        }
        #expect(names == ["r4", "r3", "r2", "r1", "r0"])
        let after = try await alice.page("Trips", since: page.syncToken)
        #expect(after.records.map(\.name) == ["later"])
    }

    @Test func resultsLimitDeterminesPageLengthUpToMaximum() async throws {
        let alice = try await World.alice {
            $0.recordsPerPage = 3
            $0.maximumRecordsPerPage = 5
        }
        try await alice.makeZone("Trips")
        for number in 0..<8 {
            try await alice.modify([hut(.create, "r\(number)")], in: "Trips")
        }
        for (asked, count) in [(nil, 3), (4, 4), (100, 5), (0, 3), (-1, 3)] as [(Int?, Int)] {
            #expect(try await alice.page("Trips", limit: asked).records.count == count)
        }
    }

    /// Clients without the extensions get pages of the requested length, 200 at most.
    @Test(arguments: [false, true])
    func otherClientsPagesEndAtResultsLimit(_ isReversed: Bool) async throws {
        let alice = try await world.person("alice", with: "Trips")
        let names = (0..<205).map { "r\($0)" }
        try await alice.modify(names.map { hut(.create, $0) }, in: "Trips")
        var found: [String] = []
        var lengths: [Int] = []
        var token: String?
        while lengths.count < 9 {
            let page = try await alice.elsewhere.page(
                "Trips", since: token, limit: token == nil ? 2_000 : 2, isReversed: isReversed)
            found += page.records.compactMap(\.name)
            lengths.append(page.records.count)
            token = page.syncToken
            if !page.moreComing { break }
        }
        #expect(lengths == [200, 2, 2, 1])
        #expect(found == (isReversed ? names.reversed() : names))
        // With the extensions, a page has whole batches, and may be longer.
        let whole = try await alice.page("Trips", limit: 2, isReversed: isReversed)
        #expect(whole.records.count == 205)
        #expect(!whole.moreComing)
    }

    @Test func otherClientsPagesOfSharedZonesLoseNothing() async throws {
        let world = world
        let ida = try await world.person("ida@example.org")
        let bo = try await world.person("bo@example.org")
        try await ida.makeZone("Trips")
        let made = try await ida.modify(
            [hut(.create, "t"), share(.create, "S", of: "t", participants: [invited(bo)])]
                + (0..<6).map { hut(.create, "h\($0)", parent: .some("t")) }, in: "Trips")
        _ = try await bo.accept(try #require(made[1].record?.shortGUID))
        let trips = zone("Trips", of: ida)
        var token: String?
        var found: [String] = []
        for _ in 0..<20 {
            let page = try #require(
                try await bo.elsewhere.changes(in: trips, since: token, limit: 1).page)
            #expect(page.records.count <= 1)
            found += page.records.compactMap(\.name)
            token = page.syncToken
            if !page.moreComing { break }
        }
        #expect(Set(found) == ["t", "S", "h0", "h1", "h2", "h3", "h4", "h5"])
        #expect(found.count == 8)
    }

    // MARK: Tokens

    /// Each token is refused for this zone, and only this zone fails.
    @Test func forgedOrForeignChangeTokenIsRefused() async throws {
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        for person in [alice, bob] {
            try await person.makeZone("Trips")
            try await person.makeZone("Other")
        }
        let own = try await alice.page("Trips").syncToken
        var forged = Array(own.utf8)
        forged[20] = forged[20] == 65 ? 66 : 65
        let database = try await alice.ask(ChangesDatabase.self, .init()).syncToken
        for token in [
            "", "AQAAAAAAAAAB", "not base64!", String(decoding: forged, as: UTF8.self),
            try await alice.page("Other").syncToken, try await bob.page("Trips").syncToken,
            database,
        ] {
            let result = try await alice.changes("Trips", since: token)
            guard case .failure(let failure) = result else {
                Issue.record("A foreign token was taken.")
                continue
            }
            #expect(failure.error.code == .badRequest)
            #expect(failure.error.reason == "Unknown sync continuation type")
            #expect(failure.error.frameworkCode == .changeTokenExpired)
        }
        let both = try await alice.ask(
            ChangesZone.self,
            .init(zones: [
                .init(zoneID: zone("Trips"), syncToken: "AQAB"), .init(zoneID: zone("Other")),
            ]))
        guard case .failure = both.items[0], case .success = both.items[1] else {
            Issue.record("One zone's failure must stay its own.")
            return
        }
        let foreign = await alice.refusal(ChangesDatabase.self, .init(syncToken: own))
        #expect(foreign?.error.code == .badRequest)
        #expect(foreign?.error.frameworkCode == .changeTokenExpired)
    }

    @Test func recreatedZoneExpiresItsChangeTokens() async throws {
        let alice = try await world.person("alice", with: "Trips")
        let token = try await alice.page("Trips").syncToken
        try await alice.deleteZone("Trips")
        await #expect(throws: ServiceError.self) {
            try await alice.page("Trips", since: token)
        }
        try await alice.makeZone("Trips")
        guard case .failure(let failure) = try await alice.changes("Trips", since: token) else {
            Issue.record("The token outlived its zone.")
            return
        }
        #expect(failure.error.code == .changeTokenExpired)
        #expect(failure.error.frameworkCode == .changeTokenExpired)
    }

    @Test(arguments: Backend.allCases)
    func changeTokenExpiresWithItsTombstones(_ backend: Backend) async throws {
        let storage = try backend.storage()
        let world = World(storage)
        let alice = try await world.person("alice", with: "Trips")
        try await alice.modify([hut(.create, "a")], in: "Trips")
        let early = try await alice.page("Trips").syncToken
        try await alice.modify([hut(.forceDelete, "a")], in: "Trips")
        let late = try await alice.page("Trips", since: early).syncToken
        let database = try await alice.ask(ChangesDatabase.self, .init()).syncToken
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        try await store.writeRecords { writer in
            let row = try #require(try writer.zone(named: "Trips"))
            try writer.purgeTombstones(through: row.version, in: row.key)
        }
        await #expect(throws: ServiceError.self) { try await alice.page("Trips", since: early) }
        #expect(try await alice.page("Trips", since: late).records.isEmpty)
        // A new epoch does not expire tokens.
        _ = try await store.write { try $0.beginEpoch() }
        #expect(try await alice.page("Trips", since: late).records.isEmpty)
        let zones = try await alice.ask(ChangesDatabase.self, .init(syncToken: database))
        #expect(zones.zones.isEmpty)
    }

    /// An answer is built in memory: large records shorten pages, and every zone gets one.
    @Test(arguments: Backend.allCases)
    func byteLimitShortensPages(_ backend: Backend) async throws {
        let alice = try await World.alice(try backend.storage()) {
            $0.changedBytesPerAnswer = 2_500
        }
        for name in ["Trips", "Other"] {
            try await alice.makeZone(name)
            for number in 0..<5 {
                let note = text("note", String(repeating: "x", count: 1_000))
                try await alice.modify([hut(.create, "hut-\(number)", [note])], in: name)
            }
        }
        let answer = try await alice.ask(
            ChangesZone.self,
            .init(zones: [.init(zoneID: zone("Trips")), .init(zoneID: zone("Other"))]))
        let pages = answer.items.compactMap {
            if case .success(let page) = $0 { page } else { nil }
        }
        #expect(pages.map(\.records.count) == [3, 1])
        #expect(pages.map(\.moreComing) == [true, true])
        let rest = try await alice.page("Trips", since: pages[0].syncToken)
        #expect(rest.records.compactMap(\.name) == ["hut-3", "hut-4"])
        #expect(!rest.moreComing)
    }

    @Test func byteLimitShortensReversedPages() async throws {
        let alice = try await World(limits: .with { $0.changedBytesPerAnswer = 2_500 }).person(
            "alice")
        try await alice.makeZone("Trips")
        for number in 0..<5 {
            let note = text("note", String(repeating: "x", count: 1_000))
            try await alice.modify([hut(.create, "hut-\(number)", [note])], in: "Trips")
        }
        var names: [String] = []
        var token: String?
        var lengths: [Int] = []
        repeat {
            let page = try await alice.page("Trips", since: token, isReversed: true)
            names += page.records.compactMap(\.name)
            lengths.append(page.records.count)
            token = page.moreComing ? page.syncToken : nil
        } while token != nil
        #expect(names == ["hut-4", "hut-3", "hut-2", "hut-1", "hut-0"])
        #expect(lengths == [2, 2, 1])
    }

    @Test func deletionReasonIsSentOnlyWithExtensions() async throws {
        let alice = try await world.person("alice", with: "Trips")
        try await alice.deleteZone("Trips")
        let answer = try await world.service.respond(
            to: ChangesDatabase.self, .init(),
            from: Credentials(
                apiToken: ServiceSettings.developmentToken, webAuthToken: alice.token),
            at: world.address, scope: .private)
        #expect(answer.answer.zones.allSatisfy { $0.zone?.deletionReason == nil })
    }

    /// Otherwise one request could ask for the largest page of one zone 400 times.
    @Test func duplicateZoneInRequestIsRefused() async throws {
        let alice = try await world.person("alice", with: "Trips")
        let refusal = await alice.refusal(
            ChangesZone.self,
            .init(zones: [
                .init(zoneID: zone("Trips")),
                .init(zoneID: ZoneIDDictionary(zoneName: "Trips", ownerRecordName: alice.name)),
            ]))
        #expect(refusal?.error.code == .badRequest)
    }

    @Test func defaultZoneAndPublicDatabaseHaveNoFeed() async throws {
        let alice = try await world.person("alice")
        guard case .failure(let failure) = try await alice.changes("_defaultZone") else {
            Issue.record("The default zone has no feed.")
            return
        }
        #expect(failure.error.reason == "cannot get changes in default zone")
        let refusal = await alice.refusal(ChangesDatabase.self, .init(), in: .public)
        #expect(refusal?.error.frameworkCode == .badDatabase)
    }

    // MARK: The database

    /// Zones that are not reported take no place on a page: the default zone and deleted ones.
    @Test func databaseChangesBeginWithAFullPage() async throws {
        let alice = try await world.person("alice")
        for name in ["A", "B", "C"] {
            try await alice.makeZone(name)
            try await alice.deleteZone(name)
        }
        for name in ["D", "E"] { try await alice.makeZone(name) }
        let first = try await alice.ask(ChangesDatabase.self, .init(resultsLimit: 1))
        #expect(first.zones.compactMap(\.zone?.zoneID.zoneName) == ["D"])
        #expect(first.moreComing)
        let next = try await alice.ask(
            ChangesDatabase.self, .init(syncToken: first.syncToken, resultsLimit: 1))
        #expect(next.zones.compactMap(\.zone?.zoneID.zoneName) == ["E"])
        #expect(!next.moreComing)
    }

    @Test(arguments: Backend.allCases)
    func databaseChangesListChangedZones(_ backend: Backend) async throws {
        let alice = try await World(try backend.storage()).person("alice", with: "One")
        try await alice.makeZone("Two")
        try await alice.makeZone("Gone")
        try await alice.deleteZone("Gone")
        try await alice.modify([hut(.create, "hut")])
        let all = try await alice.ask(ChangesDatabase.self, .init())
        #expect(all.zones.compactMap(\.zone?.zoneID.zoneName) == ["One", "Two"])
        #expect(!all.moreComing)
        try await alice.modify([hut(.create, "hut")], in: "One")
        try await alice.deleteZone("Two")
        let next = try await alice.ask(ChangesDatabase.self, .init(syncToken: all.syncToken))
        #expect(next.zones.compactMap(\.zone?.zoneID.zoneName) == ["One", "Two"])
        #expect(next.zones.map { $0.zone?.isDeleted } == [false, true])
        #expect(next.zones[1].zone?.deletionReason == "deleted")
        let quiet = try await alice.ask(ChangesDatabase.self, .init(syncToken: next.syncToken))
        #expect(quiet.zones.isEmpty)
    }

    @Test(arguments: [1, 2, 3, 7])
    func pagedDatabaseChangesListEveryZone(_ limit: Int) async throws {
        let alice = try await world.person("alice")
        let names = (0..<7).map { "Zone\($0)" }
        for name in names { try await alice.makeZone(name) }
        var token: String?
        var found: [String] = []
        while true {
            let page = try await alice.ask(
                ChangesDatabase.self, .init(syncToken: token, resultsLimit: limit))
            found += page.zones.compactMap(\.zone?.zoneID.zoneName)
            token = page.syncToken
            if !page.moreComing { break }
        }
        #expect(found == names)
    }

    @Test func sharedDatabaseHasNoChangesWithoutShares() async throws {
        let alice = try await world.person("alice")
        let first = try await alice.ask(ChangesDatabase.self, .init(), in: .shared)
        #expect(first.zones.isEmpty)
        let next = try await alice.ask(
            ChangesDatabase.self, .init(syncToken: first.syncToken), in: .shared)
        #expect(next.zones.isEmpty)
        let own = try await alice.ask(ChangesDatabase.self, .init()).syncToken
        let foreign = await alice.refusal(
            ChangesDatabase.self, .init(syncToken: own), in: .shared)
        #expect(foreign?.error.code == .badRequest)
    }
}
