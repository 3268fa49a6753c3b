import Foundation
import InMemoryLogging
import Logging
import StratusClient
import StratusRuntime
import StratusTesting
import StratusWire
import Testing

@testable import StratusMapping

/// Parallel saves, the lock, ignored objects, pushes, recovery, logging.
@Suite(.timeLimit(.minutes(20)))
struct ServiceTests {
    let cloud = TestCloud()

    /// A gate that lets requests pass when the test opens it.
    actor Door {
        private var isOpen = false
        private var waiting: [CheckedContinuation<Void, Never>] = []
        private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        func pass() async {
            guard !isOpen else { return }
            await withCheckedContinuation { continuation in
                waiting.append(continuation)
                for watcher in watchers where watcher.count <= waiting.count {
                    watcher.continuation.resume()
                }
                watchers.removeAll { $0.count <= waiting.count }
            }
        }

        func waitForVisitors(_ count: Int) async {
            guard waiting.count < count else { return }
            await withCheckedContinuation { watchers.append((count, $0)) }
        }

        func open() {
            isOpen = true
            for visitor in waiting { visitor.resume() }
            waiting = []
        }
    }

    @Test func typesAreSavedInParallelOneTypeSerially() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        try await phone.sync()
        let door = Door()
        phone.transport.before(RecordsModify.self) { await door.pass() }
        let people = ["Anna", "Bea"].map { phone.addPerson($0) }
        let home = phone.addHome("Lake Road")
        let tool = phone.add(Tool())
        await phone.run {
            for person in people { person.iCloud.save() }
            home.iCloud.save()
            tool.iCloud.save()
        }
        // Three types are saved at once: the second person waits for the first.
        await door.waitForVisitors(3)
        #expect(phone.transport.state.withLock { $0.underWay } == 3)
        await door.open()
        await phone.store.waitForSaves(4)
        #expect(try await phone.records("Person").count == 2)
        #expect(phone.transport.state.withLock { $0.mostUnderWay } == 3)
    }

    @Test func concurrentSavesOfOneObjectAreSerialized() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let person = phone.addPerson("Anna")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...40 {
                group.addTask {
                    person.edit { $0.age = number }
                    try await phone.mapping.save(person)
                }
            }
            try await group.waitForAll()
        }
        #expect(try await phone.records("Person").count == 1)
        #expect(try await phone.record(person.syncID)["age"] == person.age)
        #expect(phone.transport.state.withLock { $0.mostUnderWay } == 1)
        // Saves that waited while a later state was saved sent nothing.
        let saves = phone.transport.requests.filter { $0 == RecordsModify.path }.count
        #expect(saves < 40)
    }

    @Test func concurrentSavesOfTwoDevicesConverge() async throws {
        let (phone, tablet, anna, copy) = try await MappedDevice.pairWithAnna(in: cloud)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...20 {
                let (object, device) = number.isMultiple(of: 2) ? (anna, phone) : (copy, tablet)
                group.addTask {
                    object.edit { $0.age = number }
                    do {
                        try await device.mapping.save(object)
                    } catch let error as MappingError where error.code == .contended {
                        return
                    }
                }
            }
            try await group.waitForAll()
        }
        for device in [phone, tablet, phone, tablet] { try await device.sync() }
        #expect(anna.age == copy.age)
        #expect(try await phone.record(anna.syncID)["age"] == anna.age)
        #expect(try await phone.records("Person").count == 1)
    }

    @Test func lockedMappingSendsItsChangesOnceUnlocked() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let old = phone.addPerson("Old")
        try await phone.mapping.save(old)
        phone.mapping.isLocked = true
        let before = phone.transport.count
        let person = phone.addPerson("Anna")
        try await phone.run {
            try await person.iCloud.saveAndWait()
            phone.store.memory.remove(old)
            try await old.iCloud.deleteAndWait()
            try await Person.iCloud.sync()
        }
        #expect(phone.transport.count == before)
        phone.mapping.isLocked = false
        try await phone.sync()
        #expect(
            try await phone.records("Person").map { $0["firstName"] as String? } == ["Anna"])
    }

    @Test func ignoredObjectsAreNeitherSavedNorUpdated() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        let draft = phone.addPerson("Draft") { $0.isDraft = true }
        try await phone.mapping.save(draft)
        try await phone.sync(forced: true)
        #expect(try await phone.records("Person").isEmpty)
        // A reference to an ignored object is saved as empty.
        let home = phone.addHome("Lake Road")
        home.edit { $0.owner = draft }
        try await phone.mapping.save(home)
        #expect(try await phone.record(home.syncID).object(forKey: "owner") == nil)

        let anna = phone.addPerson("Anna")
        try await phone.mapping.save(anna)
        try await tablet.sync()
        let copy = try #require(tablet.person("Anna"))
        copy.edit { $0.isDraft = true }
        anna.edit { $0.age = 60 }
        try await phone.mapping.save(anna)
        try await tablet.mapping.delete(copy)
        try await tablet.sync(forced: true)
        #expect(copy.age == 18)
        #expect(try await phone.records("Person").count == 1)
    }

    /// Another device edits the objects that refer to ignored ones, which it does not have.
    @Test func referencesToIgnoredObjectsAreKept() async throws {
        let phone = try await MappedDevice(
            cloud, "phone", ignoring: { ($0 as? Course)?.title == "_" })
        let tablet = try await MappedDevice(cloud, "tablet")
        let draft = phone.addPerson("Draft") { $0.isDraft = true }
        let home = phone.addHome("Lake Road")
        home.edit { $0.owner = draft }
        let courses = ["Ski", "_", "Row"].map { phone.add(Course(CourseFields(title: $0))) }
        let anna = phone.addPerson("Anna") { $0.courses = courses }
        for device in [phone, tablet] { try await device.sync() }
        let copy = try #require(tablet.person("Anna"))
        #expect(copy.courses.map(\.title) == ["Ski", "Row"])
        let other = try #require(tablet.store.memory.objects(Home.self).first)
        copy.edit { $0.age = 41 }
        other.edit { $0.road = "Hill Road" }
        for device in [tablet, phone] { try await device.sync() }
        #expect(anna.age == 41)
        #expect(anna.courses.map(\.title) == ["Ski", "_", "Row"])
        #expect(home.road == "Hill Road")
        #expect(home.owner === draft)
    }

    /// The app edits only the home, so that it is no longer ignored.
    @Test(arguments: [false, true])
    func referenceToAnObjectThatIsNoLongerIgnoredIsSaved(isForced: Bool) async throws {
        let phone = try await MappedDevice(
            cloud, "phone", ignoring: { ($0 as? Home)?.road.hasPrefix("_") ?? false })
        let tablet = try await MappedDevice(cloud, "tablet")
        let home = phone.addHome("_")
        let anna = phone.addPerson("Anna") { $0.home = home }
        for device in [phone, tablet] { try await device.sync() }
        #expect(tablet.person("Anna")?.home === HomeFields.unknown)
        home.edit { $0.road = "Lake Road" }
        for device in [phone, tablet] { try await device.sync(forced: isForced) }
        #expect(anna.home === home)
        #expect(tablet.person("Anna")?.home?.road == "Lake Road")
    }

    /// The setup's condition ignores objects of any type.
    @Test func objectsIgnoredAtSetupAreNotSaved() async throws {
        let phone = try await MappedDevice(
            cloud, "phone",
            ignoring: { entity in
                (entity as? Person)?.firstName.hasPrefix("_") ?? ((entity as? Home)?.road == "_")
            })
        let (hidden, anna) = (phone.addPerson("_x"), phone.addPerson("Anna"))
        let home = phone.addHome("_")
        anna.edit { $0.home = home }
        try await phone.mapping.save(hidden)
        try await phone.mapping.save(anna)
        try await phone.sync(forced: true)
        #expect(
            try await phone.records("Person").map { $0["firstName"] as String? } == ["Anna"])
        #expect(try await phone.records("Home").isEmpty)
        anna.edit { $0.firstName = "_Anna" }
        try await phone.mapping.delete(anna)
        #expect(try await phone.records("Person").count == 1)
    }

    /// One push for a new object, one for an edit, one for a deletion: each one fetches only its own change.
    @Test(arguments: [CKDatabase.Scope.private, .public])
    func pushFetchesOnlyItsOwnChange(scope: CKDatabase.Scope) async throws {
        let phone = try await MappedDevice(cloud, "phone", scope: scope)
        let tablet = try await MappedDevice(cloud, "tablet", scope: scope)
        try await phone.sync()
        try await tablet.sync()
        try await tablet.mapping.subscribe()
        let anna = phone.addPerson("Anna")
        var received: [String] = []
        for await event in tablet.connection.remoteNotifications(container: MappedDevice.container)
        {
            if case .notification(let notification) = event {
                tablet.store.forgetReceived()
                #expect(
                    try await tablet.mapping.handle(remoteNotification: notification.userInfo))
                tablet.store.received.withLock {
                    received.append("\($0.new) \($0.updated) \($0.deleted.count)")
                }
            }
            switch received.count {
            case 0: try await phone.mapping.save(anna)
            case 1:
                anna.edit { $0.age = 8 }
                try await phone.mapping.save(anna)
            case 2:
                #expect(tablet.person("Anna")?.age == 8)
                try await phone.mapping.delete(anna)
            default: break
            }
            if received.count == 3 { break }
        }
        #expect(received == ["1 0 0", "0 1 0", "0 0 1"])
        #expect(tablet.person("Anna") == nil)
        #expect(try await !tablet.mapping.handle(remoteNotification: ["aps": [String: Int]()]))
    }

    /// A device that has synced and then lost its connection; its pauses end when the clock is advanced.
    private func offlinePhone(
        _ clock: TestClock, logger: Logger = Logger(label: "test")
    ) async throws -> MappedDevice {
        var world = World.live
        world.sleep = { try await clock.sleep(seconds: $0) }
        let phone = try await MappedDevice(cloud, "phone", world: world, logger: logger)
        try await phone.sync()
        phone.transport.isOffline = true
        return phone
    }

    @Test func lostConnectionIsFollowedByAFullSync() async throws {
        let clock = TestClock()
        let phone = try await offlinePhone(clock)
        let anna = phone.addPerson("Anna")
        _ = phone.addHome("Lake Road")
        await #expect(throws: CKError.self) { try await phone.mapping.save(anna) }
        #expect(phone.store.received.withLock { $0.failures } == ["Person"])
        await clock.waitForSleeper(seconds: 2.5...5)
        phone.store.forgetReceived()
        phone.transport.isOffline = false
        clock.advance(bySeconds: 5)
        // The mapping retries by itself, and the sync sends the home as well.
        await phone.store.waitForSaves(3)
        #expect(try await phone.record(anna.syncID)["firstName"] == "Anna")
        #expect(try await phone.records("Home").count == 1)
    }

    /// Also if that sync ends with an error that does not pass.
    @Test(arguments: [false, true])
    func saveThatFailsDuringTheSyncOfARecoveryIsFollowedByAnotherSync(
        isRefused: Bool
    ) async throws {
        let clock = TestClock()
        let phone = try await offlinePhone(clock)
        let home = phone.addHome("Lake Road")
        await phone.saveOffline(home, clock)
        let door = Door()
        phone.transport.before(RecordsModify.self) { await door.pass() }
        clock.advance(bySeconds: 5)
        // People are synced before homes.
        await door.waitForVisitors(1)
        phone.transport.before(RecordsModify.self) {}
        phone.transport.isOffline = true
        let anna = phone.addPerson("Anna")
        await #expect(throws: CKError.self) { try await phone.mapping.save(anna) }
        phone.transport.isOffline = false
        if isRefused { cloud.faults.next(of: RecordsModify.self, .answer(.badRequest)) }
        await door.open()
        while phone.mapping.state.withLock({ $0.recovery != nil }) {
            clock.advance(bySeconds: 10)
            await Task.yield()
        }
        #expect(cloud.faults.remaining.isEmpty)
        #expect(try await phone.record(anna.syncID)["firstName"] == "Anna")
        #expect(try await phone.records("Home").count == 1)
    }

    /// No caller gets the error of a sync that the mapping begins by itself.
    @Test func recoveryThatEndsWithAnErrorIsLogged() async throws {
        let clock = TestClock()
        let logs = InMemoryLogHandler()
        let phone = try await offlinePhone(clock, logger: Logger(label: "test") { _ in logs })
        let anna = phone.addPerson("Anna")
        await phone.saveOffline(anna, clock)
        cloud.faults.nextRequests(100, .answer(.badRequest))
        clock.advance(bySeconds: 5)
        while phone.mapping.state.withLock({ $0.recovery != nil }) { await Task.yield() }
        #expect(logs.entries.map(\.level) == [.error])
        cloud.faults.clear()
    }

    private struct Dropped {
        weak let mapping: CloudMapping?
    }

    /// A mapping that failed to save without a network, and that only its recovery still uses.
    private func droppedMapping(_ clock: TestClock) async throws -> Dropped {
        let phone = try await CloudMapping.$isForAllTasks.withValue(false) {
            try await offlinePhone(clock)
        }
        let home = phone.addHome("Lake Road")
        await #expect(throws: CKError.self) { try await phone.mapping.save(home) }
        await clock.waitForSleeper(seconds: 2.5...5)
        return Dropped(mapping: phone.mapping)
    }

    @Test func mappingIsReleasedWhileItsRecoveryWaits() async throws {
        #expect(try await droppedMapping(TestClock()).mapping == nil)
    }

    @Test func linkOfABusyZoneIsSavedByALaterSync() async throws {
        let phone = try await offlinePhone(TestClock())
        phone.mapping.recover(
            from: MappingError(.linkNotSaved, "A home was not saved.", cause: CKError(.zoneBusy)))
        #expect(phone.mapping.state.withLock { $0.recovery != nil })
    }

    @Test func networkThatIsBackIsFollowedByASyncAtOnce() async throws {
        let clock = TestClock()
        let phone = try await offlinePhone(clock)
        let anna = phone.addPerson("Anna")
        await phone.saveOffline(anna, clock)
        // The clock stands still, so the mapping does not try again by itself.
        try await phone.mapping.networkIsBack()
        #expect(try await phone.record(anna.syncID)["firstName"] == "Anna")
    }

    @Test(arguments: [Logger.Level.debug, .info])
    func everyStepIsLoggedForDebugging(level: Logger.Level) async throws {
        let logs = InMemoryLogHandler()
        var logger = Logger(label: "test") { _ in logs }
        logger.logLevel = level
        let phone = try await MappedDevice(cloud, "phone", scope: .public, logger: logger)
        let anna = phone.addPerson("Anna")
        try await phone.mapping.save(anna)
        try await phone.sync()
        try await phone.mapping.delete(anna)
        let messages = Set(logs.entries.map { "\($0.message)" })
        guard level == .debug else {
            #expect(messages.isEmpty)
            return
        }
        #expect(
            messages.isSuperset(of: [
                "device registered", "saved", "compared", "finished", "deleted",
            ]), "\(messages)")
    }

    @Test func fileOfAnotherUserIsRefused() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        _ = phone.addPerson("Anna")
        try await phone.sync()
        let bobs = try await MappedDevice(
            cloud, "phone", user: "bob", store: phone.store, file: phone.file)
        let error = await #expect(throws: MappingError.self) { try await bobs.sync() }
        #expect(error?.code == .otherAccount)
        #expect(try await bobs.records("Person").isEmpty)
    }
}
