import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Synchronization
import Testing

@testable import StratusService

/// Tokens of devices, and notifications on their way to a platform's push service.
@Suite struct PushTests {
    typealias Make = SubscriptionsTests

    private static let token = String(repeating: "0a", count: 32)

    /// Returns the given outcomes, and keeps the pushes.
    private final class Script: PushDelivery {
        let outcomes = Mutex<[PushOutcome]>([])
        let pushes: AsyncStream<Push>
        private let report: AsyncStream<Push>.Continuation

        init(_ outcomes: PushOutcome...) {
            (pushes, report) = AsyncStream.makeStream()
            self.outcomes.withLock { $0 = outcomes }
        }

        func send(_ push: Push) async -> PushOutcome {
            report.yield(push)
            return outcomes.withLock { $0.isEmpty ? .delivered : $0.removeFirst() }
        }

        func next() async -> Push? {
            var iterator = pushes.makeAsyncIterator()
            return await iterator.next()
        }
    }

    private func register(
        _ person: Person, _ token: String = Self.token, _ environment: String = "production"
    ) async throws {
        _ = try await person.ask(
            TokensRegister.self, .init(apnsEnvironment: environment, apnsToken: token), in: nil)
    }

    @Test func pushCarriesAlertHeadersAndPayload() async throws {
        let script = Script()
        let world = World(pushDelivery: script)
        let phone = try await world.person("alice")
        try await register(phone.at("tablet"), Self.token.uppercased())
        var visible = Make.query("q")
        visible.notificationInfo = .init(alertBody: "New hut", collapseIDKey: "name")
        try await phone.subscribe([visible])
        try await phone.modify([hut(.create, "hut", [text("name", "Palace")])])
        let alert = try #require(await script.next())
        #expect(alert.deviceToken == Self.token && alert.environment == .production)
        #expect(alert.kind == .alert && alert.priority == 10)
        #expect(alert.collapseIdentifier == "Palace")
        #expect(alert.expirationSeconds == 1_750_000_000 + 24 * 3600)
        #expect(alert.containerIdentifier == World.container)
        let payload = try alert.payload.withUnsafeBytes { try NotificationPayload.read(from: $0) }
        #expect(payload?.recordName == "hut" && payload?.notificationInfo?.alertBody == "New hut")
    }

    /// A push without an alert wakes the app; several for one zone replace one another.
    @Test func pushWithoutAlertIsSentInBackground() async throws {
        let script = Script()
        let phone = try await World(pushDelivery: script).person("alice")
        try await register(phone.at("tablet"), Self.token, "development")
        try await phone.makeZone("Trips")
        try await phone.subscribe([Make.zone("z", "Trips")])
        try await phone.modify([hut(.create, "a")], in: "Trips")
        let first = try #require(await script.next())
        try await phone.modify([hut(.create, "b")], in: "Trips")
        let second = try #require(await script.next())
        #expect(first.kind == .background && first.priority == 5)
        #expect(first.environment == .development)
        #expect(
            String(decoding: first.payload, as: UTF8.self).contains("\"content-available\":1"))
        #expect(first.collapseIdentifier == second.collapseIdentifier)
        #expect((1...64).contains(first.collapseIdentifier.utf8.count))
        #expect(first.payload != second.payload)
    }

    @Test func deviceReportedGoneIsForgotten() async throws {
        let script = Script(
            .deviceIsGone(sinceMilliseconds: 0), .deviceIsGone(sinceMilliseconds: nil))
        let world = World(pushDelivery: script)
        let phone = try await world.person("alice")
        try await register(phone.at("tablet"))
        try await phone.subscribe([Make.query("q")])
        let directory = world.service.storage.directory
        try await phone.modify([hut(.create, "a")])
        _ = await script.next()
        // The token was registered after the reported time, so it is kept.
        #expect(try await directory.device(pushToken: Self.token) != nil)
        try await phone.modify([hut(.create, "b")])
        _ = await script.next()
        while try await directory.device(pushToken: Self.token) != nil { await Task.yield() }
    }

    @Test func failedPushRetriesWithBackoffThenDrops() async throws {
        let pauses = Mutex<[Double]>([])
        let script = Script(
            .tryLater(seconds: nil), .tryLater(seconds: 30), .delivered,
            .refused(reason: "PayloadTooLarge"), .tryLater(seconds: nil), .tryLater(seconds: nil),
            .tryLater(seconds: nil), .tryLater(seconds: nil), .tryLater(seconds: nil))
        var limits = Limits()
        limits.coalescingSeconds = 0.5
        limits.pushesAtOnce = 1
        let world = World(
            limits: limits, pushDelivery: script,
            sleep: { seconds in
                // The sweep of the outboxes is not tested here; without a pause it would occupy a thread.
                if seconds == 10 { try await Task.sleep(for: .seconds(600)) }
                if seconds >= 1 { pauses.withLock { $0.append(seconds) } }
                await Task.yield()
            })
        let phone = try await world.person("alice")
        try await register(phone.at("tablet"))
        try await phone.subscribe([Make.query("q")])
        for name in ["a", "b", "c", "d"] { try await phone.modify([hut(.create, name)]) }
        var names: [String?] = []
        for _ in 0..<10 {
            guard let push = await script.next() else { break }
            let received = try push.payload.withUnsafeBytes {
                try NotificationPayload.read(from: $0)
            }
            names.append(received?.recordName)
        }
        #expect(names == ["a", "a", "a", "b", "c", "c", "c", "c", "c", "d"])
        #expect(pauses.withLock { $0 } == [1, 30, 1, 2, 4, 8])
    }

    /// Polls do not wait for the push service, and its queue has a limit.
    @Test func hangingPushServiceDoesNotBlockPolls() async throws {
        struct Hanging: PushDelivery {
            let begun = AsyncStream<Void>.makeStream()

            func send(_ push: Push) async -> PushOutcome {
                begun.continuation.yield()
                try? await Task.sleep(for: .seconds(600))
                return .delivered
            }
        }
        let world = World(
            limits: .with {
                $0.waitingPushes = 3
                $0.pushesAtOnce = 2
            }, pushDelivery: Hanging())
        let phone = try await world.person("alice")
        try await register(phone.at("tablet"))
        let poll = try await phone.at("web").listen()
        try await phone.subscribe([Make.query("q")])
        for number in 0..<9 { try await phone.modify([hut(.create, "hut-\(number)")]) }
        #expect(try await phone.received(poll).count == 9)
        #expect(await world.service.components.devices.pushes?.count == 3)
    }

    // MARK: Tokens

    @Test func nativeTokenRequiresPushService() async throws {
        let phone = try await World().person("alice")
        let refusal = await phone.refusal(
            TokensRegister.self, .init(apnsEnvironment: "production", apnsToken: Self.token),
            in: nil)
        #expect(refusal?.error.code == .notFound)
    }

    @Test func nativeTokensAreHexadecimalOrBase64() async throws {
        #expect(NativeToken(Self.token)?.text == Self.token)
        #expect(NativeToken(String(repeating: "AB", count: 32))?.text.first == "a")
        let base64 = String(repeating: "CgoK", count: 10) + "Cgo="
        #expect(NativeToken(base64)?.text.allSatisfy { "0a".contains($0) } == true)
        #expect(NativeToken(String(repeating: "g", count: 63)) == nil)
        #expect(NativeToken("") == nil)
        #expect(NativeToken(String(repeating: "ab", count: 10)) == nil)
        #expect(NativeToken(String(repeating: "ab", count: 1_000)) == nil)
        let world = World(pushDelivery: Script())
        let phone = try await world.person("alice")
        for (token, environment) in [("nonsense", "production"), (Self.token, "moon")] {
            let refusal = await phone.refusal(
                TokensRegister.self, .init(apnsEnvironment: environment, apnsToken: token),
                in: nil)
            #expect([.notFound, .badRequest].contains(refusal?.error.code))
        }
    }

    @Test func pushEnvironmentIsDevelopmentOrProduction() async throws {
        let phone = try await World().person("alice")
        let token = try await phone.listen()
        for environment in ["moon", "", "Production"] {
            let refusals = [
                await phone.refusal(
                    TokensCreate.self, .init(apnsEnvironment: environment), in: nil),
                await phone.refusal(
                    TokensRegister.self, .init(apnsEnvironment: environment, apnsToken: token),
                    in: nil),
            ]
            #expect(
                refusals.map { $0?.error.frameworkCode } == [.invalidArguments, .invalidArguments])
        }
        for environment in ["development", "production"] {
            let made = try await phone.ask(
                TokensCreate.self, .init(apnsEnvironment: environment), in: nil)
            #expect(made.apnsEnvironment == environment)
        }
    }

    /// A device that is passed on receives only its new owner's notifications.
    @Test func nativeTokenBelongsToItsLastRegistrant() async throws {
        let script = Script()
        let world = World(pushDelivery: script)
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        try await register(alice.at("tablet"))
        try await register(bob.at("tablet"))
        for person in [alice, bob] {
            try await person.subscribe([Make.query("q")])
            try await person.modify([hut(.create, "hut")])
            await world.service.waitUntilIdle()
        }
        let received = try #require(await script.next())
        #expect(String(decoding: received.payload, as: UTF8.self).contains(bob.name))
    }

    @Test func pushTokenServesSeveralContainers() async throws {
        let world = World()
        let phone = try await world.person("alice")
        let token = try await phone.listen()
        let other = ContainerAddress(
            container: "iCloud.org.example.Other", environment: .development)
        let credentials = Credentials(
            apiToken: ServiceSettings.developmentToken, webAuthToken: phone.token,
            clientID: "phone", wantsExtensions: true)
        _ = try await world.service.respond(
            to: TokensRegister.self, .init(apnsEnvironment: "development", apnsToken: token),
            from: credentials, at: other, scope: nil)
        _ = try await world.service.respond(
            to: SubscriptionsModify.self, .init([.init(.create, Make.query("there"))]),
            from: credentials, at: other, scope: .private)
        try await phone.subscribe([Make.query("here")])
        try await phone.at("tablet").modify([hut(.create, "a")])
        var tablet = credentials
        tablet.clientID = "tablet"
        _ = try await world.service.respond(
            to: RecordsModify.self, .init(operations: [hut(.create, "b")]), from: tablet, at: other,
            scope: .private)
        let received = try await phone.received(token)
        #expect(Set(received.map(\.subscriptionID)) == ["here", "there"])
        #expect(Set(received.map(\.containerIdentifier)) == [World.container, other.container])
        // A poll renews the registration in both containers.
        world.advance(seconds: 11 * 3600)
        _ = try await world.service.nextNotification(pushToken: token, timeoutSeconds: 0)
        let rows = try await world.service.storage.directory.devices(pushToken: token)
        #expect(rows.count == 2 && Set(rows.map(\.lastUsedMilliseconds)).count == 1)
    }

    @Test func unregisteredPushTokenReceivesNothing() async throws {
        let world = World()
        let phone = try await world.person("alice")
        let bob = try await world.person("bob")
        let token = try await phone.listen()
        try await phone.subscribe([Make.query("q")])
        // Another user's token stays registered, and the answer does not reveal whether it exists.
        for foreign in [token, "nothing"] {
            _ = try await bob.ask(TokensUnregister.self, .init(apnsToken: foreign), in: nil)
        }
        try await phone.at("tablet").modify([hut(.create, "a")])
        #expect(try await phone.received(token).count == 1)
        _ = try await phone.ask(TokensUnregister.self, .init(apnsToken: token), in: nil)
        await #expect(throws: RequestFailure.self) {
            try await world.service.nextNotification(pushToken: token, timeoutSeconds: 0)
        }
    }

    @Test func pushTokensPerDeviceAreLimited() async throws {
        let world = World(limits: .with { $0.pushTokensPerDevice = 2 })
        let phone = try await world.person("alice")
        let tablet = try await phone.at("tablet").listen()
        var tokens: [String] = []
        for _ in 0..<4 {
            world.advance(seconds: 1)
            tokens.append(try await phone.listen())
        }
        let rows = try await world.service.storage.directory.devices(
            of: phone.name, in: world.address)
        #expect(rows.map(\.pushToken) == [tablet] + tokens.suffix(2))
    }
}
