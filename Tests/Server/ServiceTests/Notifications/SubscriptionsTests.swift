import StratusRecords
import StratusService
import StratusWire
import Testing

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
        let alice = try await World().person("alice")
        try await alice.makeZone("Trips")
        let made = try await alice.subscribe([
            Self.query("q"), Self.database("d"), Self.zone("z", "Trips"), Self.database(nil),
        ])
        #expect(made.allSatisfy { $0.subscription != nil })
        #expect(made[3].subscription?.subscriptionID?.utf8.count == 36)
        #expect(made[2].subscription?.zoneID?.ownerRecordName == alice.name)
        let listed = try await alice.ask(SubscriptionsList.self, .init()).subscriptions
        #expect(listed.count == 4)
        _ = try await alice.subscribe([Self.query("q", on: [.update])])
        let found = try await alice.ask(
            SubscriptionsLookup.self, .init(subscriptionIDs: ["nope", "q"])
        ).subscriptions
        #expect(found[0].failure?.code == .notFound)
        #expect(found[1].subscription?.firesOn == [.update])
        let gone = try await alice.ask(
            SubscriptionsModify.self,
            .init(operations: ["q", "q2"].map { .init(.delete, Self.query($0)) })
        ).subscriptions
        #expect(gone[0] == .deleted(subscriptionID: "q"))
        #expect(gone[1].failure?.code == .notFound)
    }

    @Test func subscriptionsBelongToUserAndDatabase() async throws {
        let world = World()
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        _ = try await alice.subscribe([Self.query("q")], in: .public)
        let others = try await bob.ask(SubscriptionsList.self, .init(), in: .public)
        #expect(others.subscriptions.isEmpty)
        let own = try await alice.ask(SubscriptionsList.self, .init(), in: .private)
        #expect(own.subscriptions.isEmpty)
    }

    /// Which kind each database takes.
    @Test(arguments: [
        (DatabaseScope.public, [true, false, false]), (.private, [true, true, true]),
        (.shared, [false, false, true]),
    ])
    func databaseScopeLimitsSubscriptionKinds(_ scope: DatabaseScope, _ isTaken: [Bool])
        async throws
    {
        let alice = try await World().person("alice")
        try await alice.makeZone("Trips")
        let results = try await alice.subscribe(
            [Self.query("q"), Self.zone("z", "Trips"), Self.database("d")], in: scope)
        #expect(results.map { $0.subscription != nil } == isTaken)
        #expect(results.map { $0.failure?.frameworkCode == 24 } == isTaken.map { !$0 })
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
        var limits = Limits()
        limits.subscriptionsPerUser = 1
        let alice = try await World(limits: limits).person("alice")
        let results = try await alice.subscribe([
            Self.database("a"), Self.database("b"), Self.database("c"),
        ])
        #expect(results.map { $0.failure?.frameworkCode } == [nil, 27, 27])
        let twice = await alice.refusal(
            SubscriptionsModify.self,
            .init(operations: [
                .init(.create, Self.database("a")), .init(.delete, Self.database("a")),
            ]))
        #expect(twice?.error.code == .badRequest)
    }
}

extension Person {
    @discardableResult
    func subscribe(
        _ subscriptions: [SubscriptionDictionary], in scope: DatabaseScope = .private
    ) async throws -> [SubscriptionResult] {
        try await ask(
            SubscriptionsModify.self, .init(operations: subscriptions.map { .init(.create, $0) }),
            in: scope
        ).subscriptions
    }
}

extension SubscriptionResult {
    var subscription: SubscriptionDictionary? {
        if case .subscription(let subscription) = self { subscription } else { nil }
    }
    var failure: ServiceError? { if case .failure(_, let error) = self { error } else { nil } }
}
