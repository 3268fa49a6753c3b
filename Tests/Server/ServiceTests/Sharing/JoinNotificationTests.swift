import StratusRecords
import StratusService
import StratusStorage
import Synchronization
import Testing

/// The notifications of a participant's other devices when one of them follows a link, step by step.
@Suite struct JoinNotificationTests {
    /// The owner's database has the participant before the participant's own database has the zone. A device that is
    /// notified between the two finds nothing, so it is notified once more.
    @Test func otherDeviceIsNotifiedOnceItsDatabaseHasTheZone() async throws {
        let pause = Mutex<(of: DatabaseAddress, body: @Sendable () async throws -> Void)?>(nil)
        let storage = WatchedStorage(beforeWrite: { address in
            let taken = pause.withLock { pause in
                guard pause?.of == address else { return (@Sendable () async throws -> Void)?.none }
                defer { pause = nil }
                return pause?.body
            }
            try await taken?()
        })
        let world = World(storage)
        let (ida, bo) = (try await world.person("ida"), try await world.person("bo"))
        let tablet = bo.at("tablet")
        let token = try await tablet.listen()
        try await tablet.subscribe([SubscriptionsTests.database("d")], in: .shared)
        try await ida.makeZone("Trips")
        let made = try await ida.modify(
            [hut(.create, "trail"), share(.create, "S", of: "trail", participants: [invited(bo)])],
            in: "Trips")
        let link = try #require(made[1].record?.shortGUID)
        _ = try await tablet.received(token)
        let between = Mutex<(notices: Int, zones: Int)?>(nil)
        let count: @Sendable () async throws -> Void = {
            let notices = try await tablet.received(token).count
            let zones = try await tablet.sharedZones().count
            between.withLock { $0 = (notices, zones) }
        }
        pause.withLock { $0 = (DatabaseAddress(world.address, .private(owner: bo.name)), count) }
        #expect(try await bo.accept(link).metadata?.participantStatus == .accepted)
        let seen = try #require(between.withLock { $0 })
        #expect(seen == (1, 0))
        #expect(try await tablet.received(token).count == 1)
        #expect(try await tablet.sharedZones().count == 1)
        // Following the link again changes nothing, so no device is notified.
        _ = try await bo.accept(link)
        #expect(try await tablet.received(token).isEmpty)
    }
}
