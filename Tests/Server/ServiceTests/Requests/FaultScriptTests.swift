import StratusRecords
import StratusStorage
import StratusWire
import Synchronization
import Testing

@testable import StratusService

/// Each fault in the service itself; StratusClientTests tests how clients react.
@Suite struct FaultScriptTests {
    private let world = World()

    private func script(_ faults: Fault...) throws {
        try #require(world.service.faults).add(faults)
    }

    @Test func scriptedErrorAnswersTheNextCalls() async throws {
        let alice = try await world.person("alice")
        let error = ServiceError(.throttled, "Slow down.", retryAfterSeconds: 3)
        try script(Fault(.answer(error), times: 2, operation: RecordsModify.path))
        _ = try await alice.ask(ZonesList.self, .init())
        for _ in 0..<2 {
            let refusal = await alice.refusal(
                RecordsModify.self, .init(operations: [hut(.create, "a")]))
            #expect(refusal?.error == error)
        }
        #expect(world.service.faults?.remaining.isEmpty == true)
        #expect(try await alice.modify([hut(.create, "a")])[0].code == nil)
    }

    @Test func productionServiceHasNoFaultScript() {
        #expect(World(isForDevelopment: false).service.faults == nil)
        #expect(World(isForDevelopment: false).service.pipeline.faults == nil)
    }

    @Test func faultAppliesToMatchingRequestsOnly() async throws {
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        try await alice.makeZone("Trips")
        try await bob.makeZone("Trips")
        try script(
            Fault(
                .answer(.zoneNotFound), operation: RecordsModify.path, userRecordName: alice.name,
                zoneName: "Trips", container: World.container),
            Fault(.answer(.cancelled), container: "iCloud.org.example.Other"))
        #expect(try await bob.modify([hut(.create, "a")], in: "Trips")[0].code == nil)
        #expect(try await alice.modify([hut(.create, "a")])[0].code == nil)
        #expect(world.service.faults?.remaining.count == 2)
        let refusal = await alice.refusal(
            RecordsModify.self,
            .init(operations: [hut(.create, "a")], zoneID: zone("Trips")))
        #expect(refusal?.error.code == .zoneNotFound)
        #expect(world.service.faults?.remaining.count == 1)
    }

    @Test func dropFaultDropsConnectionBeforeOrAfterCommit() async throws {
        let alice = try await world.person("alice")
        for (effect, isSaved) in [(Fault.Effect.dropBeforeCommit, false), (.dropAfterCommit, true)]
        {
            try script(Fault(effect, operation: RecordsModify.path))
            let name = "r\(isSaved)"
            let refusal = await alice.refusal(
                RecordsModify.self, .init(operations: [hut(.create, name)]))
            #expect(refusal?.error.code == .connectionDropped)
            #expect((try await alice.lookup([name])[0].record != nil) == isSaved)
        }
    }

    @Test func delayFaultSleepsInServiceTime() async throws {
        let slept = SleepLog()
        let service = CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(
                isForDevelopment: true,
                world: .init(sleep: { seconds in
                    // The service's other pauses do not concern this test.
                    guard seconds == 900 else {
                        return try await Task.sleep(for: .seconds(seconds))
                    }
                    slept.add(seconds)
                })))
        let token = try await service.signInForDevelopment(user: "alice").webAuthToken
        try #require(service.faults).add([Fault(.delay(seconds: 900), operation: ZonesList.path)])
        let answer = try await service.respond(
            to: ZonesList.self, .init(),
            from: Credentials(apiToken: ServiceSettings.developmentToken, webAuthToken: token),
            at: world.address, scope: .private)
        #expect(answer.answer.items.count == 1)
        #expect(slept.seconds == [900])
    }

    private final class SleepLog: Sendable {
        private let log = Mutex<[Double]>([])
        var seconds: [Double] { log.withLock { $0 } }
        func add(_ seconds: Double) { log.withLock { $0.append(seconds) } }
    }

    @Test func expiryFaultExpiresReceivedChangeTokens() async throws {
        let alice = try await world.person("alice", with: "Trips")
        try await alice.makeZone("Huts")
        try await alice.modify([hut(.create, "a")], in: "Trips")
        let token = try await alice.page("Trips").syncToken
        try script(Fault(.expireChangeTokens, operation: ChangesZone.path))
        let zones = try await alice.ask(
            ChangesZone.self,
            .init(zones: [
                .init(zoneID: zone("Trips"), syncToken: token), .init(zoneID: zone("Huts")),
            ])
        ).items
        guard case .failure(let failure) = zones[0], case .success = zones[1] else {
            Issue.record("\(zones)")
            return
        }
        // The same error as for a token that is too old: no history was lost.
        #expect(failure.error == .expiredChangeToken(lastIntactVersion: 1))
        #expect(try await alice.page("Trips", since: token).records.isEmpty)

        let all = try await alice.ask(ChangesDatabase.self, .init()).syncToken
        try script(Fault(.expireChangeTokens))
        let refusal = await alice.refusal(ChangesDatabase.self, .init(syncToken: all))
        #expect(refusal?.error.code == .changeTokenExpired)
        _ = try await alice.ask(ChangesDatabase.self, .init(syncToken: all))

        try script(Fault(.expireChangeTokens), Fault(.expireChangeTokens))
        let ofZones = await alice.refusal(ZonesChanges.self, .init(syncToken: all))
        #expect(ofZones?.error.code == .changeTokenExpired)
        let ofRecords = await alice.refusal(
            RecordsChanges.self, .init(zoneID: zone("Trips"), syncToken: token))
        #expect(ofRecords?.error == .expiredChangeToken(lastIntactVersion: 1))
    }

    @Test(arguments: Fault.ZoneResetReason.allCases)
    func resetFaultDeletesZoneBeforeNextCall(_ reason: Fault.ZoneResetReason) async throws {
        let alice = try await world.person("alice", with: "Trips")
        try await alice.modify([hut(.create, "a")], in: "Trips")
        let token = try await alice.ask(ChangesDatabase.self, .init()).syncToken
        try script(Fault(.resetZone(reason), zoneName: "Trips"))
        let zones = try await alice.ask(ChangesDatabase.self, .init(syncToken: token)).zones
        guard case .success(let gone) = zones.first else {
            Issue.record("\(zones)")
            return
        }
        #expect(gone.isDeleted == true && gone.deletionReason == reason.rawValue)
        #expect(try await alice.lookup(["a"], in: "Trips")[0].code == .zoneNotFound)
    }

    @Test func faultScriptIsLimitedAndCanBeCleared() throws {
        let faults = try #require(world.service.faults)
        try faults.add(Array(repeating: Fault(.dropBeforeCommit), count: FaultScript.capacity))
        #expect(throws: RequestFailure.self) { try faults.add([Fault(.dropBeforeCommit)]) }
        #expect(faults.remaining.count == FaultScript.capacity)
        faults.clear()
        #expect(faults.remaining.isEmpty)
    }

    /// The first notification is dropped, the second one is sent twice, the third one as usual.
    @Test func notificationFaultDropsOrDuplicatesNotification() async throws {
        let alice = try await world.person("alice")
        let phone = alice.at("phone")
        let tablet = alice.at("tablet")
        let courier = try await tablet.ask(
            TokensCreate.self, .init(apnsEnvironment: "development"), in: nil)
        _ = try await tablet.ask(
            TokensRegister.self,
            .init(apnsEnvironment: "development", apnsToken: courier.apnsToken), in: nil)
        try await phone.makeZone("Trips")
        _ = try await tablet.ask(
            SubscriptionsModify.self,
            .init([
                .init(
                    .create,
                    SubscriptionDictionary(
                        subscriptionID: "huts", kind: .query,
                        query: QueryDictionary(recordType: "Hut"), firesOn: [.create]))
            ]))
        try script(
            Fault(.dropNotification, userRecordName: alice.name),
            Fault(.duplicateNotification, operation: "means/nothing"))
        var names: [String] = []
        for name in ["lost", "twice", "once"] {
            try await phone.modify([hut(.create, name)], in: "Trips")
            await world.service.waitUntilIdle()
            while let payload = try await world.service.nextNotification(
                pushToken: courier.apnsToken, timeoutSeconds: 0)
            {
                if case .query(let recordName?, _, _, _) = payload.cause {
                    names.append(recordName)
                }
            }
        }
        #expect(names == ["twice", "twice", "once"])
        #expect(world.service.faults?.remaining.isEmpty == true)
    }
}
