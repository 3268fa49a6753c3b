import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Testing

@testable import StratusService

/// Rates and transfers are also limited per network address and per API token, for all senders that share them; an
/// unreadable request counts as a bad one.
@Suite struct SenderLimitTests {
    private func world(_ change: (inout Limits) -> Void) -> World {
        var limits = Limits()
        limits.requestsInBurstPerAddress = 20
        limits.requestsPerSecondPerAddress = 1
        change(&limits)
        return World(limits: limits, isThrottled: true)
    }

    private func credentials(
        _ apiToken: String = ServiceSettings.developmentToken, _ person: Person? = nil,
        from networkAddress: String, device: String = "phone"
    ) -> Credentials {
        Credentials(
            apiToken: apiToken, webAuthToken: person?.token, clientID: device,
            networkAddress: networkAddress)
    }

    /// The error of a lookup in the public database; nil if it succeeds.
    private func code(
        _ world: World, _ credentials: Credentials, receivedBytes: Int = 0,
        decode: (String) throws -> RecordsLookup.Request = { _ in
            .init(records: [.init(recordName: "r")])
        }
    ) async -> ServiceError.Code? {
        do {
            let read = try await world.service.receive(
                RecordsLookup.self, from: credentials, at: world.address, scope: .public
            ).checkRate().admit().reading { "no JSON" }
            let answered = try await read.answer(
                receivedBytes: receivedBytes, holding: .inProcess, decode)
            _ = await answered.encoded { answer in
                let count = wireBytes(of: answer).count
                return (count, count)
            }
            return nil
        } catch {
            return (error as? RequestFailure)?.error.code
        }
    }

    // MARK: Addresses

    /// Each user's own rate is far from used up.
    @Test func usersOfOneAddressShareItsRate() async throws {
        let world = world { _ in }
        var people: [Person] = []
        for name in ["ida", "ole", "eva"] { people.append(try await world.person(name)) }
        // They are known after their first success.
        for person in people {
            #expect(await code(world, credentials("development", person, from: "10.0.0.1")) == nil)
        }
        var answered = 0
        func next() async -> ServiceError.Code? {
            let person = people[answered % people.count]
            return await code(world, credentials("development", person, from: "10.0.0.1"))
        }
        while answered < 100, await next() == nil { answered += 1 }
        #expect(answered == 20)
        #expect(await next() == .throttled)
        #expect(await code(world, credentials("development", people[0], from: "10.0.0.2")) == nil)
        world.advance(seconds: 1)
        #expect(await next() == nil)
    }

    @Test func anonymousSendersOfAnAddressShareItsRate() async throws {
        let world = world { _ in }
        let ida = try await world.person("ida")
        #expect(await code(world, credentials("development", ida, from: "10.0.0.1")) == nil)
        var answered = 0
        func next() async -> ServiceError.Code? {
            await code(world, credentials(from: "10.0.0.1", device: "device \(answered)"))
        }
        while answered < 100, await next() == nil { answered += 1 }
        // Ida counted as an unknown client until her first success.
        #expect((19...20).contains(answered), "\(answered)")
        #expect(await next() == .throttled)
        #expect(await code(world, credentials(from: "10.0.0.2")) == nil)
        // A known user at that address does not count as an unknown client.
        #expect(await code(world, credentials("development", ida, from: "10.0.0.1")) == nil)
    }

    /// A request of a known user offsets a bad one of unknown clients at the same address, since that may have been a
    /// mistake.
    @Test func successOfKnownUserForgivesABadRequestOfItsAddress() async throws {
        let world = world { $0.requestsInBurstPerAddress = 50 }
        let ida = try await world.person("ida")
        func ask() async -> ServiceError.Code? {
            await code(world, credentials("development", ida, from: "10.0.0.1"))
        }
        #expect(await ask() == nil)
        var guesses = 0
        func guess() async -> ServiceError.Code? {
            guesses += 1
            return await code(world, credentials("guess \(guesses)", from: "10.0.0.1"))
        }
        while guesses < 100, await guess() == .authenticationFailed {}
        #expect(guesses < 10)
        #expect(await guess() == .throttled)
        #expect(await ask() == nil)
        #expect(await guess() == .authenticationFailed)
        #expect(await guess() == .throttled)
    }

    @Test func forgivenBadRequestsRestoreRateAndTokens() throws {
        var limits = Limits()
        limits.requestsPerSecondPerAddress = 10
        limits.requestsInBurstPerAddress = 20
        limits.badRequestsBeforePenalty = 5
        let clock = TestClock()
        let throttle = Throttle(limits: limits, world: clock.world)
        let strangers = Throttle.Sender.strangers("10.0.0.1")
        func admitted() -> Int {
            var count = 0
            // A refusal is the end of the count.
            while count < 1_000, (try? throttle.admit(strangers)) != nil { count += 1 }
            return count
        }
        // Nothing is stored for a sender without bad requests.
        throttle.forgive(strangers)
        #expect(throttle.count == 0)
        // Ten bad ones reduce burst and rate to a quarter.
        for _ in 0..<10 { throttle.recordOutcome(of: strangers, wasBad: true) }
        for _ in 0..<4 { throttle.forgive(strangers) }
        #expect(admitted() == 8)
        clock.advance(bySeconds: 1)
        #expect(admitted() == 10)
    }

    // MARK: Apps

    /// Clients of one app without a user share a transfer limit, however many addresses they use; signed-in users are
    /// not affected.
    @Test func anonymousSendersOfAnAppShareItsTransferLimit() async throws {
        let world = world {
            $0.transferBytesInBurstPerToken = 10_000
            $0.transferBytesPerSecondPerToken = 100
        }
        let ida = try await world.person("ida")
        let other = try await world.service.accounts.createAPIToken(
            for: world.address, name: "other")
        var answered = 0
        func next() async -> ServiceError.Code? {
            await code(world, credentials(from: "10.0.0.\(answered)"), receivedBytes: 2_400)
        }
        while answered < 100, await next() == nil { answered += 1 }
        #expect((4...5).contains(answered), "\(answered)")
        #expect(await next() == .throttled)
        #expect(await code(world, credentials(other, from: "10.0.1.1")) == nil)
        #expect(await code(world, credentials("development", ida, from: "10.0.1.2")) == nil)
        world.advance(seconds: 100)
        #expect(await next() == nil)
    }

    // MARK: Bad requests

    /// An unreadable request costs work too, and no correct client keeps sending them.
    @Test func malformedRequestsThrottleTheirSender() async throws {
        let world = world {
            $0.requestsInBurst = 1_000
            $0.requestsPerSecond = 8
            $0.requestsInBurstPerAddress = 10_000
            $0.badRequestsBeforePenalty = 10
        }
        let ida = try await world.person("ida")
        func answer() async -> ServiceError.Code? {
            await code(world, credentials("development", ida, from: "10.0.0.1")) {
                try readWire(RecordsLookup.Request.self, from: Array($0.utf8))
            }
        }
        var asked = 0
        while asked < 1_000, await answer() == .badRequest { asked += 1 }
        // 1,000 halved five times, less what was used by then.
        #expect(asked < 100)
        #expect(await answer() == .throttled)
    }
}
