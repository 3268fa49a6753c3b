import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Testing

@testable import StratusService

/// Which sender a throttled request counts for, and how much it costs.
@Suite struct ServiceThrottleTests {
    private func world(_ change: (inout Limits) -> Void = { _ in }) -> World {
        var limits = Limits()
        limits.requestsPerSecond = 1
        limits.requestsInBurst = 10
        limits.requestsInBurstPerAddress = 50
        limits.requestsPerSecondPerAddress = 1
        change(&limits)
        return World(limits: limits, isThrottled: true)
    }

    @Test func throttledUserReceivesRetryAfter() async throws {
        let world = world()
        let alice = try await world.person("alice")
        for _ in 0..<10 { _ = try await alice.ask(ZonesList.self, .init()) }
        let refusal = await alice.refusal(ZonesList.self, .init())
        #expect(refusal?.error.code == .throttled)
        #expect(refusal?.error.retryAfterSeconds == 1)
        _ = try await world.person("bob").at("other").ask(ZonesList.self, .init())
        world.advance(seconds: 1)
        _ = try await alice.ask(ZonesList.self, .init())
    }

    @Test func developmentServiceIsNotThrottledByDefault() async throws {
        let world = World(limits: .with { $0.requestsInBurst = 1 })
        let alice = try await world.person("alice")
        for _ in 0..<5 { _ = try await alice.ask(ZonesList.self, .init()) }
        #expect(!ServiceSettings(isForDevelopment: true).isThrottled)
        #expect(ServiceSettings(isForDevelopment: false).isThrottled)
    }

    @Test func largeSaveCostsMoreThanLookup() async throws {
        let save = RecordsModify.Request(operations: (0..<400).map { hut(.create, "h\($0)") })
        let lookup = RecordsLookup.Request(records: [.init(recordName: "h")])
        #expect(RecordsModify.rules.cost(save) == 10)
        #expect(RecordsLookup.rules.cost(lookup) < 0.1)
        let world = world { $0.requestsInBurst = 5 }
        let alice = try await world.person("alice")
        _ = try await alice.ask(RecordsModify.self, save)
        #expect(await alice.refusal(RecordsLookup.self, lookup)?.error.code == .throttled)
    }

    @Test func userAndLinkListsCostByLength() {
        let people = (0..<400).map { UserLookupInfo(userRecordName: "_\($0)") }
        let links = RecordsResolve.Request(
            (0..<400).map { .init(value: "\($0)") })
        #expect(UsersDiscover.rules.cost(.init(lookupInfos: people)) == 2.5)
        #expect(UsersLookupEmail.rules.cost(.init(users: people)) == 2.5)
        #expect(UsersLookupID.rules.cost(.init(users: people)) == 2.5)
        #expect(RecordsResolve.rules.cost(links) == 2.5)
        // Joining writes.
        #expect(RecordsAccept.rules.cost(links) == 10)
        #expect(RecordsRequestAccess.rules.cost(links) == 10)
    }

    @Test func longUserListThrottlesTheNextRequest() async throws {
        let world = world { $0.requestsInBurst = 2 }
        let alice = try await world.person("alice")
        let people = (0..<400).map { UserLookupInfo(userRecordName: "_\($0)") }
        _ = try await alice.ask(UsersDiscover.self, .init(lookupInfos: people), in: .public)
        #expect(await alice.refusal(ZonesList.self, .init())?.error.code == .throttled)
    }

    /// The error with which a request with some credentials is refused; nil if it succeeds.
    private func code(
        of world: World, from credentials: Credentials
    ) async -> ServiceError.Code? {
        do {
            _ = try await world.service.respond(
                to: ZonesList.self, .init(), from: credentials, at: world.address, scope: .private)
            return nil
        } catch {
            return error.error.code
        }
    }

    /// A sender that guesses tokens is stopped ten times as fast as others, before the directory is read.
    @Test func badCredentialsThrottleTheirAddress() async throws {
        let world = world()
        func answer(_ address: String) async -> ServiceError.Code? {
            await code(of: world, from: Credentials(apiToken: "guess", networkAddress: address))
        }
        for _ in 0..<5 { #expect(await answer("10.0.0.1") == .authenticationFailed) }
        #expect(await answer("10.0.0.1") == .throttled)
        #expect(await answer("10.0.0.2") == .authenticationFailed)
    }

    /// A world that tolerates many bad requests before it slows their sender.
    private func worldOfPatience() -> World {
        world {
            $0.requestsInBurst = 1_000
            $0.requestsPerSecond = 8
            $0.badRequestsBeforePenalty = 10
        }
    }

    /// Repeats bad requests until they are throttled.
    private func expectThrottling(
        of person: Person, _ answer: () async -> ServiceError.Code?
    ) async throws {
        var asked = 0
        while await answer() == .badRequest {
            asked += 1
            try #require(asked < 1_000)
        }
        // 1,000 halved five times, less what was used by then.
        #expect(asked < 100)
        #expect(await person.refusal(ZonesList.self, .init())?.error.code == .throttled)
    }

    @Test func badRequestsThrottleTheirUser() async throws {
        let alice = try await worldOfPatience().person("alice")
        let bad = RecordsModify.Request(operations: [hut(.create, "a"), hut(.create, "a")])
        try await expectThrottling(of: alice) {
            await alice.refusal(RecordsModify.self, bad)?.error.code
        }
        alice.world.advance(seconds: 3_600)
        _ = try await alice.ask(ZonesList.self, .init())
    }

    /// A request that the transport refuses counts for the sender like one that the rules refuse.
    @Test func refusedBodiesThrottleTheirSender() async throws {
        let alice = try await worldOfPatience().person("alice")
        func answer() async -> ServiceError.Code? {
            do {
                let admitted = try await alice.world.service.receive(
                    ZonesList.self, from: alice.credentials, at: alice.world.address,
                    scope: .private
                ).checkRate().admit()
                let read = try await admitted.reading { () -> ZonesList.Request in
                    throw RequestFailure(.invalid("The body is too large."), unreadBody: .tooLarge)
                }
                _ = try await read.answer(receivedBytes: 0, holding: .inProcess) { $0 }
                return nil
            } catch {
                return (error as? RequestFailure)?.error.code
            }
        }
        try await expectThrottling(of: alice, answer)
    }

    /// A signature that no body can match is refused before the body is read, at the same cost.
    @Test func badSignaturesThrottleTheirAddress() async throws {
        let world = world()
        func answer() async -> ServiceError.Code? {
            do {
                let read = try await world.service.receive(
                    ZonesList.self,
                    from: Credentials(apiToken: nil, networkAddress: "10.0.0.1"),
                    at: world.address, scope: .public
                ).checkRate().admit(
                    reading: { () -> ZonesList.Request in
                        Issue.record("The body was read.")
                        return .init()
                    },
                    byteCount: { _ in 0 },
                    signature: { _ in
                        RequestSignature(
                            keyID: "guess", date: "", signature: "", target: "", body: [])
                    })
                _ = try await read.answer(receivedBytes: 0, holding: .inProcess) { $0 }
                return nil
            } catch {
                return (error as? RequestFailure)?.error.code
            }
        }
        for _ in 0..<5 { #expect(await answer() == .authenticationFailed) }
        #expect(await answer() == .throttled)
    }

    /// If the operator has set a container's daily limit, assets count too.
    @Test func assetBytesCountTowardTransferLimit() async throws {
        let world = World(limits: .with { $0.transferBytesPerDay = 5_000 }, isThrottled: true)
        let alice = try await world.person("alice")
        let first = try await alice.uploadAddress()
        _ = try await world.service.upload(to: first, pieces(Array(repeating: 7, count: 2_000)))
        let second = try await alice.uploadAddress()
        _ = try await world.service.upload(to: second, pieces(Array(repeating: 8, count: 4_000)))
        let refusal = await #expect(throws: RequestFailure.self) {
            try await world.service.upload(to: second, pieces([9]))
        }
        #expect(refusal?.error.code == .throttled)
        #expect(await alice.refusal(ZonesList.self, .init())?.error.code == .throttled)
        world.advance(seconds: 24 * 3600)
        _ = try await world.person("alice").ask(ZonesList.self, .init())
    }

    /// A sender that transfers much has to wait; other users, and clients without a user, do not.
    @Test func transferLimitThrottlesOnlyItsSender() async throws {
        let world = World(
            limits: {
                var limits = Limits()
                limits.transferBytesPerSecond = 100
                limits.transferBytesInBurst = 3_000
                return limits
            }(), isThrottled: true)
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        let address = try await alice.uploadAddress()
        _ = try await world.service.upload(to: address, pieces(Array(repeating: 7, count: 3_000)))
        #expect(await alice.refusal(ZonesList.self, .init())?.error.code == .throttled)
        _ = try await bob.ask(ZonesList.self, .init())
        world.advance(seconds: 1)
        _ = try await alice.ask(ZonesList.self, .init())
    }

    /// An expired session slows only its own device.
    @Test func expiredSessionDoesNotSlowNeighbours() async throws {
        let world = world()
        func code(_ token: String) async -> ServiceError.Code? {
            await self.code(
                of: world,
                from: Credentials(
                    apiToken: ServiceSettings.developmentToken, webAuthToken: token,
                    networkAddress: "10.0.0.1"))
        }
        // More than one and a half a second, for a minute.
        var answered = 0
        for _ in 0..<100 {
            if await code("expired") == .authenticationRequired { answered += 1 }
            world.advance(seconds: 0.6)
        }
        #expect((5...15).contains(answered), "\(answered)")
        let neighbour = try await world.service.signInForDevelopment(user: "ida").webAuthToken
        for _ in 0..<10 { #expect(await code(neighbour) == nil) }
        // Different tokens are guesses. They count for the address's clients without a known user, but not for known
        // users.
        for number in 0..<30 { _ = await code("guess \(number)") }
        #expect(await code("another guess") == .throttled)
        world.advance(seconds: 1)
        #expect(await code(neighbour) == nil)
    }
}
