import StratusRecords
import StratusSQLite
import StratusTesting
import StratusWire
import Testing

@testable import StratusService
@testable import StratusStorage

/// Storing subscriptions.
@Suite struct SubscriptionsTests {
    static func query(
        _ identifier: String?, type: String = "Hut",
        on occasions: [SubscriptionDictionary.Occasion] = [.create],
        filters: [QueryDictionary.Filter] = []
    ) -> SubscriptionDictionary {
        SubscriptionDictionary(
            subscriptionID: identifier, kind: .query,
            query: QueryDictionary(recordType: type, filterBy: filters), firesOn: occasions)
    }

    static func database(_ identifier: String?) -> SubscriptionDictionary {
        SubscriptionDictionary(subscriptionID: identifier, kind: .database)
    }

    static func zone(_ identifier: String?, _ name: String) -> SubscriptionDictionary {
        SubscriptionDictionary(
            subscriptionID: identifier, kind: .zone, zoneID: ZoneIDDictionary(zoneName: name))
    }

    @Test func subscriptionsAreStoredListedReplacedAndDeleted() async throws {
        let alice = try await World().person("alice", with: "Trips")
        let made = try await alice.subscribe([
            Self.query("q"), Self.database("d"), Self.zone("z", "Trips"), Self.database(nil),
        ])
        #expect(made.allSatisfy { $0.subscription != nil })
        #expect(made[3].subscription?.subscriptionID?.utf8.count == 36)
        #expect(made[2].subscription?.zoneID?.ownerRecordName == alice.name)
        let listed = try await alice.ask(SubscriptionsList.self, .init()).items
        #expect(listed.count == 4)
        _ = try await alice.subscribe([Self.query("q", on: [.update])])
        let found = try await alice.ask(
            SubscriptionsLookup.self, .init(subscriptionIDs: ["nope", "q"])
        ).items
        #expect(found[0].failure?.code == .notFound)
        #expect(found[1].subscription?.firesOn == [.update])
        let gone = try await alice.ask(
            SubscriptionsModify.self,
            .init(["q", "q2"].map { .init(.delete, Self.query($0)) })
        ).items
        #expect(gone[0] == .deleted(subscriptionID: "q"))
        #expect(gone[1].failure?.code == .notFound)
    }

    /// Apps save their subscriptions at every start.
    @Test func unchangedSubscriptionSavedAgainWritesNothing() async throws {
        let place = StoredWorld()
        let alice = try await place.world.person("alice", with: "Trips")
        func writes() async throws -> Int64 {
            try await place.storage.withDatabase(of: place.database(of: alice)) { file in
                try await file.write { database in
                    try SQLStatement(database, "SELECT total_changes()").first { $0.integer(0) }
                        ?? 0
                }
            }
        }
        let mine = [Self.query("q"), Self.zone("z", "Trips")]
        let made = try await alice.subscribe(mine)
        let before = try await writes()
        #expect(try await alice.subscribe(mine) == made)
        #expect(try await writes() == before)
        _ = try await alice.subscribe([Self.query("q", on: [.update])])
        #expect(try await writes() > before)
    }

    @Test func subscriptionsBelongToUserAndDatabase() async throws {
        let world = World()
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        _ = try await alice.subscribe([Self.query("q")], in: .public)
        let others = try await bob.ask(SubscriptionsList.self, .init(), in: .public)
        #expect(others.items.isEmpty)
        let own = try await alice.ask(SubscriptionsList.self, .init(), in: .private)
        #expect(own.items.isEmpty)
    }

    /// The kinds of subscriptions that each database accepts.
    @Test(arguments: [
        (DatabaseScope.public, [true, false, false]), (.private, [true, true, true]),
        (.shared, [false, false, true]),
    ])
    func databaseScopeLimitsSubscriptionKinds(_ scope: DatabaseScope, _ isTaken: [Bool])
        async throws
    {
        let alice = try await World().person("alice", with: "Trips")
        let results = try await alice.subscribe(
            [Self.query("q"), Self.zone("z", "Trips"), Self.database("d")], in: scope)
        #expect(results.map { $0.subscription != nil } == isTaken)
        #expect(results.map { $0.failure?.frameworkCode == .badDatabase } == isTaken.map { !$0 })
    }

    @Test func invalidSubscriptionIsRefused() async throws {
        let alice = try await World().person("alice")
        let results = try await alice.subscribe([
            Self.query("a", on: []), Self.zone("b", "_defaultZone"), Self.zone("c", "Nowhere"),
            SubscriptionDictionary(subscriptionID: "d", kind: .query, firesOn: [.create]),
            SubscriptionDictionary(subscriptionID: "e", kind: nil),
            Self.query("f", filters: [.init(.near, .user("place"), .int64(1))]),
        ])
        #expect(
            results.map { $0.failure?.code }
                == [
                    .badRequest, .badRequest, .zoneNotFound, .badRequest, .badRequest, .badRequest,
                ])
    }

    /// If it were stored, it would have no field name, and could not be read again.
    @Test func subscriptionWithEmptyFieldNameIsRefused() async throws {
        let alice = try await World().person("alice")
        var sorted = Self.query("sorted")
        sorted.query?.sortBy = [.init(.user(""))]
        var database = Self.database("database")
        database.query = QueryDictionary(
            recordType: "Hut", filterBy: [.init(.equals, .user(""), .int64(1))])
        let results = try await alice.subscribe([
            Self.query("filtered", filters: [.init(.equals, .user(""), .int64(1))]), sorted,
            database,
            Self.query("search", filters: [.init(.containsAllTokens, .user(""), .string("a"))]),
        ])
        #expect(
            results.map { $0.failure?.code } == [.badRequest, .badRequest, .badRequest, nil])
        #expect(
            results[0].failure?.reason
                == "A filter or sort key of the subscription names no field; name one.")
        let listed = try await alice.ask(SubscriptionsList.self, .init()).items
        #expect(listed.map { $0.subscription?.subscriptionID } == ["search"])
    }

    /// A subscription that an older release stored is listed with its readable parts, and can be deleted.
    @Test(arguments: [
        (
            #"{"subscriptionID":"old","subscriptionType":"query","query":{"recordType":"Hut","#
                + #""filterBy":[{"comparator":"EQUALS","fieldValue":{"value":1,"type":"INT64"}},"#
                + #"{"fieldName":"beds","comparator":"EQUALS","fieldValue":{"value":2,"type":"INT64"}}]},"#
                + #""firesOn":["create"],"firesOnce":false,"zoneWide":true}"#,
            Self.query("old", filters: [.init(.equals, .user("beds"), .int64(2))])
        ),
        (
            #"{"subscriptionID":"other","subscriptionType":"database","recordType":5}"#,
            Self.database("old")
        ),
        (
            #"{"subscriptionType":"sometimes"}"#,
            SubscriptionDictionary(subscriptionID: "old", kind: nil)
        ),
        ("no JSON", SubscriptionDictionary(subscriptionID: "old", kind: nil)),
    ])
    func unreadableStoredSubscriptionIsListedAndDeleted(
        _ body: String, _ readable: SubscriptionDictionary
    ) async throws {
        let storage = SQLiteStorageEngine.inMemory(world: .seeded(7))
        let world = World(storage)
        let alice = try await world.person("alice")
        _ = try await alice.subscribe([Self.database("good")])
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        try await store.write { writer in
            try writer.put(
                SubscriptionRow(user: alice.name, identifier: "old", body: Array(body.utf8)))
        }
        let listed = try await alice.ask(SubscriptionsList.self, .init()).items
        #expect(listed.count == 2)
        let found = try await alice.ask(
            SubscriptionsLookup.self, .init(subscriptionIDs: ["old", "good"])
        ).items
        #expect(found[0].subscription?.subscriptionID == "old")
        #expect(found[0].subscription?.kind == readable.kind)
        #expect(found[0].subscription?.query == readable.query)
        #expect(found[1].subscription?.kind == .database)
        let more = try await alice.subscribe([Self.query("new")])
        #expect(more[0].subscription != nil)
        let gone = try await alice.ask(
            SubscriptionsModify.self, .init([.init(.delete, Self.query("old"))])
        ).items
        #expect(gone == [.deleted(subscriptionID: "old")])
        #expect(try await alice.ask(SubscriptionsList.self, .init()).items.count == 2)
    }

    @Test func unreadableStoredSubscriptionIsReplaced() async throws {
        let storage = SQLiteStorageEngine.inMemory(world: .seeded(7))
        let world = World(storage)
        let alice = try await world.person("alice")
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        try await store.write { writer in
            try writer.put(SubscriptionRow(user: alice.name, identifier: "old", body: [1]))
        }
        let saved = try await alice.subscribe([Self.query("old")])
        #expect(saved[0].subscription?.kind == .query)
        #expect(try await alice.ask(SubscriptionsList.self, .init()).items == saved)
    }

    @Test func duplicateQuerySubscriptionIsRefused() async throws {
        let alice = try await World().person("alice")
        _ = try await alice.subscribe([Self.query("one", on: [.create, .update])])
        let results = try await alice.subscribe([
            Self.query("two", on: [.update, .create]), Self.query("one", on: [.create, .update]),
            Self.query("three", on: [.create]),
        ])
        #expect(results[0].failure?.code == .internalError)
        #expect(results[0].failure?.reason == "could not find subscription we just created")
        #expect(results[1].subscription != nil)
        #expect(results[2].subscription != nil)
    }

    @Test func subscriptionsPerUserAreLimited() async throws {
        let alice = try await World.alice { $0.subscriptionsPerUser = 1 }
        let results = try await alice.subscribe([
            Self.database("a"), Self.database("b"), Self.database("c"),
        ])
        #expect(results.map { $0.failure?.frameworkCode } == [nil, .limitExceeded, .limitExceeded])
        let twice = await alice.refusal(
            SubscriptionsModify.self,
            .init([
                .init(.create, Self.database("a")), .init(.delete, Self.database("a")),
            ]))
        #expect(twice?.error.code == .badRequest)
    }

    /// Sixteen of the largest size; they are all kept in memory.
    @Test func bytesOfAUsersSubscriptionsAreLimited() async throws {
        func large(_ number: Int, bytes: Int = 63_000) -> SubscriptionDictionary {
            var subscription = Self.database("s\(number)")
            subscription.notificationInfo = .init(
                alertBody: String(repeating: "x", count: bytes))
            return subscription
        }
        let alice = try await World().person("alice")
        let results = try await alice.subscribe((0..<17).map { large($0) })
        #expect(results.prefix(16).allSatisfy { $0.subscription != nil })
        #expect(results[16].failure?.frameworkCode == .limitExceeded)
        // In another request too.
        let later = try await alice.subscribe([large(16), Self.database("small"), large(0)])
        #expect(later.map { $0.failure?.frameworkCode } == [.limitExceeded, nil, nil])
        let shorter = try await alice.subscribe([large(0, bytes: 10), large(16)])
        #expect(shorter.allSatisfy { $0.subscription != nil })
        #expect(try await alice.ask(SubscriptionsList.self, .init()).items.count == 18)
    }

    /// Asks as a server does, with a request that holds memory itself.
    private func ask<E: ServedEndpoint>(
        _ endpoint: E.Type, _ request: E.Request, _ person: Person
    ) async throws -> E.Answer {
        let memory = HeldMemory(person.world.service.memory, networkAddress: "10.0.0.1")
        memory.take(1_000)
        let answered = try await person.world.service.receive(
            endpoint, from: person.credentials, at: person.world.address, scope: .private
        ).checkRate().admit().having(request)
            .answer(receivedBytes: 100, holding: memory) { $0 }
        return answered.inProcess().answer
    }

    @Test func readSubscriptionsCountAgainstMemory() async throws {
        func large(_ number: Int) -> SubscriptionDictionary {
            var subscription = Self.database("s\(number)")
            subscription.notificationInfo = .init(
                alertBody: String(repeating: "x", count: 50_000))
            return subscription
        }
        let alice = try await World.alice { $0.memoryBytes = 400_000 }
        try await alice.subscribe([large(0)])
        #expect(try await ask(SubscriptionsList.self, .init(), alice).items.count == 1)
        try await alice.subscribe((1..<5).map { large($0) })
        let listed = await #expect(throws: RequestFailure.self) {
            try await ask(SubscriptionsList.self, .init(), alice)
        }
        #expect(listed?.error.code == .tryAgainLater)
        let found = await #expect(throws: RequestFailure.self) {
            try await ask(SubscriptionsLookup.self, .init(subscriptionIDs: ["s0"]), alice)
        }
        #expect(found?.error.code == .tryAgainLater)
    }

    @Test func readSubscriptionsCostLikeRecords() async throws {
        let world = World(limits: .with { $0.requestsInBurst = 40 }, isThrottled: true)
        let alice = try await world.person("alice")
        for start in stride(from: 0, to: 800, by: 200) {
            world.advance(seconds: 60)
            try await alice.subscribe((start..<start + 200).map { Self.database("s\($0)") })
        }
        world.advance(seconds: 60)
        var lists = 0
        while lists < 40, await alice.refusal(SubscriptionsList.self, .init()) == nil {
            lists += 1
        }
        #expect((5...8).contains(lists), "\(lists)")
        world.advance(seconds: 60)
        var lookups = 0
        let request = SubscriptionsLookup.Request(subscriptionIDs: ["s0"])
        while lookups < 40, await alice.refusal(SubscriptionsLookup.self, request) == nil {
            lookups += 1
        }
        #expect((5...8).contains(lookups), "\(lookups)")
    }
}

extension Person {
    @discardableResult
    func subscribe(
        _ subscriptions: [SubscriptionDictionary], in scope: DatabaseScope = .private
    ) async throws -> [SubscriptionResult] {
        try await ask(
            SubscriptionsModify.self, .init(subscriptions.map { .init(.create, $0) }),
            in: scope
        ).items
    }
}

extension SubscriptionResult {
    var subscription: SubscriptionDictionary? {
        if case .subscription(let subscription) = self { subscription } else { nil }
    }
    var failure: ServiceError? { if case .failure(_, let error) = self { error } else { nil } }
}
