import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Synchronization
import Testing

@testable import StratusService

/// How often a device is notified, and that changes of other zones and users do not delay a notification.
@Suite(.timeLimit(.minutes(20))) struct NotificationCoalescingTests {
    typealias Make = SubscriptionsTests

    /// A service whose pauses end when the test advances the clock.
    private static func world(_ clock: TestClock, pushDelivery: (any PushDelivery)? = nil) -> World
    {
        World(pushDelivery: pushDelivery, sleep: { try await clock.sleep(seconds: $0) })
    }

    /// Alice's phone, and the token with which her tablet listens.
    private static func listening(_ clock: TestClock) async throws -> (World, Person, String) {
        let world = world(clock)
        let phone = try await world.person("alice")
        return (world, phone, try await phone.at("tablet").listen())
    }

    private static func next(_ world: World, _ token: String) async throws -> NotificationPayload? {
        try await world.service.nextNotification(pushToken: token, timeoutSeconds: 60)
    }

    private static func waitForPoll(_ world: World) async {
        while await world.service.components.courier.waiting == 0 { await Task.yield() }
    }

    /// The clock stands still: only what is notified at once arrives.
    @Test func changeOfOtherZoneIsNotifiedAtOnce() async throws {
        let clock = TestClock()
        let (world, phone, token) = try await Self.listening(clock)
        try await phone.makeZone("A")
        try await phone.makeZone("B")
        await world.service.waitUntilIdle()
        try await phone.subscribe([Make.zone("a", "A"), Make.zone("b", "B")])
        try await phone.modify([hut(.create, "1")], in: "A")
        #expect(try await Self.next(world, token)?.subscriptionID == "a")
        try await phone.modify([hut(.create, "2")], in: "B")
        #expect(try await Self.next(world, token)?.subscriptionID == "b")
    }

    @Test func publicSaveDelaysNoOtherUser() async throws {
        let clock = TestClock()
        let world = Self.world(clock)
        let people = [try await world.person("alice"), try await world.person("bob")]
        let reader = try await world.person("carol")
        let token = try await reader.at("tablet").listen()
        try await reader.subscribe([Make.query("q")], in: .public)
        for (number, person) in (people + people).enumerated() {
            try await person.modify([hut(.create, "hut-\(number)")], scope: .public)
            #expect(try await Self.next(world, token)?.recordName == "hut-\(number)")
        }
    }

    @Test func changesWithinWindowAreGathered() async throws {
        let clock = TestClock()
        let (world, phone, token) = try await Self.listening(clock)
        try await phone.makeZone("A")
        await world.service.waitUntilIdle()
        try await phone.subscribe([Make.database("d")])
        try await phone.modify([hut(.create, "0")], in: "A")
        #expect(try await Self.next(world, token) != nil)
        let notified = Mutex(0)
        let listener = Task {
            // Ends when the device is unregistered.
            while try await Self.next(world, token) != nil { notified.withLock { $0 += 1 } }
        }
        await Self.waitForPoll(world)
        for number in 1...5 { try await phone.modify([hut(.create, "\(number)")], in: "A") }
        let notifications = world.service.components.notifications
        while notifications.isDispatching { await Task.yield() }
        #expect(notifications.coalescing.heldCount == 1)
        #expect(notified.withLock { $0 } == 0)
        await clock.waitForSleeper(seconds: Limits().gatheringSeconds)
        clock.advance(bySeconds: Limits().gatheringSeconds)
        while notified.withLock({ $0 }) == 0 { await Task.yield() }
        await world.service.waitUntilIdle()
        _ = try await phone.ask(TokensUnregister.self, .init(apnsToken: token), in: nil)
        _ = await listener.result
        #expect(notified.withLock { $0 } == 1)
    }

    @Test(arguments: [(5, 1.0), (150, 2.0)])
    func backlogWidensWindow(changes: Int, factor: Double) async throws {
        let pauses = Mutex<[Double]>([])
        let world = World(sleep: { seconds in
            pauses.withLock { $0.append(seconds) }
            try await Task.sleep(for: .seconds(3_600))
        })
        let phone = try await world.person("alice")
        _ = try await phone.at("tablet").listen()
        try await phone.subscribe([Make.database("d")])
        // All at once, as after a dispatch that failed.
        let store = try await world.service.storage.store(
            for: DatabaseAddress(world.address, .private(owner: phone.name)))
        let event = OutboxEvent(zoneName: "A", user: phone.name, device: "phone", changes: [])
        try await store.write { writer in
            for _ in 0..<changes { try writer.enqueue(event.bytes) }
        }
        world.service.components.notifications.dispatch(store)
        await world.service.waitUntilIdle()
        #expect(
            pauses.withLock { $0.filter { $0 < 1 } } == [factor * Limits().gatheringSeconds])
    }

    /// Apple's push service is notified of one subscription once a second.
    @Test func pushesOfOneSubscriptionAreSecondApart() async throws {
        struct Counting: PushDelivery {
            let pushes = AsyncStream<Push>.makeStream()

            func send(_ push: Push) async -> PushOutcome {
                pushes.continuation.yield(push)
                return .delivered
            }
        }
        let clock = TestClock()
        let delivery = Counting()
        let world = Self.world(clock, pushDelivery: delivery)
        let phone = try await world.person("alice")
        _ = try await phone.at("tablet").ask(
            TokensRegister.self,
            .init(
                apnsEnvironment: "production", apnsToken: String(repeating: "0a", count: 32)),
            in: nil)
        try await phone.makeZone("A")
        await world.service.waitUntilIdle()
        try await phone.subscribe([Make.database("d")])
        var pushes = delivery.pushes.stream.makeAsyncIterator()
        try await phone.modify([hut(.create, "0")], in: "A")
        #expect(await pushes.next() != nil)
        for number in 1...3 { try await phone.modify([hut(.create, "\(number)")], in: "A") }
        let coalescing = world.service.components.notifications.coalescing
        while coalescing.heldCount == 0 { await Task.yield() }
        // Held back for the coalescing window of a push, not for that of a device.
        await clock.waitForSleeper(seconds: Limits().coalescingSeconds)
        clock.advance(bySeconds: Limits().coalescingSeconds)
        #expect(await pushes.next() != nil)
    }
}
