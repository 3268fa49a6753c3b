import StratusRecords
import StratusService
import StratusTesting
import StratusWire
import Testing

/// Listing, creating and deleting zones.
@Suite struct ZonesTests {
    let world = World()

    @Test func privateAndPublicDatabasesHaveDefaultZone() async throws {
        let alice = try await world.person("alice")
        for scope in [DatabaseScope.private, .public] {
            let zones = try await alice.ask(ZonesList.self, .init(), in: scope).items
            #expect(zones.compactMap(\.zone?.zoneID.zoneName) == ["_defaultZone"])
            #expect(zones[0].zone?.zoneID.zoneType == "DEFAULT_ZONE")
            #expect(zones[0].zone?.syncToken == nil)
        }
        #expect(try await alice.ask(ZonesList.self, .init(), in: .shared).items.isEmpty)
    }

    @Test func creatingOrDeletingZoneTwiceSucceeds() async throws {
        let alice = try await world.person("alice")
        for _ in 0..<2 {
            let made = try await alice.ask(
                ZonesModify.self, .init(operations: [.init(.create, zone("Trips"))]))
            #expect(made.items[0].zone?.isAtomic == true)
            #expect(made.items[0].zone?.syncToken != nil)
        }
        let list = try await alice.ask(ZonesList.self, .init()).items
        #expect(list.compactMap(\.zone?.zoneID.zoneName).sorted() == ["Trips", "_defaultZone"])
        for _ in 0..<2 {
            let gone = try await alice.ask(
                ZonesModify.self, .init(operations: [.init(.delete, zone("Trips"))]))
            #expect(gone.items[0].zone?.isDeleted == true)
        }
        let found = try await alice.ask(ZonesLookup.self, .init([zone("Trips")])).items
        #expect(found[0].failure?.code == .zoneNotFound)
        #expect(found[0].failure?.frameworkCode == .zoneNotFound)
    }

    @Test func recreatedZoneIsEmpty() async throws {
        let alice = try await world.person("alice", with: "Trips")
        try await alice.modify([hut(.create, "hut")], in: "Trips")
        try await alice.deleteZone("Trips")
        try await alice.makeZone("Trips")
        #expect(try await alice.lookup(["hut"], in: "Trips")[0].code == .notFound)
        #expect(try await alice.page("Trips").records.isEmpty)
    }

    @Test(arguments: ["_mine", "", "Hütten", String(repeating: "z", count: 256)])
    func invalidZoneNameIsRefused(_ name: String) async throws {
        let alice = try await world.person("alice")
        let made = try await alice.ask(
            ZonesModify.self, .init(operations: [.init(.create, zone(name))]))
        #expect(made.items[0].failure?.code == .badRequest)
    }

    /// A repeated deletion must not take the zone that another device created meanwhile.
    @Test(arguments: Backend.allCases)
    func repeatedRequestChangesNoZone(_ backend: Backend) async throws {
        let alice = try await World(try backend.storage()).person("alice", with: "Trips")
        func send() async throws -> [ZoneResult] {
            try await alice.ask(
                ZonesModify.self,
                .init(
                    operations: [
                        .init(.delete, zone("Trips")), .init(.create, zone("New")),
                        .init(.create, zone("_bad")),
                    ], operationID: "zones-1")
            ).items.map { result in
                result.map { zone in
                    // The token of the database's present state.
                    #expect(zone.databaseSyncToken != nil)
                    var zone = zone
                    zone.databaseSyncToken = nil
                    return zone
                }
            }
        }
        let first = try await send()
        #expect(first.map { $0.failure?.code } == [nil, nil, .badRequest])
        #expect(try await send() == first)
        try await alice.at("tablet").makeZone("Trips")
        try await alice.at("tablet").deleteZone("New")
        let again = try await send()
        #expect(again[0] == first[0])
        #expect(again.map { $0.failure?.code } == [nil, .zoneNotFound, .badRequest])
        #expect(try await alice.page("Trips").records.isEmpty)
        // The same ID is another operation for records.
        let saved = try await alice.modify([hut(.create, "hut")], operationID: "zones-1")
        #expect(saved[0].record != nil)
    }

    @Test func operationIDReusedForOtherZonesIsRefused() async throws {
        let alice = try await world.person("alice")
        func send(_ operation: ZonesModify.Operation) async -> ServiceError? {
            await alice.refusal(
                ZonesModify.self, .init(operations: [operation], operationID: "zones-1"))?.error
        }
        #expect(await send(.init(.create, zone("A"))) == nil)
        #expect(await send(.init(.create, zone("B")))?.frameworkCode == .invalidArguments)
        #expect(await send(.init(.delete, zone("A")))?.frameworkCode == .invalidArguments)
        #expect(await send(.init(.create, zone("A"))) == nil)
        #expect(try await alice.ask(ZonesList.self, .init()).items.count == 2)
    }

    @Test func deletionOfAnOlderGenerationKeepsTheRecreatedZone() async throws {
        let alice = try await world.person("alice", with: "Trips")
        func generation() async throws -> Int64? {
            let changes = try await alice.ask(ChangesDatabase.self, .init())
            return changes.zones.compactMap(\.zone).first { $0.zoneID.zoneName == "Trips" }?
                .generation
        }
        func delete(_ generation: Int64?) async throws {
            _ = try await alice.ask(
                ZonesModify.self,
                .init(operations: [.init(.delete, zone("Trips"), generation: generation)]))
        }
        let first = try #require(try await generation())
        try await alice.deleteZone("Trips")
        try await alice.makeZone("Trips")
        let second = try #require(try await generation())
        #expect(second > first)
        try await delete(first)
        #expect(try await generation() == second)
        try await delete(second)
        #expect(try await alice.ask(ZonesList.self, .init()).items.count == 1)
    }

    @Test func defaultZoneCannotBeDeleted() async throws {
        let alice = try await world.person("alice")
        let answer = try await alice.ask(
            ZonesModify.self, .init(operations: [.init(.delete, zone("_defaultZone"))]))
        #expect(answer.items[0].failure?.code == .badRequest)
    }

    @Test(arguments: [DatabaseScope.public, .shared])
    func customZonesExistInPrivateDatabaseOnly(_ scope: DatabaseScope) async throws {
        let alice = try await world.person("alice")
        let failure = await alice.refusal(
            ZonesModify.self, .init(operations: [.init(.create, zone("Trips"))]), in: scope)
        #expect(failure?.error.code == .badRequest)
        #expect(failure?.error.frameworkCode == .badDatabase)
    }

    @Test func zonesAreLimitedAndNamedOncePerRequest() async throws {
        let alice = try await World.alice { $0.zonesPerDatabase = 3 }
        let answer = try await alice.ask(
            ZonesModify.self,
            .init(operations: ["A", "B", "C"].map { .init(.create, zone($0)) }))
        #expect(answer.items.map { $0.failure?.frameworkCode } == [nil, nil, .limitExceeded])
        let twice = await alice.refusal(
            ZonesModify.self,
            .init(operations: [.init(.create, zone("D")), .init(.delete, zone("D"))]))
        #expect(twice?.error.code == .badRequest)
    }

    /// The zones are counted once for the request.
    @Test func requestMayReplaceZonesUpToTheLimit() async throws {
        let alice = try await World.alice { $0.zonesPerDatabase = 3 }
        for name in ["A", "B"] { try await alice.makeZone(name) }
        let answer = try await alice.ask(
            ZonesModify.self,
            .init(operations: [
                .init(.create, zone("C")), .init(.delete, zone("A")), .init(.create, zone("D")),
                .init(.delete, zone("E")), .init(.create, zone("F")),
            ]))
        #expect(
            answer.items.map { $0.failure?.frameworkCode } == [
                .limitExceeded, nil, nil, nil, .limitExceeded,
            ])
    }

    /// A deleted zone keeps its row, which no quota counts.
    @Test func zonesThatADatabaseHasHadAreLimited() async throws {
        let alice = try await World.alice { $0.zonesPerDatabase = 2 }
        // The default zone is the first.
        for number in 2...200 {
            try await alice.makeZone("zone\(number)")
            try await alice.deleteZone("zone\(number)")
        }
        let new = try await alice.ask(
            ZonesModify.self, .init(operations: [.init(.create, zone("new"))]))
        #expect(new.items[0].failure?.frameworkCode == .limitExceeded)
        let former = try await alice.ask(
            ZonesModify.self, .init(operations: [.init(.create, zone("zone7"))]))
        #expect(former.items[0].zone != nil)
    }

    /// An owner may be left out, or be given by the framework's name or the record name.
    @Test func privateZoneIsFoundByItsOwnerOnly() async throws {
        let alice = try await world.person("alice")
        let bob = try await world.person("bob", with: "Trips")
        try await alice.makeZone("Trips")
        for (owner, isFound) in [
            (nil, true), ("__defaultOwner__", true), (alice.name, true), (bob.name, false),
        ] as [(String?, Bool)] {
            let zoneID = ZoneIDDictionary(zoneName: "Trips", ownerRecordName: owner)
            let found = try await alice.ask(ZonesLookup.self, .init([zoneID])).items[0]
            #expect((found.zone != nil) == isFound)
            let saved = try await alice.ask(
                RecordsModify.self, .init(operations: [hut(.forceUpdate, "hut")], zoneID: zoneID)
            ).records[0]
            #expect((saved.code == .zoneNotFound) == !isFound)
        }
        #expect(try await bob.lookup(["hut"], in: "Trips")[0].code == .notFound)
    }
}

extension ZoneResult {
    var zone: ZoneDictionary? { if case .success(let zone) = self { zone } else { nil } }
    var failure: ServiceError? {
        if case .failure(let failure) = self { failure.error } else { nil }
    }
}
