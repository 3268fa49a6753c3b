import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Testing

@testable import StratusService

/// Each request is charged for its work, and too costly requests are refused before it is done.
@Suite struct WorkCostTests {
    typealias Filter = QueryDictionary.Filter

    private static let long = String(repeating: "gipfel ", count: 20_000)

    struct Case: Sendable, CustomTestStringConvertible {
        var filters: [Filter]
        var testDescription: String { "\(filters.count) \(filters[0].comparator.rawValue)" }
    }

    static let costlyFilters = [
        [Filter(.equals, .user("name"), .string(long))],
        [Filter(.notEquals, .user("name"), .string(long))],
        [Filter(.containsAllTokens, .user("name"), .string(long))],
        [Filter(.containsAnyTokens, .anySearchable, .string(long))],
        [Filter(.in, .user("name"), .stringList(["a", long]))],
        [Filter(.equals, .user("guide"), .reference(Reference(recordName: long)))],
        // Each is short enough, but all together are not.
        (0..<100).map { _ in
            Filter(.notEquals, .user("name"), .string(String(repeating: "x", count: 10_000)))
        },
    ].map(Case.init)

    @Test(arguments: costlyFilters)
    func longFilterValueIsRefused(_ one: Case) async throws {
        let alice = try await World().person("alice")
        try await alice.modify([
            hut(
                .create, "a",
                [
                    text("name", "Gipfel"),
                    Field(name: "guide", value: .reference(Reference(recordName: "g"))),
                ])
        ])
        let failure = await alice.refusal(
            RecordsQuery.self,
            .init(query: QueryDictionary(recordType: "Hut", filterBy: one.filters)))
        #expect(failure?.error.code == .badRequest)
        #expect(failure?.error.frameworkCode == .limitExceeded)
    }

    /// Filters and sort keys count together, in queries and in the queries of subscriptions.
    @Test func queryOfTooManyFiltersAndSortKeysIsRefused() async throws {
        let alice = try await World.alice { $0.filtersPerQuery = 5 }
        try await alice.modify([hut(.create, "a", [beds(3)])])
        func query(filters: Int, sorts: Int) -> QueryDictionary {
            QueryDictionary(
                recordType: "Hut",
                filterBy: (0..<filters).map {
                    Filter(.notEquals, .user("beds"), .int64(Int64(100 + $0)))
                },
                sortBy: (0..<sorts).map { _ in QueryDictionary.Sort(.user("beds")) })
        }
        let found = try await alice.ask(
            RecordsQuery.self, .init(query: query(filters: 4, sorts: 1)))
        #expect(found.records.compactMap(\.name) == ["a"])
        for (filters, sorts) in [(5, 1), (6, 0), (0, 6)] {
            let refusal = await alice.refusal(
                RecordsQuery.self, .init(query: query(filters: filters, sorts: sorts)))
            #expect(refusal?.error.code == .badRequest)
            #expect(refusal?.error.frameworkCode == .limitExceeded)
        }
    }

    /// Reads the zone as a server does: the answer is encoded, and the bytes are counted.
    private func read(
        _ person: Person, _ zoneName: String, receivedBytes: Int = 100
    ) async throws -> Int {
        let request = ChangesZone.Request(zones: [.init(zoneID: zone(zoneName))])
        let answered = try await person.world.service.receive(
            ChangesZone.self, from: person.credentials, at: person.world.address, scope: .private
        ).checkRate().admit().having(request)
            .answer(receivedBytes: receivedBytes, holding: .inProcess) { $0 }
        return await answered.encoded { answer in
            let count = wireBytes(of: answer).count
            return (count, count)
        }.bytes
    }

    /// A page of megabytes costs more than a small one, and the next request pays for it.
    @Test func pageCostsItsBytes() async throws {
        let world = World(limits: .with { $0.requestsInBurst = 40 }, isThrottled: true)
        let alice = try await world.person("alice", with: "Trips")
        try await alice.modify(
            (0..<20).map { number in
                hut(
                    .create, "hut\(number)",
                    [text("note", String(repeating: "x", count: 250_000))])
            }, in: "Trips")
        world.advance(seconds: 60)
        var pages = 0
        do {
            while pages < 40 {
                let byteCount = try await read(alice, "Trips")
                #expect(byteCount > 4_000_000)
                pages += 1
            }
        } catch let failure as RequestFailure {
            #expect(failure.error.code == .throttled)
        }
        #expect((1...3).contains(pages), "\(pages)")
    }

    /// A list of many values has an index entry for each.
    @Test func savePaysForManyIndexEntries() async throws {
        let world = World(limits: .with { $0.requestsInBurst = 40 }, isThrottled: true)
        let alice = try await world.person("alice")
        func save(_ name: String, _ numbers: Range<Int64>) async throws {
            let list = Field(name: "numbers", value: .int64List(Array(numbers)))
            let made = try await alice.modify([hut(.create, name, [list])])
            #expect(made[0].record != nil)
        }
        try await save("few", 0..<1_000)
        // Makes the index.
        let filter = Filter(.listContains, .user("numbers"), .int64(7))
        let found = try await alice.ask(
            RecordsQuery.self,
            .init(query: QueryDictionary(recordType: "Hut", filterBy: [filter])))
        #expect(found.records.compactMap(\.name) == ["few"])
        try await save("as few", 0..<1_000)
        #expect(await alice.refusal(ZonesList.self, .init()) == nil)
        try await save("many", 0..<41_000)
        #expect(await alice.refusal(ZonesList.self, .init())?.error.code == .throttled)
    }

    /// Sharing a record costs as much as saving all records below it, so repeated sharing is throttled.
    @Test func sharingCostsEveryRecordBelowTheRoot() async throws {
        let world = World(limits: .with { $0.requestsInBurst = 40 }, isThrottled: true)
        let alice = try await world.person("alice", with: "Trips")
        try await alice.modify([hut(.create, "trail")], in: "Trips")
        for start in stride(from: 0, to: 1_600, by: 400) {
            try await alice.modify(
                (start..<start + 400).map { hut(.create, "h\($0)", parent: .some("trail")) },
                in: "Trips")
            world.advance(seconds: 60)
        }
        try await alice.modify([hut(.forceUpdate, "trail", [beds(3)])], in: "Trips")
        try await alice.modify([share(.create, "S", of: "trail", participants: [])], in: "Trips")
        #expect(await alice.refusal(ZonesList.self, .init())?.error.code == .throttled)
        world.advance(seconds: 60)
        _ = try await alice.ask(ZonesList.self, .init())
    }

    /// How many requests of 40 are answered before the sender is throttled.
    private func answered<E: ServedEndpoint>(
        _ endpoint: E.Type, _ request: E.Request, by person: Person, in scope: DatabaseScope
    ) async -> Int {
        person.world.advance(seconds: 60)
        var sent = 0
        while sent < 40, await person.refusal(endpoint, request, in: scope) == nil { sent += 1 }
        return sent
    }

    @Test func listOfZonesCostsEachZone() async throws {
        let world = World(limits: .with { $0.requestsInBurst = 40 }, isThrottled: true)
        let alice = try await world.person("alice")
        for start in [0, 400] {
            _ = try await alice.ask(
                ZonesModify.self,
                .init(
                    operations: (start..<start + 400).map { .init(.create, zone("zone\($0)")) }))
            world.advance(seconds: 60)
        }
        let lists = await answered(ZonesList.self, .init(), by: alice, in: .private)
        #expect((1...9).contains(lists), "\(lists)")
        let lookups = await answered(
            ZonesLookup.self, .init((0..<400).map { zone("zone\($0)") }), by: alice, in: .private)
        #expect((1...15).contains(lookups), "\(lookups)")
        let changes = await answered(ChangesDatabase.self, .init(), by: alice, in: .private)
        #expect((1...25).contains(changes), "\(changes)")
    }

    /// A deleted zone keeps its row, which a list reads too.
    @Test func listOfZonesCostsEachDeletedZone() async throws {
        let world = World(limits: .with { $0.requestsInBurst = 40 }, isThrottled: true)
        let alice = try await world.person("alice")
        for start in [0, 400] {
            for kind in [ZonesModify.Operation.Kind.create, .delete] {
                _ = try await alice.ask(
                    ZonesModify.self,
                    .init(operations: (start..<start + 400).map { .init(kind, zone("zone\($0)")) }))
                world.advance(seconds: 60)
            }
        }
        let lists = await answered(ZonesList.self, .init(), by: alice, in: .private)
        #expect((1...9).contains(lists), "\(lists)")
    }

    /// Otherwise a fetch of a type without records would read a zone page by page for nothing.
    @Test func changesOfOtherTypesAreCharged() async throws {
        let world = World(limits: .with { $0.requestsInBurst = 40 }, isThrottled: true)
        let alice = try await world.person("alice", with: "Trips")
        try await alice.makeHuts(1_600)
        let request = ChangesZone.Request(zones: [
            .init(zoneID: zone("Trips"), resultsLimit: 2_000, desiredRecordTypes: ["Trail"])
        ])
        let fetches = await answered(ChangesZone.self, request, by: alice, in: .private)
        #expect((1...9).contains(fetches), "\(fetches)")
    }

    @Test func newReceiptsCostLikeLookups() async throws {
        let world = World(limits: .with { $0.requestsInBurst = 40 }, isThrottled: true)
        let alice = try await world.person("alice")
        let request = AssetsRereference.Request(
            assets: (0..<200).map { .init(recordName: "hut\($0)", fieldName: "photo") })
        let answers = await answered(AssetsRereference.self, request, by: alice, in: .private)
        #expect((1...20).contains(answers), "\(answers)")
    }

    /// Each owner's database may have to be opened.
    @Test func sharedDatabaseCostsEachOwner() async throws {
        let world = World(limits: .with { $0.requestsInBurst = 40 }, isThrottled: true)
        let bob = try await world.person("bob")
        try await bob.modify([hut(.create, "own")])
        var links: [String] = []
        for number in 0..<60 {
            let owner = try await world.person("owner\(number)", with: "Trips")
            links.append(try await owner.shareTrail(with: bob))
            world.advance(seconds: 1)
        }
        let query = RecordsQuery.Request(query: .init(recordType: "Hut"), isZoneWide: true)
        let resolving = RecordsResolve.Request(
            links.map { .init(value: $0, shouldFetchRootRecord: false) })
        let counts = [
            await answered(ChangesDatabase.self, .init(), by: bob, in: .shared),
            await answered(ZonesList.self, .init(), by: bob, in: .shared),
            await answered(RecordsQuery.self, query, by: bob, in: .shared),
            await answered(RecordsResolve.self, resolving, by: bob, in: .public),
        ]
        #expect(counts.allSatisfy { (1...9).contains($0) }, "\(counts)")
    }

    /// A few successes would otherwise keep many failures for a week.
    @Test func requestPaysForTheFailuresThatAreKept() async throws {
        let world = World(limits: .with { $0.requestsInBurst = 40 }, isThrottled: true)
        let alice = try await world.person("alice")
        let operations =
            [hut(.forceUpdate, "hut")] + (0..<79).map { hut(.update, "h\($0)", tag: "1.abcd") }
        func count(_ operations: [RecordsModify.Operation]) async throws -> Int {
            world.advance(seconds: 60)
            var sent = 0
            while sent < 40,
                await alice.refusal(
                    RecordsModify.self,
                    .init(operations: operations, isAtomic: false, operationID: "save-\(sent)"))
                    == nil
            { sent += 1 }
            return sent
        }
        let failing = try await count(operations)
        #expect((1...9).contains(failing), "\(failing)")
    }

    /// A deletion that is refused in the end pays for the cascade that it searched and held.
    @Test func refusedCascadeCostsTheRecordsItSearched() async throws {
        let limits = Limits.with {
            $0.requestsInBurst = 12
            $0.recordsPerCascade = 10
        }
        let world = World(limits: limits, isThrottled: true)
        let alice = try await world.person("alice", with: "Trips")
        func needing(_ name: String, _ action: Reference.Action) -> [Field] {
            [Field(name: "of", value: .reference(Reference(recordName: name, action: action)))]
        }
        try await alice.modify(
            [hut(.create, "root")]
                + (0..<40).map { hut(.create, "m\($0)", needing("root", .deleteSelf)) },
            in: "Trips")
        for start in stride(from: 0, to: 2_000, by: 400) {
            world.advance(seconds: 60)
            try await alice.modify(
                (start..<start + 400).map {
                    hut(.create, "h\($0)", needing("m\($0 % 40)", .deleteSelf))
                }, in: "Trips")
        }
        try await alice.modify([hut(.create, "keeper", needing("h7", .validate))], in: "Trips")
        world.advance(seconds: 60)
        #expect(await alice.refusal(of: [hut(.forceDelete, "root")], in: "Trips") != nil)
        #expect(await alice.refusal(ZonesList.self, .init())?.error.code == .throttled)
        await world.service.waitUntilIdle()
        world.advance(seconds: 60)
        #expect(
            try await alice.lookup(["root", "h7", "h1999"], in: "Trips").allSatisfy {
                $0.code == nil
            })
    }

    /// Large requests, and those of senders with a high load, are answered and encoded on separate threads.
    @Test func heavyRequestsRunOnTheirOwnThreads() async throws {
        let world = World(
            limits: .with {
                $0.lightRequestsPerSecond = 10_000
                $0.bytesCountedAsRequest = 10
            }, heavyThreads: 1)
        let threads = try #require(world.service.pipeline.heavy).threads
        let alice = try await world.person("alice", with: "Trips")
        try await alice.modify([hut(.create, "a", [beds(3)])], in: "Trips")
        _ = try await read(alice, "Trips")
        #expect(threads.stepsRun == 0)
        // The size of its body makes the request heavy, and its sender's later requests too.
        _ = try await read(alice, "Trips", receivedBytes: 300_000)
        let steps = threads.stepsRun
        #expect(steps >= 2)
        _ = try await read(alice, "Trips")
        #expect(threads.stepsRun > steps)
        let bob = try await world.person("bob", with: "Trips")
        let before = threads.stepsRun
        _ = try await read(bob, "Trips")
        #expect(threads.stepsRun == before && threads.senders == 0)
    }
}
