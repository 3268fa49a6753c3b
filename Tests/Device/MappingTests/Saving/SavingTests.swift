import Foundation
import StratusClient
import StratusMapping
import StratusRuntime
import StratusService
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// `iCloud.save()` and the calls around it.
@Suite(.timeLimit(.minutes(20)))
struct SavingTests {
    let cloud = TestCloud()

    @Test func savedObjectHasItsFieldsInTheRecord() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let person = phone.addPerson("Anna") {
            $0.lastName = "Berg"
            $0.age = 41
            $0.rank = .keeper
            $0.tags = ["a", "b"]
        }
        try await phone.run { try await person.iCloud.saveAndWait() }
        let record = try await phone.record(person.syncID)
        #expect(record.recordType == "Person")
        #expect(record["firstName"] == "Anna")
        #expect(record["lastName"] == "Berg")
        #expect(record["age"] == 41)
        #expect(record["rank"] == "keeper")
        #expect(record["tags"] == ["a", "b"])
    }

    @Test func recordNameIsWrittenBackIntoTheObject() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let person = phone.addPerson("Anna")
        #expect(person.syncID == nil)
        await phone.run { person.iCloud.save() }
        await phone.store.waitForSaves(1)
        let name = try #require(person.syncID)
        #expect(try await phone.record(name)["firstName"] == "Anna")
        #expect(phone.store.received.withLock { $0.saved } == ["Person"])
    }

    @Test func savedEditChangesTheSameRecordAndClearsFields() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let person = phone.addPerson("Anna") { $0.lastName = "Berg" }
        try await phone.run {
            try await person.iCloud.saveAndWait()
            let name = person.syncID
            person.edit { $0.lastName = nil }
            try await person.iCloud.saveAndWait()
            #expect(person.syncID == name)
        }
        let record = try await phone.record(person.syncID)
        #expect(record.object(forKey: "lastName") == nil)
        #expect(record["firstName"] == "Anna")
    }

    /// The service takes fewer records in a request than were edited since the last sync.
    @Test func moreEditsThanARequestMayHaveAreSaved() async throws {
        let settings = ServiceSettings(
            isForDevelopment: true, limits: .with { $0.operationsPerRequest = 2 })
        let phone = try await MappedDevice(TestCloud(settings: settings), "phone")
        let people = (1...5).map { phone.addPerson("P\($0)") }
        try await phone.sync()
        for person in people { person.edit { $0.age = 7 } }
        try await phone.sync()
        for person in people {
            #expect(try await phone.record(person.syncID)["age"] == 7)
        }
    }

    @Test func referencedObjectsAreSavedWithTheObject() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let home = phone.addHome("Lake Road")
        let courses = ["Ski", "Row"].map { title in
            let course = Course()
            course.edit { $0.title = title }
            return phone.add(course)
        }
        let person = phone.addPerson("Anna") {
            $0.home = home
            $0.courses = courses
        }
        home.edit { $0.owner = person }
        try await phone.run { try await person.iCloud.saveAndWait() }
        let record = try await phone.record(person.syncID)
        let address: CKRecord.Reference? = record["address"]
        #expect(address?.recordID.recordName == home.syncID)
        #expect(address?.action == CKRecord.ReferenceAction.none)
        let list: [CKRecord.Reference]? = record["courses"]
        #expect(list?.map(\.recordID.recordName) == courses.map(\.syncID))
        #expect(list?.allSatisfy { $0.action == .deleteSelf } == true)
        let owner: CKRecord.Reference? = try await phone.record(home.syncID)["owner"]
        #expect(owner?.recordID.recordName == person.syncID)
        #expect(try await phone.record(courses[1].syncID)["title"] == "Row")
    }

    @Test func fifteenRapidSavesMakeOneRecord() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let person = phone.addPerson("Anna")
        await phone.run {
            for number in 1...15 {
                person.edit { $0.age = number }
                person.iCloud.save()
            }
        }
        try await phone.run { try await person.iCloud.saveAndWait() }
        #expect(try await phone.records("Person").count == 1)
        #expect(try await phone.record(person.syncID)["age"] == 15)
        #expect(phone.transport.state.withLock { $0.mostUnderWay } == 1)
    }

    /// The record was saved, but the phone does not know.
    @Test(arguments: [CKDatabase.Scope.private, .public])
    func saveWhoseAnswerWasLostMakesOneRecord(scope: CKDatabase.Scope) async throws {
        let phone = try await MappedDevice(cloud, "phone", scope: scope)
        try await phone.sync()
        let person = phone.addPerson("Anna")
        cloud.faults.next(of: RecordsModify.self, .dropConnectionAfterCommit)
        await #expect(throws: CKError.self) { try await phone.mapping.save(person) }
        #expect(cloud.faults.remaining.isEmpty)
        person.edit { $0.age = 4 }
        try await phone.mapping.save(person)
        #expect(try await phone.records("Person").map { $0["age"] as Int? } == [4])
    }

    /// Three objects of each of five types.
    @Test func fifteenNewObjectsMakeFifteenRecords() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        for number in 1...3 {
            let objects: [any CloudKeyed] = [
                phone.addPerson("P\(number)"), phone.addHome("H\(number)"),
                phone.add(Course(CourseFields(title: "C\(number)"))),
                phone.add(Ticket(TicketFields(number: number))),
            ]
            await phone.run {
                for object in objects { Self.save(object) }
                phone.add(Tool()).iCloud.save()
            }
        }
        await phone.store.waitForSaves(15)
        for type in ["Person", "Home", "Course", "Ticket", "Tool"] {
            #expect(try await phone.records(type).count == 3, "\(type)")
        }
    }

    private static func save<E: CloudEntity>(_ entity: E) { entity.iCloud.save() }

    @Test func saveKeysSavesOnlyTheGivenFields() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let person = phone.addPerson("Anna") { $0.age = 30 }
        try await phone.run {
            try await person.iCloud.saveAndWait()
            person.edit {
                $0.firstName = "Hanna"
                $0.age = 31
            }
            try await person.iCloud.saveKeysAndWait(\.age)
        }
        let record = try await phone.record(person.syncID)
        #expect(record["firstName"] == "Anna")
        #expect(record["age"] == 31)
        // The other edits are not lost: the next sync sends them.
        try await phone.sync()
        #expect(try await phone.record(person.syncID)["firstName"] == "Hanna")
    }

    /// The record has the date of the edit, but not all of it.
    @Test func forcedSyncSendsWhatSaveKeysLeftOut() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let person = phone.addPerson("Anna") { $0.age = 30 }
        try await phone.mapping.save(person)
        person.edit {
            $0.firstName = "Hanna"
            $0.age = 31
        }
        try await phone.mapping.save(person, keys: [\.age])
        try await phone.sync(forced: true)
        #expect(person.firstName == "Hanna")
        #expect(try await phone.record(person.syncID)["firstName"] == "Hanna")
    }

    /// The tablet's sync has fetched an earlier record when the app saves one of two edited properties.
    @Test func saveKeysDuringASyncLosesNoEditOfOtherProperties() async throws {
        let (phone, tablet, anna, copy) = try await MappedDevice.pairWithAnna(in: cloud)
        anna.edit { $0.age = 55 }
        try await phone.mapping.save(anna)
        tablet.store.hooks.withLock { hooks in
            hooks.didFinish = {
                tablet.store.hooks.withLock { $0.didFinish = nil }
                copy.edit {
                    $0.firstName = "Hanna"
                    $0.lastName = "Berg"
                }
                copy.changeDate = copy.changeDate?.addingTimeInterval(60)
                try await tablet.mapping.save(copy, keys: [\.firstName])
            }
        }
        for _ in 1...2 { try await tablet.sync() }
        #expect(copy.lastName == "Berg")
        #expect(try await phone.record(copy.syncID)["lastName"] == "Berg")
    }

    /// The tablet has edited another property later: the phone applies that edit and keeps the saved property.
    @Test func saveKeysDoesNotOverwriteALaterEditOfOtherProperties() async throws {
        let (phone, tablet, anna, copy) = try await MappedDevice.pairWithAnna(in: cloud)
        copy.edit { $0.age = 41 }
        copy.changeDate = TestClock().now.addingTimeInterval(5e8)
        try await tablet.mapping.save(copy)
        anna.edit { $0.lastName = "Berg" }
        anna.changeDate = TestClock().now.addingTimeInterval(4e8)
        try await phone.mapping.save(anna, keys: [\.lastName])
        for device in [phone, tablet] { try await device.sync() }
        for person in [anna, copy] {
            #expect(person.age == 41)
            #expect(person.lastName == "Berg")
        }
        #expect(try await phone.record(anna.syncID)["age"] == 41)
    }

    /// A world in which a test can wait for the calls without waiting.
    private final class Calls: Sendable {
        private let tasks = Mutex<[Task<Void, Never>]>([])

        var world: World {
            var world = World.live
            let start = world.startTask
            world.startTask = { name, work in
                let task = start(name, work)
                if name == "mapping call" { self.tasks.withLock { $0.append(task) } }
                return task
            }
            return world
        }

        func wait() async {
            for task in tasks.withLock({ $0 }) { await task.value }
        }
    }

    @Test func callsWithoutWaitingAreCarriedOut() async throws {
        let calls = Calls()
        let phone = try await MappedDevice(cloud, "phone", world: calls.world)
        let anna = phone.addPerson("Anna")
        let bea = phone.addPerson("Bea")
        for person in [anna, bea] { try await phone.mapping.save(person) }
        bea.edit {
            $0.firstName = "Beatrice"
            $0.age = 31
        }
        await phone.run {
            anna.iCloud.delete()
            bea.iCloud.saveKeys(\.age)
        }
        await calls.wait()
        let records = try await phone.records("Person")
        #expect(records.map { $0["firstName"] as String? } == ["Bea"])
        #expect(records.first?["age"] == 31)
    }

    /// Also when the deletion overtakes the save.
    @Test func objectDeletedWhileItIsSavedStaysDeleted() async throws {
        let calls = Calls()
        let phone = try await MappedDevice(cloud, "phone", world: calls.world)
        for number in 1...10 {
            let person = phone.addPerson("P\(number)")
            await phone.run {
                person.iCloud.save()
                phone.store.memory.remove(person)
                person.iCloud.delete()
            }
        }
        await calls.wait()
        #expect(try await phone.records("Person").isEmpty)
        try await phone.sync(forced: true)
        #expect(phone.store.memory.objects(Person.self).isEmpty)
        #expect(try await phone.records("Person").isEmpty)
    }

    /// An object that refers to one that was deleted before its first save is saved without the reference.
    @Test func objectDeletedBeforeItsFirstSaveIsNotSavedAsReference() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let home = phone.addHome("Lake Road")
        let anna = phone.addPerson("Anna") { $0.home = home }
        phone.store.memory.remove(home)
        try await phone.mapping.delete(home)
        try await phone.mapping.save(anna)
        #expect(try await phone.records("Home").isEmpty)
        #expect(try await phone.record(anna.syncID).object(forKey: "address") == nil)
    }

    /// The other device has edited the referenced object later.
    @Test func olderReferencedObjectDoesNotOverwriteNewerEdit() async throws {
        let (phone, tablet, anna, home, copy) = try await MappedDevice.pairWithHome(in: cloud)
        home.edit { $0.road = "Old Road" }
        home.changeDate = TestClock().now.addingTimeInterval(4e8)
        copy.edit { $0.road = "New Road" }
        copy.changeDate = TestClock().now.addingTimeInterval(5e8)
        try await tablet.mapping.save(copy)
        anna.edit { $0.age = 20 }
        try await phone.mapping.save(anna)
        #expect(try await phone.record(home.syncID)["road"] == "New Road")
        try await phone.sync()
        #expect(home.road == "New Road")
    }

    /// A link that cannot be saved is thrown as an error; the object itself is saved, and the store is notified.
    @Test func failedSaveOfReferencedObjectIsThrown() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        try await phone.mapping.save(phone.addPerson("Bea"))
        let other = CKRecord(
            recordType: "Home",
            recordID: CKRecord.ID(
                recordName: "other", zoneID: CKRecordZone.ID(zoneName: "Objects")))
        other["road"] = 7
        _ = try await phone.database.save(other)
        phone.store.forgetReceived()
        let home = phone.addHome("Lake Road")
        let anna = phone.addPerson("Anna") { $0.home = home }
        let error = await #expect(throws: MappingError.self) {
            try await phone.run { try await anna.iCloud.saveAndWait() }
        }
        #expect(error?.code == .linkNotSaved)
        #expect(error?.cause is CKError)
        let received = phone.store.received.withLock { $0 }
        #expect(received.saved == ["Person"])
        #expect(received.failures == ["Home"])
        #expect(try await phone.record(anna.syncID)["firstName"] == "Anna")
        await #expect(throws: CKError.self) { try await phone.record(home.syncID) }
    }

    /// The mapping's calls, with an object or a type, do the same as those of `iCloud`.
    @Test func callsOnTheMappingEqualCallsOnTheObject() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        let (anna, bea) = (phone.addPerson("Anna"), phone.addPerson("Bea"))
        try await phone.mapping.save(anna)
        anna.edit {
            $0.firstName = "Hanna"
            $0.age = 9
        }
        try await phone.mapping.save(anna, keys: [\.age])
        let record = try await phone.record(anna.syncID)
        #expect(record["firstName"] == "Anna")
        #expect(record["age"] == 9)
        let copy = try await tablet.mapping.update(tablet.add(Person()), from: record)
        #expect(copy.age == 9)
        try await phone.mapping.syncEntities(specific: [Person.self], forced: true)
        #expect(try await phone.record(bea.syncID)["firstName"] == "Bea")
        try await phone.mapping.delete(bea)
        #expect(try await phone.records("Person").map(\.recordID.recordName) == [anna.syncID])
    }

    @Test func recordOfDeletedObjectIsDeleted() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let person = phone.addPerson("Anna")
        try await phone.run {
            try await person.iCloud.saveAndWait()
            try await person.iCloud.deleteAndWait()
        }
        #expect(try await phone.records("Person").isEmpty)
        await #expect(throws: MappingError.self) {
            try await phone.mapping.save(person)
        }
        #expect(try await phone.records("Person").isEmpty)
    }
}
