import InMemoryLogging
import Logging
import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import Testing

/// Which devices are notified of which changes.
@Suite struct ServiceNotificationTests {
    typealias Make = SubscriptionsTests

    @Test(arguments: Backend.allCases)
    func changeNotifiesOtherDevicesOnce(_ backend: Backend) async throws {
        let phone = try await World(try backend.storage()).person("alice")
        let tablet = phone.at("tablet")
        let phoneToken = try await phone.listen()
        let tabletToken = try await tablet.listen()
        try await phone.makeZone("Trips")
        try await phone.subscribe([Make.database("d"), Make.zone("z", "Trips")])
        for number in 0..<3 {
            try await phone.modify([hut(.create, "hut-\(number)")], in: "Trips")
        }
        // Unread notifications of one subscription are merged into one.
        let received = try await tablet.received(tabletToken)
        #expect(received.map(\.subscriptionID).sorted() == ["d", "z"])
        #expect(received.allSatisfy { $0.userRecordName == phone.name && $0.scope == .private })
        #expect(
            received.contains { $0.cause == .zone(ZoneID(name: "Trips", ownerName: phone.name)) })
        #expect(received.contains { $0.cause == .database })
        #expect(try await phone.received(phoneToken).isEmpty)
    }

    @Test func zoneCreationAndDeletionNotifyDatabaseSubscriptions() async throws {
        let phone = try await World().person("alice")
        let token = try await phone.at("tablet").listen()
        try await phone.subscribe([Make.database("d")])
        try await phone.makeZone("Trips")
        #expect(try await phone.received(token).count == 1)
        try await phone.deleteZone("Trips")
        #expect(try await phone.received(token).count == 1)
        try await phone.deleteZone("Trips")
        #expect(try await phone.received(token).isEmpty)
    }

    @Test func defaultZoneAndFailedSavesDoNotNotifyDatabaseSubscriptions() async throws {
        let phone = try await World().person("alice")
        let token = try await phone.at("tablet").listen()
        try await phone.makeZone("Trips")
        try await phone.subscribe([Make.database("d"), Make.zone("z", "Trips")])
        try await phone.modify([hut(.create, "hut")])
        _ = await phone.refusal(
            RecordsModify.self,
            .init(
                operations: [hut(.create, "a"), hut(.update, "b", tag: "x")], zoneID: zone("Trips"))
        )
        try await phone.modify([hut(.forceDelete, "nothing")], in: "Trips")
        #expect(try await phone.received(token).isEmpty)
    }

    @Test func recordTypeFiltersZoneSubscription() async throws {
        let phone = try await World().person("alice")
        let token = try await phone.at("tablet").listen()
        try await phone.makeZone("Trips")
        var narrow = Make.zone("z", "Trips")
        narrow.recordType = "Trail"
        try await phone.subscribe([narrow])
        try await phone.modify([hut(.create, "hut")], in: "Trips")
        #expect(try await phone.received(token).isEmpty)
        try await phone.modify([hut(.create, "t", type: "Trail")], in: "Trips")
        #expect(try await phone.received(token).count == 1)
    }

    /// A query subscription fires for records that match after a change, or before a deletion.
    @Test func querySubscriptionFiresForMatchingRecords() async throws {
        let phone = try await World().person("alice")
        let token = try await phone.at("tablet").listen()
        var subscription = Make.query(
            "big", on: [.create, .delete],
            filters: [.init(.greaterThan, .user("beds"), .int64(10))])
        subscription.notificationInfo = .init(additionalFields: ["name"])
        try await phone.subscribe([subscription])
        try await phone.modify([
            hut(.create, "big", [beds(20), text("name", "Palace")]),
            hut(.create, "small", [beds(2)]),
            hut(.create, "t", [beds(20)], type: "Trail"),
        ])
        let created = try await phone.received(token)
        #expect(created.count == 1)
        #expect(
            created.first?.cause
                == .query(
                    recordName: "big", reason: .recordCreated,
                    zoneID: ZoneID(name: "_defaultZone", ownerName: phone.name),
                    additionalFields: [text("name", "Palace")]))
        try await phone.modify([hut(.forceUpdate, "big", [beds(30)])])
        #expect(try await phone.received(token).isEmpty)
        try await phone.modify([hut(.forceDelete, "big"), hut(.forceDelete, "small")])
        let deleted = try await phone.received(token)
        #expect(deleted.count == 1)
        guard case .query("big", .recordDeleted, _, _) = deleted.first?.cause else {
            Issue.record("No notification of the deletion arrived.")
            return
        }
    }

    /// Alice's phone, and the token with which her tablet is notified of these fields of new records.
    private func notifiedOf(fields: [String]) async throws -> (Person, token: String) {
        let phone = try await World().person("alice")
        let token = try await phone.at("tablet").listen()
        var subscription = Make.query("q")
        subscription.notificationInfo = .init(additionalFields: fields)
        try await phone.subscribe([subscription])
        return (phone, token)
    }

    /// A stored asset is useless without a download address.
    @Test func additionalFieldsOmitAssets() async throws {
        let (phone, token) = try await notifiedOf(fields: ["name", "photo"])
        let asset = try await phone.upload([1])
        try await phone.modify([hut(.create, "hut", [photo(asset), text("name", "Palace")])])
        guard case .query(_, _, _, let fields) = try await phone.received(token).first?.cause else {
            Issue.record("No notification of the creation arrived.")
            return
        }
        #expect(fields == [text("name", "Palace")])
    }

    /// Each device's notifications wait in memory, so they must not contain whole records.
    @Test func longAdditionalFieldsAreTruncated() async throws {
        let (phone, token) = try await notifiedOf(fields: ["name", "note"])
        let long = text("note", String(repeating: "x", count: 10_000))
        try await phone.modify([hut(.create, "hut", [text("name", "Palace"), long])])
        let received = try await phone.received(token)
        #expect(received.map(\.isPruned) == [true])
        guard case .query(_, _, _, let fields) = received.first?.cause else {
            Issue.record("No notification of the creation arrived.")
            return
        }
        #expect(
            fields == [text("name", "Palace"), text("note", String(repeating: "x", count: 100))])
    }

    @Test func tooLargeSubscriptionIsRefused() async throws {
        let phone = try await World().person("alice")
        var subscription = Make.query("q")
        subscription.notificationInfo = .init(
            alertBody: String(repeating: "x", count: 100_000))
        guard case .failure(_, let error) = try await phone.subscribe([subscription])[0] else {
            Issue.record("The subscription was accepted.")
            return
        }
        #expect(error.frameworkCode == .limitExceeded)
    }

    @Test func publicQuerySubscriptionNotifiesEverySubscriber() async throws {
        let world = World()
        let alice = try await world.person("alice")
        let bob = try await world.person("bob", device: "bobs-phone")
        let bobsToken = try await bob.listen()
        let alicesToken = try await alice.at("tablet").listen()
        for person in [alice, bob] { try await person.subscribe([Make.query("q")], in: .public) }
        try await alice.modify([hut(.create, "hut")], scope: .public)
        let bobs = try await bob.received(bobsToken)
        #expect(bobs.map(\.userRecordName) == [bob.name])
        #expect(bobs.map(\.scope) == [.public])
        #expect(
            try await alice.received(alicesToken).map(\.notificationID)
                == bobs.map(\.notificationID))
    }

    @Test func firesOnceSubscriptionIsDeletedAfterFiring() async throws {
        let phone = try await World().person("alice")
        let token = try await phone.at("tablet").listen()
        var once = Make.query("q")
        once.firesOnce = true
        try await phone.subscribe([once])
        try await phone.modify([hut(.create, "a"), hut(.create, "b")])
        #expect(try await phone.received(token).count == 1)
        try await phone.modify([hut(.create, "c")])
        #expect(try await phone.received(token).isEmpty)
        #expect(try await phone.ask(SubscriptionsList.self, .init()).items.isEmpty)
    }

    /// The queue of a device that does not poll is shortened until the device has caught up.
    @Test func fullQueueDropsOldestAndHalvesItsCapacity() async throws {
        let phone = try await World.alice { $0.notificationsPerDevice = 4 }
        let token = try await phone.at("tablet").listen()
        try await phone.subscribe([Make.query("q")])
        for name in ["a", "b", "c", "d", "e"] { try await phone.modify([hut(.create, name)]) }
        #expect(try await phone.received(token).map(\.recordName) == ["d", "e"])
        for name in ["f", "g", "h", "i"] { try await phone.modify([hut(.create, name)]) }
        #expect(try await phone.received(token).map(\.recordName) == ["f", "g", "h", "i"])
    }

    /// A device that has not polled for long has to fetch everything anyway.
    @Test func absentDeviceKeepsOneNotification() async throws {
        let world = World()
        let phone = try await world.person("alice")
        let token = try await phone.at("tablet").listen()
        try await phone.subscribe([Make.query("q")])
        try await phone.modify([hut(.create, "a")])
        try await phone.modify([hut(.create, "b")])
        await world.service.waitUntilIdle()
        world.advance(seconds: 601)
        try await phone.modify([hut(.create, "c")])
        #expect(try await phone.received(token).map(\.recordName) == ["c"])
        try await phone.modify([hut(.create, "d")])
        try await phone.modify([hut(.create, "e")])
        #expect(try await phone.received(token).map(\.recordName) == ["d", "e"])
    }

    @Test(arguments: Backend.allCases)
    func outboxLeftByACrashIsDispatchedAtTheNextUse(_ backend: Backend) async throws {
        let storage = try backend.storage()
        let phone = try await World(storage).person("alice")
        let token = try await phone.at("tablet").listen()
        try await phone.makeZone("Trips")
        try await phone.subscribe([Make.zone("z", "Trips")])
        try await phone.modify([hut(.create, "hut")], in: "Trips")
        // A service that starts again finds the event's row, which no later save has removed.
        let again = World(storage)
        let tablet = Person(world: again, name: phone.name, device: "tablet", token: phone.token)
        _ = try await tablet.ask(ZonesList.self, .init())
        #expect(try await tablet.received(token).map(\.subscriptionID) == ["z"])
    }

    @Test func dispatchedEventsLeaveTheOutboxWithTheNextSave() async throws {
        let storage = SQLiteStorageEngine.inMemory()
        let world = World(storage)
        let phone = try await world.person("alice", with: "Trips")
        try await phone.subscribe([Make.zone("z", "Trips")])
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: phone.name)))
        for number in 0..<5 {
            try await phone.modify([hut(.create, "hut-\(number)")], in: "Trips")
            await world.service.waitUntilIdle()
            #expect(try await store.read { try $0.outbox(limit: 10) }.count == 1)
        }
    }

    /// The row leaves the outbox like any other, so nothing else shows that it was there.
    @Test func eventThatCannotBeReadIsLogged() async throws {
        let storage = SQLiteStorageEngine.inMemory()
        let logs = InMemoryLogHandler()
        let world = World(storage, logger: Logger(label: "test") { _ in logs })
        let phone = try await world.person("alice", with: "Trips")
        try await phone.subscribe([Make.zone("z", "Trips")])
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: phone.name)))
        try await store.writeRecords { try $0.enqueue([]) }
        try await phone.modify([hut(.create, "hut")], in: "Trips")
        await world.service.waitUntilIdle()
        let warnings = logs.entries.filter { $0.level == .warning }
        #expect(warnings.map { "\($0.message)".hasPrefix("An event of the outbox") } == [true])
    }

    // MARK: Devices

    @Test func unregisteredOrForeignDeviceIsNotNotified() async throws {
        let world = World()
        let phone = try await world.person("alice")
        let bob = try await world.person("bob")
        let made = try await phone.at("tablet").ask(
            TokensCreate.self, .init(apnsEnvironment: "development"), in: nil)
        #expect(made.webcourierURL == "/courier/aps?tok=\(made.apnsToken)&ttl=43200")
        try await phone.subscribe([Make.query("q")])
        try await phone.modify([hut(.create, "a")])
        #expect(try await phone.received(made.apnsToken).isEmpty)
        let foreign = await bob.refusal(
            TokensRegister.self,
            .init(apnsEnvironment: "development", apnsToken: made.apnsToken), in: nil)
        #expect(foreign?.error.code == .notFound)
    }

    @Test func pushTokenExpiresWhenUnused() async throws {
        let world = World()
        let phone = try await world.person("alice")
        let token = try await phone.listen()
        await #expect(throws: RequestFailure.self) {
            try await world.service.nextNotification(pushToken: "unknown", timeoutSeconds: 0)
        }
        for _ in 0..<3 {
            world.advance(seconds: 11 * 3600)
            _ = try await world.service.nextNotification(pushToken: token, timeoutSeconds: 0)
        }
        world.advance(seconds: 13 * 3600)
        await #expect(throws: RequestFailure.self) {
            try await world.service.nextNotification(pushToken: token, timeoutSeconds: 0)
        }
    }

    @Test func deviceLimitRemovesLeastRecentlyUsedDevice() async throws {
        let world = World(limits: .with { $0.devicesPerUser = 2 })
        let phone = try await world.person("alice")
        var tokens: [String] = []
        for _ in 0..<3 {
            tokens.append(try await phone.listen())
            world.advance(seconds: 1)
        }
        #expect(Set(tokens).count == 3)
        await #expect(throws: RequestFailure.self) {
            try await world.service.nextNotification(pushToken: tokens[0], timeoutSeconds: 0)
        }
        for token in tokens.dropFirst() {
            let notification = try await world.service.nextNotification(
                pushToken: token, timeoutSeconds: 0)
            #expect(notification == nil)
        }
    }
}

extension NotificationPayload {
    var recordName: String? {
        if case .query(let name, _, _, _) = cause { name } else { nil }
    }
}

extension Person {
    /// Creates and registers a push token.
    func listen() async throws -> String {
        let token = try await ask(
            TokensCreate.self, .init(apnsEnvironment: "development"), in: nil
        ).apnsToken
        _ = try await ask(
            TokensRegister.self, .init(apnsEnvironment: "development", apnsToken: token), in: nil)
        return token
    }

    /// All notifications that wait for a device.
    func received(_ pushToken: String) async throws -> [NotificationPayload] {
        await world.service.waitUntilIdle()
        var received: [NotificationPayload] = []
        while let next = try await world.service.nextNotification(
            pushToken: pushToken, timeoutSeconds: 0)
        {
            received.append(next)
        }
        return received
    }
}
