import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import Testing

/// What an operator does, and what the service does itself, to keep a database small.
@Suite struct ServiceUpkeepTests {
    // MARK: Tombstones

    @Test(arguments: Backend.allCases)
    func manyOldTombstonesArePurged(_ backend: Backend) async throws {
        let storage = try backend.storage()
        let world = World(storage)
        var alice = try await world.person("alice", with: "Trips")
        try await alice.modify((0..<10).map { hut(.create, "r\($0)") }, in: "Trips")
        let early = try await alice.page("Trips").syncToken
        try await alice.modify((0..<5).map { hut(.forceDelete, "r\($0)") }, in: "Trips")
        let late = try await alice.page("Trips", since: early).syncToken
        let address = DatabaseAddress(world.address, .private(owner: alice.name))
        func tombstones() async throws -> Int {
            await world.service.waitUntilIdle()
            let store = try await storage.store(for: address)
            return try await store.read { reader in
                let zone = try #require(try reader.zone(named: "Trips"))
                return try reader.counts(of: zone.key).tombstones
            }
        }
        world.advance(seconds: 179 * 86_400)
        alice = try await world.person("alice")
        try await alice.modify([hut(.forceUpdate, "r9")], in: "Trips")
        #expect(try await tombstones() == 5)
        #expect(try await alice.page("Trips", since: early).records.count == 6)
        world.advance(seconds: 2 * 86_400)
        alice = try await world.person("alice")
        try await alice.modify([hut(.forceDelete, "r9"), hut(.forceUpdate, "r8")], in: "Trips")
        #expect(try await tombstones() == 1)
        // A device that missed the purged deletions must fetch everything; one that has seen them continues.
        guard case .failure(let failure) = try await alice.changes("Trips", since: early) else {
            Issue.record("The deletions before the purge horizon are lost to this device.")
            return
        }
        #expect(failure.error.code == .changeTokenExpired)
        let rest = try await alice.page("Trips", since: late)
        #expect(rest.records.compactMap(\.name) == ["r9", "r8"])
    }

    @Test func fewTombstonesAreKept() async throws {
        let world = World()
        var alice = try await world.person("alice", with: "Trips")
        try await alice.modify((0..<8).map { hut(.create, "r\($0)") }, in: "Trips")
        let early = try await alice.page("Trips").syncToken
        try await alice.modify([hut(.forceDelete, "r0"), hut(.forceDelete, "r1")], in: "Trips")
        world.advance(seconds: 400 * 86_400)
        alice = try await world.person("alice")
        try await alice.modify([hut(.forceUpdate, "r2")], in: "Trips")
        await world.service.waitUntilIdle()
        #expect(try await alice.page("Trips", since: early).records.count == 3)
        // An operator may force the purge.
        #expect(try await world.service.purgeTombstones(olderThanSeconds: 30 * 86_400) == 2)
        #expect(try await world.service.purgeTombstones(olderThanSeconds: 30 * 86_400) == 0)
        await #expect(throws: ServiceError.self) { try await alice.page("Trips", since: early) }
    }

    @Test(arguments: Backend.allCases)
    func tombstonePurgeRunsInSteps(_ backend: Backend) async throws {
        let world = World(try backend.storage(), limits: .with { $0.tombstonesPerPurge = 3 })
        let alice = try await world.person("alice")
        try await alice.modify((0..<10).map { hut(.create, "r\($0)") })
        try await alice.modify((0..<10).map { hut(.forceDelete, "r\($0)") })
        world.advance(seconds: 10)
        #expect(try await world.service.purgeTombstones(olderThanSeconds: 5) == 10)
    }

    /// No quota counts tombstones.
    @Test(arguments: Backend.allCases)
    func savingAndDeletingWithoutEndKeepsFewTombstones(_ backend: Backend) async throws {
        let storage = try backend.storage()
        let alice = try await World.alice(storage) {
            $0.tombstonesPerDatabase = 20
            $0.tombstonesPerPurge = 3
        }
        let world = alice.world
        for zone in ["Trips", "Huts"] { try await alice.makeZone(zone) }
        try await alice.modify([hut(.create, "hut")], in: "Huts")
        let huts = try await alice.page("Huts").syncToken
        try await alice.modify([hut(.forceDelete, "hut")], in: "Huts")
        let early = try await alice.page("Trips").syncToken
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        for round in 0..<10 {
            for kind in [RecordsModify.Kind.create, .forceDelete] {
                try await alice.modify((0..<10).map { hut(kind, "r\(round)-\($0)") }, in: "Trips")
                await world.service.waitUntilIdle()
            }
            let counts = try await store.read { try $0.tombstoneCounts() }
            #expect(counts.values.reduce(0, +) <= 20)
        }
        let refused = try await alice.changes("Trips", since: early).error
        #expect(refused?.code == .changeTokenExpired)
        // A zone with few deletions keeps them, and a device that fetched recently continues.
        #expect(try await alice.page("Huts", since: huts).records.compactMap(\.name) == ["hut"])
        let late = try await alice.page("Trips").syncToken
        try await alice.modify([hut(.create, "last")], in: "Trips")
        #expect(try await alice.page("Trips", since: late).records.compactMap(\.name) == ["last"])
    }

    /// One operation can delete many records that were saved long ago: at once, or afterwards in steps.
    @Test(arguments: [10_000, 10]) func largeCascadeKeepsFewTombstones(
        _ recordsPerCascade: Int
    ) async throws {
        let storage = try Backend.memory.storage()
        let alice = try await World.alice(storage) {
            $0.tombstonesPerDatabase = 40
            $0.tombstonesPerPurge = 3
            $0.recordsPerCascade = recordsPerCascade
            $0.recordsPerStep = 7
        }
        let world = alice.world
        try await alice.makeZone("Trips")
        let owner = Field(
            name: "owner", value: .reference(Reference(recordName: "trip", action: .deleteSelf)))
        try await alice.modify(
            [hut(.create, "trip")] + (0..<60).map { hut(.create, "r\($0)", [owner]) }, in: "Trips")
        await world.service.waitUntilIdle()
        try await alice.modify([hut(.forceDelete, "trip")], in: "Trips")
        await world.service.waitUntilIdle()
        #expect(try await alice.page("Trips").records.allSatisfy { $0.record == nil })
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        let counts = try await store.read { try $0.tombstoneCounts() }
        #expect(counts.values.reduce(0, +) <= 40)
    }

    // MARK: Tokens

    @Test(arguments: Backend.allCases)
    func newEpochsKeepChangeTokens(_ backend: Backend) async throws {
        let world = World(try backend.storage())
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        var tokens: [(Person, String, String)] = []
        for person in [alice, bob] {
            try await person.makeZone("Trips")
            try await person.modify([hut(.create, "hut")], in: "Trips")
            let database = try await person.ask(ChangesDatabase.self, .init()).syncToken
            tokens.append((person, try await person.page("Trips").syncToken, database))
        }
        let tag = try await alice.lookup(["hut"], in: "Trips")[0].record?.recordChangeTag
        #expect(try await world.service.beginEpochs() >= 2)
        for (person, token, database) in tokens {
            #expect(try await person.page("Trips", since: token).records.isEmpty)
            let zones = try await person.ask(ChangesDatabase.self, .init(syncToken: database))
            #expect(zones.zones.isEmpty)
        }
        // Records and their tags are unchanged; new tags have another epoch.
        let saved = try await alice.modify([hut(.update, "hut", [beds(1)], tag: tag)], in: "Trips")
        #expect(saved[0].record?.recordChangeTag?.suffix(4) != tag?.suffix(4))
    }

    @Test func changeTokenExpiresAfterItsLifetime() async throws {
        let world = World(limits: .with { $0.changeTokenSeconds = 100 })
        let alice = try await world.person("alice", with: "Trips")
        let token = try await alice.page("Trips").syncToken
        world.advance(seconds: 99)
        let next = try await alice.page("Trips", since: token).syncToken
        world.advance(seconds: 2)
        await #expect(throws: ServiceError.self) { try await alice.page("Trips", since: token) }
        #expect(try await alice.page("Trips", since: next).records.isEmpty)
    }

    /// Between the token and its own last change a device does not have the changes of others: that one is not the last
    /// version that it has in common with the service.
    @Test func expiredTokenOfADeviceThatSavedSinceNamesNoVersion() async throws {
        let world = World(limits: .with { $0.changeTokenSeconds = 100 })
        let alice = try await world.person("alice", with: "Trips")
        let token = try await alice.page("Trips").syncToken
        try await alice.modify([hut(.create, "others")], in: "Trips")
        let saved = try await alice.modify([hut(.create, "own")], in: "Trips")
        let tag = try #require(saved[0].record?.recordChangeTag)
        try await alice.modify([hut(.forceDelete, "others")], in: "Trips")
        world.advance(seconds: 101)
        for tags in [[], [tag]] {
            let item = ChangesZone.Item(
                zoneID: zone("Trips"), syncToken: token, knownChangeTags: tags)
            let answer = try await alice.ask(ChangesZone.self, .init(zones: [item]))
            let error = answer.items.first?.error
            #expect(error?.code == .changeTokenExpired)
            #expect(error?.lastIntactVersion == (tags.isEmpty ? 0 : nil))
            #expect((error?.deletionsAfterVersion == nil) == tags.isEmpty)
            guard let version = error?.deletionsAfterVersion else { continue }
            // A fetch from the beginning names the deletion that the token does not cover.
            let full = ChangesZone.Item(zoneID: zone("Trips"), deletionsAfterVersion: version)
            let page = try await alice.ask(ChangesZone.self, .init(zones: [full])).items[0].get()
            #expect(page.records.compactMap(\.name) == ["own", "others"])
        }
    }

    /// The same, when the token of a shared zone expires because the device gained access to more of the zone.
    @Test func tokenFromBeforeAJoiningOfADeviceThatSavedSinceNamesNoVersion() async throws {
        let world = World()
        let (ida, bo) = (try await world.person("ida"), try await world.person("bo"))
        try await ida.makeZone("Trips")
        func join(_ root: String, by name: String) async throws {
            let made = try await ida.modify(
                [
                    hut(.create, root),
                    share(.create, name, of: root, participants: [invited(bo, .readWrite)]),
                ], in: "Trips")
            let link = try #require(made[1].record?.shortGUID)
            #expect(try await bo.accept(link).error == nil)
        }
        try await join("trail", by: "S")
        let trips = zone("Trips", of: ida)
        let token = try #require(try await bo.changes(in: trips).page).syncToken
        try await ida.modify([hut(.forceUpdate, "trail", [beds(1)])], in: "Trips")
        let saved = try await bo.modify([hut(.forceUpdate, "trail", [beds(2)])], in: trips)
        let tag = try #require(saved[0].record?.recordChangeTag)
        try await join("lake", by: "T")
        for tags in [[], [tag]] {
            let item = ChangesZone.Item(zoneID: trips, syncToken: token, knownChangeTags: tags)
            let answer = try await bo.ask(ChangesZone.self, .init(zones: [item]), in: .shared)
            let error = answer.items.first?.error
            #expect(error?.code == .changeTokenExpired)
            #expect((error?.lastIntactVersion == nil) == !tags.isEmpty)
        }
    }

    @Test func databaseAndSharedZoneTokensExpire() async throws {
        let world = World(limits: .with { $0.changeTokenSeconds = 100 })
        let ida = try await world.person("ida")
        let bo = try await world.person("bo")
        _ = try await bo.accept(try await ida.linkToShared("trail"))
        let trips = zone("Trips", of: ida)
        let own = try await ida.ask(ChangesDatabase.self, .init()).syncToken
        let shared = try await bo.ask(ChangesDatabase.self, .init(), in: .shared).syncToken
        let zoneToken = try #require(try await bo.changes(in: trips).page).syncToken
        func codes() async throws -> [ServiceError.Code?] {
            [
                await ida.refusal(ChangesDatabase.self, .init(syncToken: own))?.error.code,
                await bo.refusal(
                    ChangesDatabase.self, .init(syncToken: shared), in: .shared)?.error.code,
                try await bo.changes(in: trips, since: zoneToken).error?.code,
            ]
        }
        world.advance(seconds: 99)
        #expect(try await codes() == [nil, nil, nil])
        world.advance(seconds: 2)
        #expect(
            try await codes() == [.changeTokenExpired, .changeTokenExpired, .changeTokenExpired])
    }

    // MARK: Zones

    @Test(arguments: [
        (ZoneRow.Deletion.purged, "purged", FrameworkErrorCode.userDeletedZone),
        (.encryptedDataReset, "encryptedDataReset", .zoneNotFound),
        (.deleted, "deleted", .zoneNotFound),
    ])
    func removedZoneReturnsDeletionReason(
        _ reason: ZoneRow.Deletion, _ word: String, _ frameworkCode: FrameworkErrorCode
    ) async throws {
        let world = World()
        let alice = try await world.person("alice", with: "Trips")
        try await alice.modify([hut(.create, "hut")], in: "Trips")
        let zoneToken = try await alice.page("Trips").syncToken
        let token = try await alice.ask(ChangesDatabase.self, .init()).syncToken
        #expect(
            try await world.service.removeZone(
                named: "Trips", of: alice.name, at: world.address, reason: reason))
        let changes = try await alice.ask(ChangesDatabase.self, .init(syncToken: token))
        #expect(changes.zones.map(\.zone?.isDeleted) == [true])
        #expect(changes.zones.map(\.zone?.deletionReason) == [word])
        let saved = try await alice.modify([hut(.create, "hut")], in: "Trips")
        #expect(saved[0].code == .zoneNotFound)
        #expect(saved[0].failed?.error.frameworkCode == frameworkCode)
        let looked = try await alice.lookup(["hut"], in: "Trips")
        #expect(looked[0].failed?.error.frameworkCode == frameworkCode)
        let zones = try await alice.ask(ZonesLookup.self, .init([zone("Trips")])).items
        #expect(zones.map { $0.error?.frameworkCode } == [frameworkCode])
        let queried = await alice.refusal(
            RecordsQuery.self, .init(query: .init(recordType: "Hut"), zoneID: zone("Trips")))
        #expect(queried?.error.frameworkCode == frameworkCode)
        guard case .failure(let failure) = try await alice.changes("Trips", since: zoneToken)
        else {
            Issue.record("The zone is gone.")
            return
        }
        #expect(failure.error.frameworkCode == frameworkCode)
        // A zone of the same name can be created again, and is empty.
        try await alice.makeZone("Trips")
        #expect(try await alice.page("Trips").records.isEmpty)
        #expect(try await alice.modify([hut(.create, "hut")], in: "Trips")[0].record != nil)
    }

    @Test func missingOrDefaultZoneIsNotRemoved() async throws {
        let world = World()
        let alice = try await world.person("alice")
        #expect(
            try await !world.service.removeZone(
                named: "Trips", of: alice.name, at: world.address, reason: .purged))
        await #expect(throws: ServiceError.self) {
            try await world.service.removeZone(
                named: "_defaultZone", of: alice.name, at: world.address, reason: .purged)
        }
    }

    @Test func zonePurgeNotifiesEveryDevice() async throws {
        let world = World()
        let alice = try await world.person("alice", with: "Trips")
        let token = try await alice.listen()
        try await alice.subscribe([SubscriptionsTests.database("d")])
        try await world.service.removeZone(
            named: "Trips", of: alice.name, at: world.address, reason: .purged)
        #expect(try await alice.received(token).count == 1)
    }
}
