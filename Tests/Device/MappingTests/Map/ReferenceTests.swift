import Foundation
import StratusClient
import StratusMapping
import StratusTesting
import Synchronization
import Testing

/// References between objects.
@Suite(.timeLimit(.minutes(20)))
struct ReferenceTests {
    let cloud = TestCloud()

    /// Saves a person with courses and a home that has the person as its owner.
    private func savedCycle(_ phone: MappedDevice) async throws -> Person {
        let home = phone.addHome("Lake Road")
        let courses = (1...3).map { number in
            let course = Course()
            course.edit { $0.title = "Course \(number)" }
            return phone.add(course)
        }
        let person = phone.addPerson("Anna") {
            $0.home = home
            $0.courses = courses
        }
        home.edit { $0.owner = person }
        try await phone.mapping.save(person)
        return person
    }

    @Test func fetchedReferencesCreateMissingObjects() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        let saved = try await savedCycle(phone)
        let person = tablet.add(Person())
        let record = try await phone.record(saved.syncID)
        try await tablet.run {
            _ = try await person.iCloud.update(from: record, fetchReferences: true)
        }
        #expect(person.firstName == "Anna")
        #expect(person.home?.road == "Lake Road")
        #expect(person.courses.map(\.title) == ["Course 1", "Course 2", "Course 3"])
        // The cycle leads back to the same object.
        #expect(person.home?.owner === person)
        #expect(tablet.store.memory.objects(Home.self).count == 1)
        #expect(tablet.store.memory.objects(Course.self).count == 3)
    }

    /// A record never has an empty name, but a faulty service may return one. An ID with it would end the process.
    @Test func referenceWithAnEmptyNameIsNotFollowed() async throws {
        await #expect(processExitsWith: .success) {
            let phone = try await MappedDevice(TestCloud(), "phone")
            let record = CKRecord(recordType: "Home")
            record["road"] = "Lake Road"
            record["owner"] = CKRecord.Reference(
                recordID: CKRecord.ID(known: "", zoneID: record.recordID.zoneID), action: .none)
            let home = try await phone.mapping.update(Home(), from: record, fetchReferences: true)
            try #require(home.road == "Lake Road" && home.owner == nil)
        }
    }

    /// A list that is not a stored property: a save reads it, and a fetch calls its setter.
    final class Club: CloudCreatable, CloudKeyed {
        static let cloudMap = CloudMap<Club>("Club").references(\.courseList, "courses")
        private let state = Mutex((id: String?.none, date: Date?.none, titles: [String]()))
        private let courses = Mutex<[String: Course]>([:])
        init() {}
        var syncID: String? {
            get { state.withLock { $0.id } }
            set { state.withLock { $0.id = newValue } }
        }
        var changeDate: Date? {
            get { state.withLock { $0.date } }
            set { state.withLock { $0.date = newValue } }
        }
        /// The list that the screen shows.
        var titles: [String] { state.withLock { $0.titles } }
        var courseList: [Course] {
            get { courses.withLock { $0.values.sorted { $0.title < $1.title } } }
            set {
                courses.withLock { courses in
                    courses = Dictionary(newValue.map { ($0.title, $0) }) { $1 }
                }
                state.withLock { $0.titles = newValue.map(\.title) }
            }
        }
    }

    @Test func listOfAReferenceHandlerIsReadAndSet() async throws {
        let phone = try await MappedDevice(cloud, "phone", types: [Club.self, Course.self])
        let tablet = try await MappedDevice(cloud, "tablet", types: [Club.self, Course.self])
        let club = Club()
        club.courseList = ["Row", "Ski"].map { Course(CourseFields(title: $0)) }
        try await phone.mapping.save(club)
        let copy = tablet.add(Club())
        try await tablet.run {
            _ = try await copy.iCloud.update(
                from: try await phone.record(club.syncID), fetchReferences: true)
        }
        #expect(copy.titles == ["Row", "Ski"])
        #expect(tablet.store.memory.objects(Course.self).count == 2)
    }

    @Test func referencesStayUnloadedUnlessAskedFor() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        let saved = try await savedCycle(phone)
        let person = tablet.add(Person())
        try await tablet.mapping.update(person, from: try await phone.record(saved.syncID))
        #expect(person.firstName == "Anna")
        #expect(tablet.store.memory.objects(Course.self).isEmpty)
        #expect(tablet.transport.count == 0)
        // Until it is loaded the reference has its placeholder.
        #expect(person.home === HomeFields.unknown)
    }

    @Test func placeholderFillsAnEmptyReferenceAndIsNotSaved() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        let saved = phone.addPerson("Anna")
        try await phone.mapping.save(saved)
        try await tablet.sync()
        let person = try #require(tablet.person("Anna"))
        #expect(person.home === HomeFields.unknown)
        person.edit { $0.age = 5 }
        try await tablet.mapping.save(person)
        #expect(try await phone.record(saved.syncID).object(forKey: "address") == nil)
        #expect(try await tablet.records("Home").isEmpty)
    }

    @Test func filledReferencesAreReportedAsChanges() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        let saved = try await savedCycle(phone)
        let changes = tablet.mapping.changes()
        try await tablet.sync()
        var received: [String] = []
        for await change in changes {
            received.append(change.syncID)
            // One change for the fields, one for the references.
            if received.filter({ $0 == saved.syncID }).count == 2 { break }
        }
        #expect(tablet.person("Anna")?.home?.road == "Lake Road")
    }

    @Test func objectWithWeakReferenceIsDeletedWithItsTarget() async throws {
        for scope in [CKDatabase.Scope.private, .public] {
            let cloud = TestCloud()
            let phone = try await MappedDevice(cloud, "phone", scope: scope)
            let tablet = try await MappedDevice(cloud, "tablet", scope: scope)
            let course = phone.add(Course())
            course.edit { $0.title = "Ski" }
            let ticket = phone.add(Ticket())
            ticket.edit {
                $0.number = 7
                $0.course = course
            }
            try await phone.mapping.save(ticket)
            try await tablet.sync()
            #expect(tablet.store.memory.objects(Ticket.self).first?.course?.title == "Ski")
            phone.store.memory.remove(course)
            try await phone.mapping.delete(course)
            #expect(try await phone.records("Ticket").isEmpty)
            for device in [phone, tablet] {
                try await device.sync()
                #expect(device.store.memory.objects(Ticket.self).isEmpty, "\(scope) \(device.name)")
                #expect(device.store.memory.objects(Course.self).isEmpty, "\(scope) \(device.name)")
            }
        }
    }

    /// The phone does not know yet that the course was deleted, and it syncs tickets before courses.
    @Test(arguments: [CKDatabase.Scope.private, .public])
    func newReferenceToADeletedObjectIsSavedAsEmpty(scope: CKDatabase.Scope) async throws {
        let types: [any CloudEntity.Type] = [Ticket.self, Course.self]
        let phone = try await MappedDevice(cloud, "phone", scope: scope, types: types)
        let tablet = try await MappedDevice(cloud, "tablet", scope: scope, types: types)
        let course = tablet.add(Course(CourseFields(title: "Ski")))
        for device in [tablet, phone] { try await device.sync() }
        tablet.store.memory.remove(course)
        try await tablet.mapping.delete(course)
        let ticket = phone.add(
            Ticket(
                TicketFields(
                    number: 7, course: phone.store.memory.objects(Course.self).first)))
        try await phone.sync()
        #expect(phone.store.memory.objects(Course.self).isEmpty)
        let record = try await phone.record(ticket.syncID)
        #expect(record["number"] == 7)
        #expect(record.object(forKey: "course") == nil)
    }

    @Test func deletedTargetLeavesReferenceEmpty() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        let saved = try await savedCycle(phone)
        try await tablet.sync()
        let home = try #require(saved.home)
        phone.store.memory.remove(home)
        try await phone.mapping.delete(home)
        // The holder is saved without restoring the home to which it still refers.
        saved.edit { $0.age = 90 }
        try await phone.mapping.save(saved)
        try await tablet.sync()
        #expect(tablet.store.memory.objects(Home.self).isEmpty)
        #expect(tablet.person("Anna")?.age == 90)
        #expect(tablet.person("Anna")?.home === HomeFields.unknown)
        #expect(try await phone.records("Home").isEmpty)
    }
}
