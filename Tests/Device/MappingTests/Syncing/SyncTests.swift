import Foundation
import StratusClient
import StratusMapping
import StratusTesting
import StratusWire
import Testing

/// Normal and forced syncs, and the callbacks that the store gets.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct SyncTests {
    static let scopes = [CKDatabase.Scope.private, .public]
    let cloud = TestCloud()

    @Test(arguments: scopes)
    func newUpdatedAndDeletedObjectsReachTheOtherDevice(scope: CKDatabase.Scope) async throws {
        let phone = try await MappedDevice(cloud, "phone", scope: scope)
        let tablet = try await MappedDevice(cloud, "tablet", scope: scope)
        try await tablet.sync()
        let anna = phone.addPerson("Anna")
        let bea = phone.addPerson("Bea")
        try await phone.mapping.save(anna)
        try await phone.mapping.save(bea)
        try await tablet.sync()
        #expect(tablet.store.received.withLock { $0.new } == 2)
        anna.edit { $0.age = 55 }
        try await phone.mapping.save(anna)
        try await phone.mapping.delete(bea)
        tablet.store.forgetReceived()
        try await tablet.sync()
        let received = tablet.store.received.withLock { $0 }
        #expect(received.new == 0)
        #expect(received.updated == 1)
        #expect(received.deleted == ["Person \(bea.syncID ?? "")"])
        #expect(tablet.person("Anna")?.age == 55)
        #expect(tablet.person("Bea") == nil)
        // No change is reported twice.
        tablet.store.forgetReceived()
        try await tablet.sync()
        #expect(tablet.store.received.withLock { $0.new + $0.updated + $0.deleted.count } == 0)
    }

    /// The sync has already fetched the record when the object is deleted.
    @Test(arguments: scopes)
    func objectDeletedDuringASyncStaysDeleted(scope: CKDatabase.Scope) async throws {
        let (phone, tablet, anna) = try await pairWithEdit(scope)
        tablet.store.hooks.withLock { hooks in
            hooks.didFinish = {
                tablet.store.hooks.withLock { $0.didFinish = nil }
                tablet.store.memory.remove(anna)
                try await tablet.mapping.delete(anna)
            }
        }
        try await tablet.sync()
        #expect(tablet.person("Anna") == nil)
        try await tablet.sync()
        try await phone.sync()
        #expect(tablet.person("Anna") == nil)
        #expect(phone.person("Anna") == nil)
        #expect(try await phone.records("Person").isEmpty)
        // The mapping remembers the deletion: a save of the object is refused.
        let error = await #expect(throws: MappingError.self) { try await tablet.mapping.save(anna) }
        #expect(error?.code == .deleted)
    }

    /// The app has removed its object, and a sync creates it again from the record before the app requests the
    /// deletion.
    @Test(arguments: scopes)
    func objectRecreatedByASyncIsRemovedByItsDeletion(scope: CKDatabase.Scope) async throws {
        let (_, tablet, anna) = try await pairWithEdit(scope)
        tablet.store.memory.remove(anna)
        try await tablet.sync()
        #expect(tablet.person("Anna")?.age == 55)
        // A dry run in between does not matter.
        _ = try await tablet.mapping.plan()
        try await tablet.mapping.delete(anna)
        #expect(tablet.person("Anna") == nil)
    }

    /// The tablet has Anna's record, and the phone has edited it since.
    private func pairWithEdit(
        _ scope: CKDatabase.Scope
    ) async throws -> (phone: MappedDevice, tablet: MappedDevice, anna: Person) {
        let phone = try await MappedDevice(cloud, "phone", scope: scope)
        let tablet = try await MappedDevice(cloud, "tablet", scope: scope)
        // In a public database a device learns only of deletions after its first sync.
        try await tablet.sync()
        let saved = phone.addPerson("Anna")
        try await phone.mapping.save(saved)
        try await tablet.sync()
        saved.edit { $0.age = 55 }
        try await phone.mapping.save(saved)
        return (phone, tablet, try #require(tablet.person("Anna")))
    }

    /// The phone has saved Anna.
    private func pairWithAnna(
        _ scope: CKDatabase.Scope
    ) async throws -> (phone: MappedDevice, tablet: MappedDevice, anna: Person) {
        let (phone, tablet, anna) = try await MappedDevice.pairWithUnsavedAnna(
            in: cloud, scope: scope)
        try await phone.sync()
        return (phone, tablet, anna)
    }

    @Test(arguments: scopes)
    func unsavedEditsAreSentByTheNextSync(scope: CKDatabase.Scope) async throws {
        let (phone, tablet, anna) = try await pairWithAnna(scope)
        #expect(try await phone.record(anna.syncID)["firstName"] == "Anna")
        anna.edit { $0.age = 3 }
        try await phone.sync()
        try await tablet.sync()
        #expect(tablet.person("Anna")?.age == 3)
    }

    @Test(arguments: scopes)
    func newestChangeDateWinsInEitherOrder(scope: CKDatabase.Scope) async throws {
        for isLaterSyncedFirst in [true, false] {
            let cloud = TestCloud()
            let clock = TestClock()
            let (phone, tablet, anna) = try await MappedDevice.pairWithUnsavedAnna(
                in: cloud, scope: scope)
            try await phone.sync()
            try await tablet.sync()
            let copy = try #require(tablet.person("Anna"))
            anna.edit { $0.age = 1 }
            anna.changeDate = clock.now.addingTimeInterval(4e8)
            copy.edit { $0.age = 2 }
            copy.changeDate = clock.now.addingTimeInterval(5e8)
            for device in isLaterSyncedFirst ? [tablet, phone] : [phone, tablet] {
                try await device.sync()
            }
            for device in [phone, tablet, phone] { try await device.sync() }
            #expect(anna.age == 2)
            #expect(copy.age == 2)
            #expect(try await phone.record(anna.syncID)["age"] == 2)
        }
    }

    @Test(arguments: scopes)
    func normalSyncFetchesOnlyChanges(scope: CKDatabase.Scope) async throws {
        let clock = TestClock()
        let cloud = TestCloud(clock: clock)
        let phone = try await MappedDevice(cloud, "phone", scope: scope)
        let tablet = try await MappedDevice(cloud, "tablet", scope: scope)
        for number in 1...30 { _ = phone.addPerson("P\(number)") }
        try await phone.sync()
        try await tablet.sync()
        #expect(tablet.store.memory.objects(Person.self).count == 30)
        // A query starts one minute before the newest record of the last query.
        clock.advance(bySeconds: 3_600)
        let bea = phone.addPerson("Bea")
        try await phone.mapping.save(bea)
        try await tablet.sync()
        // After a restart the device continues from there.
        let again = try await tablet.restarted()
        again.store.forgetReceived()
        try await again.mapping.syncEntities(specific: [Person.self])
        #expect(again.store.received.withLock { $0.new + $0.updated } == 0)
        #expect(again.transport.receivedRecords <= 1)
        let first = try #require(phone.person("P1"))
        first.edit { $0.age = 77 }
        try await phone.mapping.save(first)
        try await again.mapping.syncEntities(specific: [Person.self])
        let received = again.store.received.withLock { $0 }
        #expect(received.new == 0)
        #expect(received.updated == 1)
        #expect(again.person("P1")?.age == 77)
        #expect((1...3).contains(again.transport.receivedRecords))
        // Unchanged objects are not sent.
        #expect(!again.transport.requests.contains(RecordsLookup.path))
        #expect(!again.transport.requests.contains(RecordsModify.path) || scope == .public)
    }

    /// The service refuses a fetch without a change token too, as if a token had expired.
    @Test func refusalOfAFetchFromTheBeginningIsNotRepeated() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        _ = phone.addPerson("Anna")
        try await phone.sync()
        cloud.faults(on: "phone").next(
            3, of: ChangesZone.self,
            .answer(.badRequest, frameworkCode: .changeTokenExpired))
        let error = await #expect(throws: CKError.self) { try await phone.sync() }
        #expect(error?.code == .changeTokenExpired)
    }

    @Test(arguments: scopes)
    func forcedSyncRepairsBothSides(scope: CKDatabase.Scope) async throws {
        let phone = try await MappedDevice(cloud, "phone", scope: scope)
        let tablet = try await MappedDevice(cloud, "tablet", scope: scope)
        for name in ["Anna", "Bea", "Cleo"] { _ = phone.addPerson(name) }
        try await phone.sync()
        try await tablet.sync()
        // The tablet lost an object, another one changed without a new date, and a record was altered at the service.
        let lost = try #require(tablet.person("Anna"))
        tablet.store.memory.remove(lost)
        let spoilt = try #require(tablet.person("Bea"))
        spoilt.age = -1
        let record = try await phone.record(phone.person("Cleo")?.syncID)
        record["age"] = 99
        record["changeDate"] = Date(timeIntervalSince1970: 0)
        _ = try await phone.database.save(record)
        try await tablet.sync()
        #expect(tablet.person("Anna") == nil)
        #expect(tablet.person("Bea")?.age == -1)
        let cleo = try #require(tablet.person("Cleo"))
        cleo.edit { $0.age = 18 }
        try await tablet.sync(forced: true)
        #expect(tablet.person("Anna")?.age == 18)
        #expect(tablet.person("Bea")?.age == 18)
        #expect(try await phone.record(cleo.syncID)["age"] == 18)
    }

    @Test func unfinishedSyncSendsNothing() async throws {
        let phone = try await MappedDevice(cloud, "phone", scope: .public)
        let tablet = try await MappedDevice(cloud, "tablet", scope: .public)
        let anna = phone.addPerson("Anna")
        try await phone.sync()
        try await tablet.sync()
        let bea = tablet.addPerson("Bea")
        try await phone.mapping.delete(anna)
        #expect(try await phone.records("DeleteQueue").count == 1)
        tablet.store.finishes.withLock { $0 = false }
        for _ in 1...2 {
            tablet.store.forgetReceived()
            try await tablet.sync()
            // The deletion is reported again until the sync is finished.
            #expect(tablet.store.received.withLock { $0.deleted.count } == 1)
            #expect(try await phone.records("DeleteQueue").count == 1)
            await #expect(throws: CKError.self) { try await tablet.record(bea.syncID) }
        }
        tablet.store.finishes.withLock { $0 = true }
        try await tablet.sync()
        #expect(tablet.person("Anna") == nil)
        #expect(try await phone.records("DeleteQueue").isEmpty)
        #expect(try await tablet.record(bea.syncID)["firstName"] == "Bea")
    }

    @Test func deletionQueueHasAnEntryForEachOtherDevice() async throws {
        let phone = try await MappedDevice(cloud, "phone", scope: .public)
        let tablet = try await MappedDevice(cloud, "tablet", scope: .public)
        let watch = try await MappedDevice(cloud, "watch", scope: .public)
        let anna = phone.addPerson("Anna")
        for device in [phone, tablet, watch] { try await device.sync() }
        #expect(
            Set(try await phone.records("Device").compactMap { $0["deviceId"] as String? })
                == ["phone", "tablet", "watch"])
        try await phone.mapping.delete(anna)
        func devices() async throws -> [String] {
            try await phone.records("DeleteQueue").compactMap { $0["device"] as String? }.sorted()
        }
        #expect(try await devices() == ["tablet", "watch"])
        try await tablet.sync()
        #expect(tablet.person("Anna") == nil)
        #expect(try await devices() == ["watch"])
        try await watch.sync()
        #expect(watch.person("Anna") == nil)
        #expect(try await devices().isEmpty)
    }

    @Test func deviceIDOfTheSetupNamesTheDevice() async throws {
        let phone = try await MappedDevice(cloud, "phone", scope: .public, deviceID: "hardware-7")
        let tablet = try await MappedDevice(cloud, "tablet", scope: .public)
        let anna = tablet.addPerson("Anna")
        for device in [tablet, phone] { try await device.sync() }
        #expect(
            Set(try await phone.records("Device").compactMap { $0["deviceId"] as String? })
                == ["hardware-7", "tablet"])
        try await tablet.mapping.delete(anna)
        #expect(
            try await phone.records("DeleteQueue").map { $0["device"] as String? } == ["hardware-7"]
        )
        try await phone.sync()
        #expect(phone.person("Anna") == nil)
    }

    @Test(arguments: scopes)
    func deletionWithoutConnectionIsDoneLater(scope: CKDatabase.Scope) async throws {
        let (phone, tablet, anna) = try await pairWithAnna(scope)
        try await tablet.sync()
        phone.transport.isOffline = true
        phone.store.memory.remove(anna)
        await #expect(throws: CKError.self) { try await phone.mapping.delete(anna) }
        phone.transport.isOffline = false
        let again = try await phone.restarted()
        try await again.sync()
        #expect(again.person("Anna") == nil)
        try await tablet.sync()
        #expect(tablet.person("Anna") == nil)
    }

    @Test func dryRunReportsPlannedChanges() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        let gone = phone.addPerson("Gone")
        try await phone.sync()
        try await tablet.sync()
        try await phone.mapping.delete(gone)
        _ = phone.addPerson("Anna")
        try await phone.sync()
        let bea = tablet.addPerson("Bea")
        let before = try await tablet.records("Person").count
        let plan = try await tablet.mapping.plan(specific: [Person.self], forced: true)
        #expect(
            plan.description
                == "Person: here create 1, update 0, remove 1; there save 1, delete 0")
        #expect(try await tablet.records("Person").count == before)
        #expect(tablet.person("Gone") != nil)
        #expect(tablet.person("Anna") == nil)
        #expect(bea.syncID == nil)
        try await tablet.sync()
        #expect(tablet.person("Gone") == nil)
        #expect(try await tablet.records("Person").count == 2)
    }

    @Test func forcedSyncSendsEverythingToADeletedZone() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let anna = phone.addPerson("Anna")
        try await phone.sync()
        _ = try await phone.database.deleteRecordZone(
            withID: CKRecordZone.ID(zoneName: "Objects"))
        await #expect(throws: CKError.self) { try await phone.sync() }
        #expect(phone.person("Anna") === anna)
        try await phone.sync(forced: true)
        #expect(phone.person("Anna") === anna)
        #expect(try await phone.record(anna.syncID)["firstName"] == "Anna")
    }

    /// A link of an earlier type is saved before its own type is compared: it must not count as deleted.
    @Test(arguments: scopes)
    func referencedObjectsSavedDuringASyncStay(scope: CKDatabase.Scope) async throws {
        let phone = try await MappedDevice(cloud, "phone", scope: scope)
        let home = phone.addHome("Lake Road")
        _ = phone.addPerson("Anna") { $0.home = home }
        for isForced in [false, true] {
            try await phone.sync(forced: isForced)
            #expect(phone.store.memory.objects(Home.self).map { $0 === home } == [true])
            home.edit { $0.road += "!" }
        }
        #expect(phone.store.received.withLock { $0.deleted }.isEmpty)
    }

    /// The service refuses people whose first name is a text, because the field holds numbers there.
    @Test func refusedObjectDoesNotKeepOtherTypesFromSyncing() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        _ = tablet.addHome("Hill Road")
        try await tablet.sync()
        let zoneID = CKRecordZone.ID(zoneName: "Objects")
        let other = CKRecord(
            recordType: "Person", recordID: CKRecord.ID(recordName: "other", zoneID: zoneID))
        other["firstName"] = 7
        _ = try await tablet.database.save(other)
        _ = phone.addPerson("Anna")
        let home = phone.addHome("Lake Road")
        await #expect(throws: CKError.self) { try await phone.sync() }
        #expect(phone.store.received.withLock { $0.failures } == ["Person"])
        #expect(phone.store.memory.objects(Home.self).count == 2)
        #expect(try await tablet.record(home.syncID)["road"] == "Lake Road")
    }

    /// The phone saves its home as a link of Anna, after it has fetched the tablet's older edit of the home.
    @Test func olderRecordOfAnObjectSavedDuringASyncIsNotApplied() async throws {
        let (phone, tablet, anna, home, copy) = try await MappedDevice.pairWithHome(in: cloud)
        copy.edit { $0.road = "Old Road" }
        copy.changeDate = TestClock().now.addingTimeInterval(4e8)
        try await tablet.mapping.save(copy)
        home.edit { $0.road = "New Road" }
        home.changeDate = TestClock().now.addingTimeInterval(5e8)
        anna.edit { $0.age = 20 }
        try await phone.sync()
        #expect(home.road == "New Road")
        for device in [tablet, phone] { try await device.sync() }
        #expect(copy.road == "New Road")
        #expect(home.road == "New Road")
    }

    @Test func singleTypeIsSynced() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        _ = phone.addPerson("Anna")
        _ = phone.addHome("Lake Road")
        try await phone.sync()
        try await tablet.run { try await Home.iCloud.sync() }
        #expect(tablet.store.memory.objects(Home.self).count == 1)
        #expect(tablet.person("Anna") == nil)
        try await tablet.run { try await Person.iCloud.sync(forced: true) }
        #expect(tablet.person("Anna") != nil)
    }
}
