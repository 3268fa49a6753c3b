import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import Synchronization
import Testing

/// What a participant's devices see and are notified of when one of them follows a link, step by step.
@Suite struct JoinNotificationTests {
    /// The owner's database has the participant before the participant's own database has the zone. A device that is
    /// notified between the two finds nothing, so it is notified once more.
    @Test func otherDeviceIsNotifiedOnceItsDatabaseHasTheZone() async throws {
        let interruption = Interruption()
        let world = World(interruption.storage)
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
        interruption.set(beforeWriteTo: bo, count)
        #expect(try await bo.accept(link).metadata?.participantStatus == .accepted)
        let seen = try #require(between.withLock { $0 })
        #expect(seen == (1, 0))
        #expect(try await tablet.received(token).count == 1)
        #expect(try await tablet.sharedZones().count == 1)
        // Following the link again changes nothing, so no device is notified.
        _ = try await bo.accept(link)
        #expect(try await tablet.received(token).isEmpty)
    }

    /// A fetch looks at the zone after it was left, and stores that it is gone after it was joined again.
    @Test func zoneJoinedAgainDuringAFetchStays() async throws {
        let interruption = Interruption()
        let world = World(interruption.storage)
        let (ida, bo) = (try await world.person("ida"), try await world.person("bo"))
        try await ida.makeZone("Trips")
        let made = try await ida.modify(
            [hut(.create, "trail"), share(.create, "S", of: "trail", participants: [invited(bo)])],
            in: "Trips")
        let link = try #require(made[1].record?.shortGUID)
        #expect(try await bo.accept(link).error == nil)
        let before = try await bo.ask(ChangesDatabase.self, .init(), in: .shared).syncToken
        try await bo.modify([share(.delete, "S")], in: zone("Trips", of: ida))
        let hasJoined = Mutex(false)
        interruption.set(beforeWriteTo: bo) {
            let isIn = try await bo.accept(link).metadata?.participantStatus == .accepted
            hasJoined.withLock { $0 = isIn }
        }
        let during = try await bo.ask(
            ChangesDatabase.self, .init(syncToken: before), in: .shared)
        #expect(hasJoined.withLock { $0 })
        #expect(try await bo.sharedZones().count == 1)
        let next = try await bo.ask(
            ChangesDatabase.self, .init(syncToken: during.syncToken), in: .shared)
        #expect((during.zones + next.zones).last?.zone?.isDeleted == false)
    }
}

/// Code that runs once, before the next write to a database.
private final class Interruption: Sendable {
    private let next = Mutex<(of: DatabaseAddress, body: @Sendable () async throws -> Void)?>(nil)

    var storage: WatchedStorage {
        WatchedStorage(beforeWrite: { [self] address in
            let taken = next.withLock { next in
                guard next?.of == address else { return (@Sendable () async throws -> Void)?.none }
                defer { next = nil }
                return next?.body
            }
            try await taken?()
        })
    }

    func set(beforeWriteTo person: Person, _ body: @escaping @Sendable () async throws -> Void) {
        let address = DatabaseAddress(person.world.address, .private(owner: person.name))
        next.withLock { $0 = (address, body) }
    }
}
