import Foundation
import StratusClient
import StratusMapping
import StratusTesting
import StratusWire
import Testing

/// What `iCloud.save()` and its neighbours do.
@Suite(.timeLimit(.minutes(5)))
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
        #expect(phone.store.heard.withLock { $0.saved } == ["Person"])
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

    @Test func saveKeysSavesTheseFieldsAlone() async throws {
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
        // The rest is not forgotten: the next sync brings it.
        try await phone.sync()
        #expect(try await phone.record(person.syncID)["firstName"] == "Hanna")
    }

    @Test func deletedObjectsRecordGoes() async throws {
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
