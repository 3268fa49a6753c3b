import Foundation
import InMemoryLogging
import Logging
import StratusClient
import StratusSchema
import StratusTesting
import Testing

@testable import StratusMapping

/// Maps: how they read and write fields, and which mistakes are found at setup.
@Suite(.timeLimit(.minutes(20)))
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

    /// A row of a table whose key for the sync ID is not the protocol's `syncID`.
    struct Row: CloudKeyed {
        static let cloudMap = CloudMap<Row>("Row").syncID(\.rowName).field(\.text, "text")
        var syncID: String? = "not this"
        var rowName: String? = UUID().uuidString
        var changeDate: Date?
        var text = ""
    }

    /// Values of uncommon types.
    struct Kinds: CloudKeyed {
        static let cloudMap = CloudMap<Kinds>("Kinds")
            .field(\.link, "link").field(\.links, "links")
            .field(\.place, "place")
        var syncID: String?
        var changeDate: Date?
        var link: CKRecord.Reference?
        var links: [CKRecord.Reference] = []
        var place: CLLocation?
    }

    @Test func invalidMapsThrowAtSetup() async throws {
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
            "share the record type Person", "record type DeleteQueue of Hollow is reserved",
            "Hollow has no field",
        ] {
            #expect(sentence.contains(problem), "\(sentence)")
        }
        #expect(sentence.contains("address of Person refers to Home, which is not set up"))
        #expect(sentence.filter { $0 == "." }.count == 1)
        // And nothing syncs.
        let unset = await #expect(throws: MappingError.self) {
            try await Nameless().iCloud.saveAndWait()
        }
        #expect(unset?.code == .notSetUp)
        #expect(
            logs.entries.contains { $0.level == .error && "\($0.message)".contains("Nameless") })
    }

    /// An app's object may have a date that is not a number, or too large for an integer.
    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300])
    func nonFiniteChangeDateIsClamped(_ seconds: Double) {
        let milliseconds = Date(timeIntervalSince1970: seconds).wholeMilliseconds
        #expect([.min, .max].contains(milliseconds))
    }

    @Test func keyOfTheTypeOverridesTheCommonOne() async throws {
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
        // Without a default the property keeps its value.
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

    /// An older app saves an edit: the value of a newer app's record that it does not know stays.
    @Test func rawValuesOfNewerAppsAreKept() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        let anna = phone.addPerson("Anna")
        try await phone.mapping.save(anna)
        let record = try await phone.record(anna.syncID)
        record["rank"] = "king"
        _ = try await phone.database.save(record)
        try await tablet.sync()
        let copy = try #require(tablet.person("Anna"))
        #expect(copy.rank == .guest)
        copy.edit { $0.age = 50 }
        try await tablet.mapping.save(copy)
        let saved = try await phone.record(anna.syncID)
        #expect(saved["rank"] == "king")
        #expect(saved["age"] == 50)
        copy.edit { $0.rank = .keeper }
        try await tablet.mapping.save(copy)
        #expect(try await phone.record(anna.syncID)["rank"] == "keeper")
    }

    @Test func containerAndDatabaseAreChosenAtSetup() async throws {
        let link = try await cloud.connect(user: "alice", device: "phone")
        let containers = ["iCloud.org.example.A", "iCloud.org.example.B"].map {
            CKContainer(identifier: $0, connection: link)
        }
        let databases = containers.flatMap { [$0.privateCloudDatabase, $0.publicCloudDatabase] }
        for (number, database) in databases.enumerated() {
            let mapping = try CloudMapping(
                database: database, types: [Row.self], store: MemoryStore(), file: nil)
            try await mapping.save(Row(rowName: "row\(number)", text: "\(number)"))
        }
        for (number, database) in databases.enumerated() {
            let zone: CKRecordZone.ID =
                database.databaseScope == .private
                ? CKRecordZone.ID(zoneName: "Objects") : .default
            let query = CKQuery(recordType: "Row", predicate: NSPredicate(value: true))
            let found = try await database.records(matching: query, inZoneWith: zone)
            #expect(found.matchResults.map(\.0.recordName) == ["row\(number)"])
        }
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
        for type in ["Device", "DeleteQueue"] {
            let text = try #require(
                shared.mapping.schema.split(separator: "RECORD TYPE ").first { $0.hasPrefix(type) })
            #expect(text.contains("GRANT READ, CREATE, WRITE TO \"_icloud\""), "\(type)")
        }
        #expect(shared.mapping.schema.contains("device STRING QUERYABLE"))
        let own = try await MappedDevice(cloud, "tablet")
        #expect(!own.mapping.schema.contains("DeleteQueue"))
        let kinds = try await MappedDevice(cloud, "watch", types: [Kinds.self])
        for line in ["link REFERENCE", "links LIST<REFERENCE>", "place LOCATION"] {
            #expect(kinds.mapping.schema.contains("        \(line),"), "\(kinds.mapping.schema)")
        }
        _ = try ContainerSchema(text: kinds.mapping.schema)
    }

    /// Two users in the public database, with only the indexes and rights of the schema.
    @Test func generatedSchemaIsSufficientForSync() async throws {
        let phone = try await MappedDevice(cloud, "phone", user: "alice", scope: .public)
        let tablet = try await MappedDevice(cloud, "tablet", user: "bob", scope: .public)
        try await cloud.service.schemaDeployment(of: MappedDevice.container).replace(
            with: ContainerSchema(text: phone.mapping.schema))
        let anna = phone.addPerson("Anna") { $0.home = phone.addHome("Lake Road") }
        let bea = phone.addPerson("Bea")
        for device in [phone, tablet] { try await device.sync() }
        #expect(tablet.person("Anna")?.home?.road == "Lake Road")
        anna.edit { $0.age = 44 }
        try await phone.mapping.save(anna)
        try await phone.mapping.delete(bea)
        #expect(try await phone.records("DeleteQueue").isEmpty == false)
        try await tablet.sync()
        #expect(tablet.person("Anna")?.age == 44)
        #expect(tablet.person("Bea") == nil)
        #expect(try await phone.records("DeleteQueue").isEmpty)
    }
}
