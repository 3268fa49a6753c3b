import InMemoryLogging
import Logging
import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Synchronization
import Testing

@testable import StratusService

/// When subscribers are notified: bursts, failures, restarts, and subscriptions that fire once.
@Suite struct NotificationRoundTests {
    typealias Make = SubscriptionsTests

    /// Sleeps until it is cancelled, so that no time passes.
    private static let never: @Sendable (Double) async throws -> Void = { _ in
        try await Task.sleep(for: .seconds(3600))
    }

    @Test(arguments: Backend.allCases)
    func burstOfSavesIsCoalesced(_ backend: Backend) async throws {
        let world = World(try backend.storage(), sleep: Self.never)
        let phone = try await world.person("alice")
        let token = try await phone.at("tablet").listen()
        try await phone.makeZone("Trips")
        try await phone.subscribe([Make.database("d"), Make.zone("z", "Trips")])
        let listener = Task {
            var count = 0
            // Ends when the device is unregistered.
            while let received = try? await world.service.nextNotification(
                pushToken: token, timeoutSeconds: 60)
            {
                if received.subscriptionID == "z" { count += 1 }
            }
            return count
        }
        for number in 0..<(backend == .memory ? 1_000 : 100) {
            try await phone.modify([hut(.create, "hut-\(number)")], in: "Trips")
        }
        await world.service.waitUntilIdle()
        while await world.service.components.courier.waiting == 0 { await Task.yield() }
        _ = try await phone.ask(TokensUnregister.self, .init(apnsToken: token), in: nil)
        #expect((1...3).contains(await listener.value))
    }

    /// A device that made one of several gathered changes is notified of the others.
    @Test func changesOfTwoDevicesNotifyBoth() async throws {
        let world = World(sleep: Self.never)
        let phone = try await world.person("alice")
        let tablet = phone.at("tablet")
        let phoneToken = try await phone.listen()
        let tabletToken = try await tablet.listen()
        try await phone.subscribe([Make.database("d")])
        try await phone.makeZone("A")
        try await tablet.makeZone("B")
        try await phone.makeZone("C")
        #expect(try await phone.received(phoneToken).count == 1)
        #expect(try await phone.received(tabletToken).count == 1)
    }

    /// One save notifies a thousand users, each with a waiting poll.
    @Test func saveNotifiesThousandDevices() async throws {
        let world = World()
        let storage = world.service.storage
        let store = try await storage.store(for: DatabaseAddress(world.address, .public))
        let author = try await world.person("author")
        try await store.writeRecords { writer in
            for number in 0..<1_000 {
                try writer.put(
                    SubscriptionRow(
                        user: "_u\(number)", identifier: "q", subscription: Make.query("q")))
            }
        }
        for number in 0..<1_000 {
            try await storage.directory.put(
                DeviceRow(
                    pushToken: "t\(number)", address: world.address,
                    userRecordName: "_u\(number)", clientID: "c",
                    lastUsedMilliseconds: 1_750_000_000_000, isRegistered: true))
        }
        let received = try await withThrowingTaskGroup(
            of: NotificationPayload?.self, returning: [NotificationPayload].self
        ) { group in
            for number in 0..<1_000 {
                group.addTask {
                    try await world.service.nextNotification(
                        pushToken: "t\(number)", timeoutSeconds: 600)
                }
            }
            while await world.service.components.courier.waiting < 1_000 { await Task.yield() }
            let begin = ContinuousClock.now
            try await author.modify([hut(.create, "hut")], scope: .public)
            var payloads: [NotificationPayload] = []
            for try await payload in group {
                if let payload { payloads.append(payload) }
            }
            print("1,000 devices notified in \(ContinuousClock.now - begin)")
            return payloads
        }
        #expect(Set(received.map(\.userRecordName)).count == 1_000)
        #expect(Set(received.map(\.notificationID)).count == 1)
    }

    /// Saves without subscribers leave nothing in memory either.
    @Test func databaseWithoutSubscribersIsForgotten() async throws {
        let world = World(sleep: { _ in await Task.yield() })
        try await world.service.dispatchPending()
        for name in ["alice", "bob", "carol"] {
            try await world.person(name).modify([hut(.create, "hut")])
        }
        while world.service.components.notifications.remembered > 0 { await Task.yield() }
    }

    /// Alice's phone, and the token with which her tablet listens.
    private func listening(_ world: World) async throws -> (phone: Person, token: String) {
        let phone = try await world.person("alice")
        return (phone, try await phone.at("tablet").listen())
    }

    /// Making a notification encodes it, maybe many times until it is short enough.
    @Test func notificationsAreMadeOnlyForListeningDevices() throws {
        let code = try #require(
            SourceCode.files(in: "Server")["Service/Notifications/OutboxDispatch.swift"])
        let listeners = try #require(code.firstRange(of: "await listeners(of:"))
        let notifications = try #require(code.firstRange(of: "matching.notification(of:"))
        #expect(listeners.upperBound < notifications.lowerBound)
    }

    // MARK: Subscriptions that fire once

    @Test(arguments: Backend.allCases)
    func firesOnceSubscriptionFiresOnceUnderConcurrentSaves(_ backend: Backend) async throws {
        let storage = try backend.storage()
        let (phone, token) = try await listening(World(storage))
        var once = Make.query("q")
        once.firesOnce = true
        try await phone.subscribe([once, Make.query("always", on: [.create, .update])])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask { try await phone.modify([hut(.create, "hut-\(number)")]) }
            }
            try await group.waitForAll()
        }
        let received = try await phone.received(token).map(\.subscriptionID)
        #expect(received.count { $0 == "q" } == 1)
        #expect(received.count { $0 == "always" } == 20)
        // The last event is still in the outbox, so a service that starts again sends it again.
        let again = World(storage)
        let tablet = Person(world: again, name: phone.name, device: "tablet", token: phone.token)
        try await again.service.dispatchPending()
        let repeated = try await tablet.received(token)
        #expect(repeated.allSatisfy { $0.subscriptionID == "always" } && !repeated.isEmpty)
        #expect(try await tablet.ask(SubscriptionsList.self, .init()).items.count == 1)
    }

    /// The device that makes the change is not notified of it.
    @Test func ownChangeKeepsFiresOnceSubscription() async throws {
        let world = World(sleep: Self.never)
        let phone = try await world.person("alice")
        let token = try await phone.listen()
        var once = Make.query("q")
        once.firesOnce = true
        try await phone.subscribe([once])
        try await phone.modify([hut(.create, "a")])
        #expect(try await phone.received(token).isEmpty)
        try await phone.at("tablet").modify([hut(.create, "b")])
        #expect(try await phone.received(token).map(\.subscriptionID) == ["q"])
        try await phone.at("tablet").modify([hut(.create, "c")])
        #expect(try await phone.received(token).isEmpty)
    }

    /// A subscription that was replaced under its name has not fired.
    @Test func replacedFiresOnceSubscriptionIsKept() async throws {
        let world = World(sleep: Self.never)
        let phone = try await world.person("alice")
        let token = try await phone.at("tablet").listen()
        var once = Make.query("q")
        once.firesOnce = true
        try await phone.subscribe([once])
        try await phone.modify([hut(.create, "a")])
        #expect(try await phone.received(token).count == 1)
        once.firesOn = [.update]
        try await phone.subscribe([once])
        try await phone.modify([hut(.create, "b")])
        #expect(try await phone.received(token).isEmpty)
        #expect(try await phone.ask(SubscriptionsList.self, .init()).items.count == 1)
    }

    // MARK: Failures and restarts

    @Test func failedDispatchRetriesWithBackoff() async throws {
        let failures = Mutex(0)
        let storage = WatchedStorage(beforeRead: { read in
            // The reads of outbox events.
            guard read.outcome == [OutboxRow].self else { return }
            let fails = failures.withLock { failures in
                defer { failures = max(0, failures - 1) }
                return failures > 0
            }
            if fails { throw StorageError(.busy, "The test makes this read fail.") }
        })
        let pauses = Mutex<[Double]>([])
        let world = World(
            storage,
            sleep: { seconds in
                pauses.withLock { $0.append(seconds) }
                if seconds > 8 { try await Task.sleep(for: .seconds(3600)) }
            })
        let phone = try await world.person("alice")
        let token = try await phone.at("tablet").listen()
        try await phone.subscribe([Make.query("q")])
        pauses.withLock { $0 = [] }
        failures.withLock { $0 = 3 }
        try await phone.modify([hut(.create, "a")])
        let received = try await world.service.nextNotification(
            pushToken: token, timeoutSeconds: 60)
        #expect(received?.recordName == "a")
        #expect(pauses.withLock { $0.filter { $0 < 10 }.prefix(3) } == [1, 2, 4])
    }

    /// The save has begun before, and is stored after the subscriber's first fetch.
    @Test func subscriptionThatIsStoredWhileASaveWaitsFires() async throws {
        let next = Mutex<(@Sendable () async throws -> Void)?>(nil)
        let storage = WatchedStorage(beforeWrite: { _ in
            let taken = next.withLock { next in
                defer { next = nil }
                return next
            }
            try await taken?()
        })
        let phone = try await World(storage).person("alice", with: "Trips")
        let tablet = phone.at("tablet")
        let token = try await tablet.listen()
        // Afterwards the index of the type exists: the next write is that of the record.
        try await phone.modify([hut(.create, "a")], in: "Trips")
        #expect(try await tablet.received(token).isEmpty)
        next.withLock {
            $0 = { _ = try await tablet.subscribe([Make.database("d")]) }
        }
        try await phone.modify([hut(.create, "b")], in: "Trips")
        #expect(next.withLock { $0 == nil })
        #expect(try await tablet.received(token).count == 1)
    }

    /// Apps save their subscriptions at every start. Otherwise the saves of all others would read theirs again, in the
    /// public database those of all users.
    @Test func subscriptionOfAnotherDatabaseKeepsWhatWasRead() async throws {
        let next = Mutex<(@Sendable () async throws -> Void)?>(nil)
        let reads = Mutex(0)
        let storage = WatchedStorage(beforeRead: { read in
            guard read.outcome == SubscriptionSummary.self else { return }
            reads.withLock { $0 += 1 }
            let taken = next.withLock { next in
                defer { next = nil }
                return next
            }
            try await taken?()
        })
        let world = World(storage)
        let (alice, bo) = (
            try await world.person("alice", with: "Trips"), try await world.person("bo")
        )
        try await bo.subscribe([Make.database("first")])
        // What was read of Alice's database is no longer kept.
        try await alice.subscribe([Make.database("d")])
        await world.service.waitUntilIdle()
        reads.withLock { $0 = 0 }
        next.withLock { $0 = { _ = try await bo.subscribe([Make.database("second")]) } }
        for name in ["a", "b"] { try await alice.modify([hut(.create, name)], in: "Trips") }
        await world.service.waitUntilIdle()
        #expect(next.withLock { $0 == nil })
        #expect(reads.withLock { $0 } == 1)
    }

    /// A notification has fields of records, which a disabled account may not read.
    @Test func disabledAccountIsNotNotified() async throws {
        let people = try await Travellers(World())
        let tablet = people.bo.at("tablet")
        let token = try await tablet.listen()
        try await tablet.subscribe([Make.database("d")], in: .shared)
        try await people.ida.shareTrail(with: people.bo)
        _ = try await tablet.received(token)
        for (isDisabled, count) in [(true, 0), (false, 1)] {
            try await people.ida.world.service.accounts.setDisabled(isDisabled, people.bo.name)
            try await people.ida.modify(
                [hut(.forceUpdate, "root", [beds(1)], type: "Trail")], in: "Trips")
            #expect(try await tablet.received(token).count == count)
        }
    }

    @Test func damagedFileOfOneParticipantDelaysNoOthers() async throws {
        let file = DamagedFile()
        let people = try await Travellers(World(file.storage))
        let tablet = people.cy.at("tablet")
        let token = try await tablet.listen()
        try await tablet.subscribe([Make.database("d")], in: .shared)
        let link = try await people.ida.shareTrail(with: people.bo)
        #expect(try await tablet.at("phone").accept(link).error == nil)
        _ = try await tablet.received(token)
        file.damage(people.bo)
        for number in 1...2 {
            try await people.ida.modify(
                [hut(.forceUpdate, "root", [beds(Int64(number))], type: "Trail")], in: "Trips")
            #expect(try await tablet.received(token).count == 1)
        }
    }

    @Test func damagedSubscriptionOfOneParticipantIsLogged() async throws {
        let handler = InMemoryLogHandler()
        let file = DamagedFile()
        let people = try await Travellers(
            World(file.storage, logger: Logger(label: "test") { _ in handler }))
        try await people.ida.shareTrail(with: people.bo)
        await people.ida.world.service.waitUntilIdle()
        file.damage(people.bo, row: DamagedRow(kind: "subscription", name: "d"))
        for number in 1...2 {
            try await people.ida.modify(
                [hut(.forceUpdate, "root", [beds(Int64(number))], type: "Trail")], in: "Trips")
            await people.ida.world.service.waitUntilIdle()
        }
        #expect(handler.entries.filter { $0.level == .error }.count == 1)
    }

    @Test(arguments: Backend.allCases)
    func outboxIsDispatchedAtStartAfterCrash(_ backend: Backend) async throws {
        let storage = try backend.storage()
        let phone = try await World(storage).person("alice")
        let token = try await phone.at("tablet").listen()
        try await phone.subscribe([Make.query("q")])
        try await phone.modify([hut(.create, "hut")])
        let first = try await phone.received(token)
        let again = World(storage)
        try await again.service.dispatchPending()
        let tablet = Person(world: again, name: phone.name, device: "tablet", token: phone.token)
        // With the same notification ID, so that a device can recognise a duplicate.
        #expect(try await tablet.received(token) == first)
    }

    @Test(arguments: Backend.allCases)
    func cleanStopLeavesNothingToDispatch(_ backend: Backend) async throws {
        let storage = try backend.storage()
        let (phone, token) = try await listening(World(storage))
        try await phone.subscribe([Make.query("q")])
        try await phone.modify([hut(.create, "hut")])
        await phone.world.service.finishNotifications()
        let again = World(storage)
        try await again.service.dispatchPending()
        let tablet = Person(world: again, name: phone.name, device: "tablet", token: phone.token)
        #expect(try await tablet.received(token).isEmpty)
    }

    @Test func idleDatabasesAreForgotten() async throws {
        let quiet = Mutex<[CheckedContinuation<Void, Never>]>([])
        let world = World(sleep: { seconds in
            guard seconds >= 10 else { return }
            await withCheckedContinuation { waiting in quiet.withLock { $0.append(waiting) } }
        })
        for name in ["alice", "bob", "carol"] {
            let person = try await world.person(name)
            try await person.subscribe([Make.query("q")])
            try await person.modify([hut(.create, "hut")])
        }
        await world.service.waitUntilIdle()
        #expect(world.service.components.notifications.remembered >= 3)
        while world.service.components.notifications.remembered > 0 {
            for waiting in quiet.withLock({
                let all = $0; $0 = []; return all
            }) { waiting.resume() }
            await Task.yield()
        }
        let store = try await world.service.storage.store(
            for: DatabaseAddress(
                world.address, .private(owner: try await world.person("bob").name)))
        #expect(try await store.read { try $0.outbox(limit: 9) }.isEmpty)
    }
}
