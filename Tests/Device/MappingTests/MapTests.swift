import Foundation
import InMemoryLogging
import Logging
import StratusClient
import StratusMapping
import StratusSchema
import StratusTesting
import Testing

/// Maps: what they do to fields, and what is wrong with them at setup.
@Suite(.timeLimit(.minutes(5)))
struct MapTests {
    let cloud = TestCloud()

    struct Nameless: CloudEntity {
        static let cloudMap = CloudMap<Nameless>("9lives").field(\.text, "a b").field(\.text, "a b")
        var text = ""
    }

    struct Twin: CloudKeyed {
        static let cloudMap = CloudMap<Twin>("Person").reference(\.lost, to: Nameless.self, "lost")
        var syncID: String?
        var changeDate: Date?
        var lost: String?
    }

    struct Hollow: CloudKeyed {
        static let cloudMap = CloudMap<Hollow>("DeleteQueue")
        var syncID: String?
        var changeDate: Date?
    }

    /// A row of a table, whose keys are those of the protocol but for one.
    struct Row: CloudKeyed {
        static let cloudMap = CloudMap<Row>("Row").syncID(\.rowName).field(\.text, "text")
        var syncID: String? = "not this"
        var rowName: String? = UUID().uuidString
        var changeDate: Date?
        var text = ""
    }

    @Test func badMapsFailAtSetupWithOneSentence() async throws {
        let logs = InMemoryLogHandler()
        let error = await #expect(throws: MappingError.self) {
            _ = try await MappedDevice(
                cloud, "phone", logger: Logger(label: "test") { _ in logs },
                types: [Person.self, Course.self, Nameless.self, Twin.self, Hollow.self])
        }
        let sentence = try #require(error?.sentence)
        for problem in [
            "Nameless has no property for the sync ID",
            "Nameless has no property for the change date",
            "record type '9lives' of Nameless is not a name",
            "field 'a b' of Nameless is not a name", "Nameless has the field a b twice",
            "share the record type Person", "record type DeleteQueue of Hollow is taken",
            "Hollow has no field",
        ] {
            #expect(sentence.contains(problem), "\(sentence)")
        }
        #expect(sentence.contains("address of Person refers to Home, which is not set up"))
        #expect(sentence.filter { $0 == "." }.count == 1)
        #expect(
            logs.entries.contains { $0.level == .error && "\($0.message)".contains("Nameless") })
    }

    @Test func keyOfTheTypeWinsOverTheCommonOne() async throws {
        let phone = try await MappedDevice(cloud, "phone", types: [Row.self])
        let row = Row(text: "one")
        try await phone.mapping.save(row)
        #expect(try await phone.record(row.rowName)["text"] == "one")
        await #expect(throws: CKError.self) { try await phone.record("not this") }
        let tool = Tool()
        tool.label = "saw"
        let tools = try await MappedDevice(cloud, "tablet")
        try await tools.mapping.save(tools.add(tool))
        #expect(try await tools.record(tool.cloudName)["label"] == "saw")
    }

    @Test func missingFieldsBecomeNilOrTheirDefault() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let person = phone.addPerson("Anna") {
            $0.lastName = "Berg"
            $0.age = 70
            $0.rank = .keeper
        }
        let bare = CKRecord(recordType: "Person", recordID: CKRecord.ID(recordName: "bare"))
        bare["rank"] = "a rank of a newer app"
        try await phone.mapping.update(person, from: bare)
        #expect(person.lastName == nil)
        #expect(person.age == 18)
        #expect(person.rank == .guest)
        // Without a default the property keeps what it has.
        #expect(person.firstName == "Anna")
        #expect(person.syncID == "bare")
    }

    @Test func fieldsOfNewerAppsAreKept() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let person = phone.addPerson("Anna")
        try await phone.mapping.save(person)
        let record = try await phone.record(person.syncID)
        record["shoeSize"] = 44
        _ = try await phone.database.save(record)
        person.edit { $0.age = 50 }
        try await phone.mapping.save(person)
        let saved = try await phone.record(person.syncID)
        #expect(saved["shoeSize"] == 44)
        #expect(saved["age"] == 50)
    }

    @Test func predicateFindsTheObjectOfAnID() {
        let rows = [Row(rowName: "a"), Row(rowName: "b", text: "this")]
        #expect(rows.first(where: Row.predicate(forSyncID: "b"))?.text == "this")
        #expect(!rows.contains(where: Row.predicate(forSyncID: "not this")))
    }

    @Test func valueWithoutSyncIDIsRefused() async throws {
        let phone = try await MappedDevice(cloud, "phone", types: [Row.self])
        let error = await #expect(throws: MappingError.self) {
            try await phone.mapping.save(Row(rowName: nil))
        }
        #expect(error?.code == .unnamedValue)
    }

    @Test func diagramNamesTypesAndReferences() async throws {
        let phone = try await MappedDevice(
            cloud, "phone", types: [Person.self, Home.self, Course.self])
        #expect(
            phone.mapping.diagram == """
                Person
                  address -> Home
                  courses -> many Course (weak)
                Home
                  owner -> Person
                Course
                """)
    }

    @Test func productionSchemaHasEveryTypeAndIndex() async throws {
        let shared = try await MappedDevice(cloud, "phone", scope: .public)
        let schema = try ContainerSchema(text: shared.mapping.schema)
        for type in ["Person", "Home", "Course", "Ticket", "Tool", "Device", "DeleteQueue"] {
            #expect(schema.types[type] != nil, "\(type)")
        }
        #expect(shared.mapping.schema.contains("\"___modTime\" TIMESTAMP QUERYABLE"))
        #expect(shared.mapping.schema.contains("courses LIST<REFERENCE>"))
        #expect(shared.mapping.schema.contains("tags LIST<STRING>"))
        let own = try await MappedDevice(cloud, "tablet")
        #expect(!own.mapping.schema.contains("DeleteQueue"))
    }
}
