import InMemoryLogging
import Logging
import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import Testing

/// What a participant sees of a share, and what others do not see.
@Suite struct ServiceSharedDatabaseTests {
    private typealias Trip = SharedDatabaseTrip

    @Test(
        "Following the link reveals the share and the records below its root, and nothing before"
    )
    func acceptingShareRevealsRecordsBelowRoot() async throws {
        let trip = try await Trip()
        #expect(try await trip.bo.sharedZones().isEmpty)
        #expect(try await trip.bo.lookup(["trail"], in: trip.trips)[0].code == .zoneNotFound)
        try await trip.join(trip.bo)
        #expect(try await trip.bo.sharedZones().compactMap(\.zone?.zoneID.zoneName) == ["Trips"])
        let found = try await trip.bo.lookup(["trail", "hut", "diary", "S"], in: trip.trips)
        #expect(found.map { $0.record != nil } == [true, true, false, true])
        #expect(found[2].code == .notFound)
        #expect(found[0].record?.created?.userRecordName == trip.ida.name)
        let page = try #require(try await trip.bo.changes(in: trip.trips).page)
        #expect(Set(page.records.compactMap(\.name)) == ["trail", "hut", "S"])
        let queried = try await trip.bo.query("Hut", in: trip.trips)
        #expect(Set(queried.compactMap(\.name)) == ["trail", "hut"])
        // His own database has none of it.
        #expect(try await trip.bo.lookup(["trail"], in: "Trips")[0].code == .zoneNotFound)
    }

    @Test("A purged zone is not found for participants, who do not learn why")
    func purgedZoneIsNotFoundForParticipants() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        try await trip.world.service.removeZone(
            named: "Trips", of: trip.ida.name, at: trip.world.address, reason: .purged)
        let looked = try await trip.bo.ask(
            ZonesLookup.self, .init([trip.trips]), in: .shared)
        #expect(looked.items.map { $0.error?.frameworkCode } == [.zoneNotFound])
        let queried = await trip.bo.refusal(
            RecordsQuery.self, .init(query: .init(recordType: "Hut"), zoneID: trip.trips),
            in: .shared)
        #expect(queried?.error.frameworkCode == .zoneNotFound)
    }

    @Test("A request for zones of several owners is answered in order, each part separately")
    func requestForSeveralOwnersKeepsItsOrder() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        try await trip.cy.makeZone("Notes")
        let made = try await trip.cy.modify(
            [
                hut(.create, "note", [beds(7)]),
                share(.create, ShareDictionary.zoneShareName, participants: [invited(trip.bo)]),
            ], in: "Notes")
        _ = try await trip.bo.accept(try #require(made[1].record?.shortGUID))
        let notes = zone("Notes", of: trip.cy)
        let items: [RecordsLookup.Item] = [
            .init(recordName: "trail", zoneID: trip.trips),
            .init(recordName: "note", zoneID: notes),
            .init(recordName: "x", zoneID: ZoneIDDictionary(zoneName: "Trips")),
            .init(recordName: "note", zoneID: zone("Notes", of: trip.eve)),
            .init(recordName: "hut", zoneID: trip.trips),
        ]
        let found = try await trip.bo.ask(RecordsLookup.self, .init(records: items), in: .shared)
        #expect(found.records.map { $0.record?.recordName } == ["trail", "note", nil, nil, "hut"])
        #expect(found.records[3].code == .zoneNotFound)
        let results = try await trip.bo.ask(
            RecordsModify.self,
            .init(operations: [
                at(notes, hut(.forceUpdate, "note", [beds(8)])),
                at(trip.trips, hut(.forceUpdate, "hut", [beds(8)])),
            ]), in: .shared
        ).records
        // Her share is read-only; the trip is not affected.
        #expect(results.map(\.code) == [.accessDenied, nil])
        #expect(try await trip.bo.sharedZones().count == 2)
        let wide = try await trip.bo.everything("Hut")
        #expect(Set(wide) == ["trail", "hut", "note"])
    }

    private func at(
        _ zoneID: ZoneIDDictionary, _ operation: RecordsModify.Operation
    ) -> RecordsModify.Operation {
        var operation = operation
        operation.record.zoneID = zoneID
        return operation
    }

    @Test("Naming other owners creates no databases and reveals nothing")
    func namingOtherOwnersCreatesNoDatabase() async throws {
        let trip = try await Trip()
        let zones = [
            zone("Trips", of: trip.ida), ZoneIDDictionary(zoneName: "A", ownerRecordName: "_x"),
        ]
        let looked = try await trip.eve.ask(ZonesLookup.self, .init(zones), in: .shared)
        #expect(looked.items.map { $0.error?.code } == [.zoneNotFound, .zoneNotFound])
        let databases = try await trip.world.service.storage.databases()
        #expect(!databases.contains { $0.tenant == .private(owner: "_x") })
    }

    @Test("The change token in an answer is valid in the shared database")
    func answerChangeTokenIsValidInSharedDatabase() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        let answer = try await trip.world.service.respond(
            to: RecordsLookup.self,
            .init(records: [.init(recordName: "hut")], zoneID: trip.trips),
            from: Credentials(
                apiToken: ServiceSettings.developmentToken, webAuthToken: trip.bo.token,
                wantsSyncToken: true),
            at: trip.world.address, scope: .shared
        ).answer
        let token = try #require(answer.syncToken)
        let page = try #require(try await trip.bo.changes(in: trip.trips, since: token).page)
        #expect(page.records.isEmpty)
    }

    @Test(
        "Participants are notified of visible changes, and of joining and leaving themselves, only"
    )
    func participantsAreNotifiedOfVisibleChangesOnly() async throws {
        let trip = try await Trip()
        let (bos, cys) = (trip.bo.at("tablet"), trip.cy.at("tablet"))
        let bosToken = try await bos.listen()
        let cysToken = try await cys.listen()
        for person in [trip.bo, trip.cy] {
            var huts = SubscriptionsTests.database("huts")
            huts.recordType = "Hut"
            var shares = SubscriptionsTests.database("shares")
            shares.recordType = ShareDictionary.recordType
            try await person.subscribe([huts, shares], in: .shared)
        }
        func received(_ person: Person, _ token: String) async throws -> [String] {
            let payloads = try await person.received(token)
            #expect(payloads.allSatisfy { $0.scope == .shared && $0.cause == .database })
            return payloads.map(\.subscriptionID).sorted()
        }
        try await trip.join(trip.bo)
        #expect(try await received(bos, bosToken) == ["shares"])
        #expect(try await received(cys, cysToken) == [])
        try await trip.join(trip.cy)
        _ = try await received(bos, bosToken)
        _ = try await received(cys, cysToken)
        try await trip.ida.modify([hut(.forceUpdate, "diary", [beds(4)])], in: "Trips")
        #expect(try await received(bos, bosToken) == [])
        try await trip.ida.modify([hut(.forceUpdate, "hut", [beds(4)])], in: "Trips")
        #expect(try await received(bos, bosToken) == ["huts"])
        #expect(try await received(cys, cysToken) == ["huts"])
        // A participant's own device is not notified of its own change; the other's devices are.
        try await trip.bo.at("tablet").modify([hut(.forceUpdate, "hut", [beds(5)])], in: trip.trips)
        #expect(try await received(bos, bosToken) == [])
        #expect(try await received(cys, cysToken) == ["huts"])
        try await trip.ida.modify(
            [share(.forceUpdate, "S", participants: [invited(trip.cy)])], in: "Trips")
        #expect(try await received(bos, bosToken) == ["huts", "shares"])
        #expect(try await received(cys, cysToken) == ["shares"])
        try await trip.ida.modify([hut(.forceUpdate, "hut", [beds(6)])], in: "Trips")
        #expect(try await received(bos, bosToken) == [])
        _ = try await received(cys, cysToken)
        try await trip.ida.deleteZone("Trips")
        #expect(try await received(cys, cysToken) == ["huts", "shares"])
    }

    @Test("A shared zone can be fetched newest first, page by page")
    func reversedPagesCoverSharedZone() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        var names: [String] = []
        var token: String?
        while true {
            let page = try #require(
                try await trip.bo.changes(
                    in: trip.trips, since: token, limit: 1, isReversed: true
                ).page)
            names += page.records.compactMap(\.name)
            token = page.syncToken
            if !page.moreComing { break }
        }
        #expect(names == ["S", "hut", "trail"])
    }

    // MARK: Damaged files

    /// Ida and Cy share a trail each with Bo; then Ida's file is damaged.
    private func damagedTrip() async throws -> (people: Travellers, token: String) {
        let file = DamagedFile()
        let people = try await Travellers(World(file.storage))
        try await people.cy.makeZone("Trips")
        try await people.ida.shareTrail(with: people.bo)
        try await people.cy.shareTrail(with: people.bo)
        let token = try await people.bo.ask(ChangesDatabase.self, .init(), in: .shared).syncToken
        file.damage(people.ida)
        return (people, token)
    }

    @Test func damagedFileOfOneOwnerDoesNotHideChangesOfOthers() async throws {
        let (people, token) = try await damagedTrip()
        let (ida, bo, cy) = (people.ida, people.bo, people.cy)
        try await cy.modify([hut(.forceUpdate, "root", [beds(4)], type: "Trail")], in: "Trips")
        let changed = try await bo.ask(ChangesDatabase.self, .init(syncToken: token), in: .shared)
        #expect(changed.zones.map { $0.zone?.zoneID.ownerRecordName } == [cy.name])
        // A new device learns of both.
        let all = try await bo.ask(ChangesDatabase.self, .init(), in: .shared).zones
        #expect(
            Set(all.compactMap { $0.zone?.zoneID.ownerRecordName }) == [ida.name, cy.name])
        #expect(all.map(\.zone?.isDeleted) == [false, false])
    }

    /// The rest of the file is served, so nothing else tells the operator.
    @Test func damagedRowOfOneOwnerIsLogged() async throws {
        let handler = InMemoryLogHandler()
        func errors() -> Int { handler.entries.filter { $0.level == .error }.count }
        let file = DamagedFile()
        let people = try await Travellers(
            World(file.storage, logger: Logger(label: "test") { _ in handler }))
        let (ida, bo, cy) = (people.ida, people.bo, people.cy)
        try await cy.makeZone("Trips")
        for owner in [ida, cy] { try await owner.shareTrail(with: bo) }
        await ida.world.service.waitUntilIdle()
        #expect(errors() == 0)
        file.damage(ida, row: DamagedRow(kind: "record", zone: "Trips", name: "root"))
        let zones = [ida, cy].map { zone("Trips", of: $0) }
        let looked = try await bo.ask(ZonesLookup.self, .init(zones), in: .shared)
        #expect(looked.items.map { $0.error?.stratusCode } == [.databaseDamaged, nil])
        #expect(errors() == 1)
        file.damage(ida, row: DamagedRow(kind: "record", zone: "Trips", name: "hut"))
        _ = try await bo.ask(ChangesDatabase.self, .init(), in: .shared)
        #expect(errors() == 2)
    }

    @Test func damagedFileOfOneOwnerFailsOnlyThatOwnersZones() async throws {
        let (people, _) = try await damagedTrip()
        let (bo, zones) = (people.bo, [people.ida, people.cy].map { zone("Trips", of: $0) })
        let pages = try await bo.ask(
            ChangesZone.self, .init(zones: zones.map { .init(zoneID: $0) }), in: .shared)
        #expect(pages.items.map { $0.error?.stratusCode } == [.databaseDamaged, nil])
        let looked = try await bo.ask(ZonesLookup.self, .init(zones), in: .shared)
        #expect(looked.items.map { $0.error?.stratusCode } == [.databaseDamaged, nil])
        // A list without the zone would mean that it is gone.
        let list = await bo.refusal(ZonesList.self, .init(), in: .shared)
        #expect(list?.error.stratusCode == .databaseDamaged)
        // It was not left.
        let left = try await bo.ask(
            ZonesModify.self, .init(operations: zones.map { .init(.delete, $0) }), in: .shared)
        #expect(left.items.map { $0.error?.stratusCode } == [.databaseDamaged, nil])
        let alone = await bo.refusal(
            ChangesZone.self, .init(zones: [.init(zoneID: zones[0])]), in: .shared)
        #expect(alone?.error.stratusCode == .databaseDamaged)
    }

    /// It leaves only the zone that it could not leave before: the other one may have been joined since.
    @Test func repeatedLeavingSucceedsAfterTheRepair() async throws {
        let file = DamagedFile()
        let people = try await Travellers(World(file.storage))
        let (ida, bo, cy) = (people.ida, people.bo, people.cy)
        try await cy.makeZone("Trips")
        try await ida.shareTrail(with: bo)
        let link = try await cy.shareTrail(with: bo)
        let request = ZonesModify.Request(
            operations: [ida, cy].map { .init(.delete, zone("Trips", of: $0)) },
            operationID: "leave-1")
        func leave() async throws -> [StratusErrorCode?] {
            try await bo.ask(ZonesModify.self, request, in: .shared).items
                .map { $0.error?.stratusCode }
        }
        file.damage(ida)
        #expect(try await leave() == [.databaseDamaged, nil])
        #expect(try await bo.accept(link).error == nil)
        #expect(try await leave() == [.databaseDamaged, nil])
        file.repair()
        #expect(try await leave() == [nil, nil])
        let owners = try await bo.sharedZones().map { $0.zone?.zoneID.ownerRecordName }
        #expect(owners == [cy.name])
    }
}

extension Person {
    /// All results of a query over all zones of the shared database.
    fileprivate func everything(_ type: String) async throws -> [String] {
        var names: [String] = []
        var marker: String?
        while true {
            let answer = try await ask(
                RecordsQuery.self,
                .init(
                    query: .init(recordType: type), isZoneWide: true, resultsLimit: 1,
                    continuationMarker: marker), in: .shared)
            names += answer.records.compactMap(\.name)
            marker = answer.continuationMarker
            if marker == nil { return names }
        }
    }
}
