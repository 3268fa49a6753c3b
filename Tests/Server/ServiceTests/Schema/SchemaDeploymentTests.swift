import Foundation
import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import Testing

/// The laws of schemas, and a schema's way to production.
@Suite struct SchemaDeploymentTests {
    static func schema(_ items: String, more: String = "") throws -> ContainerSchema {
        try ContainerSchema(text: "DEFINE SCHEMA RECORD TYPE Hut (\(items)); \(more)")
    }

    static let before = "beds INT64 QUERYABLE, name STRING, secret ENCRYPTED STRING"

    /// Each law and what breaks it, and nothing else does.
    @Test(arguments: [
        (before + ", more STRING", trail + "RECORD TYPE New ();", [] as [SchemaLaw]),
        ("beds INT64, name STRING SORTABLE, secret ENCRYPTED STRING", trail, []),
        (before + ", GRANT READ TO \"_creator\"", trail, []),
        (before, trail + "CREATE ROLE editor;", []),
        (before, "", [.noRecordTypeIsRemoved]),
        ("", trail, [.noFieldIsRemoved, .noFieldIsRemoved, .noFieldIsRemoved]),
        ("beds INT64, secret ENCRYPTED STRING", trail, [.noFieldIsRemoved]),
        ("beds DOUBLE, name STRING, secret ENCRYPTED STRING", trail, [.noFieldChangesItsType]),
        ("beds LIST<INT64>, name STRING, secret ENCRYPTED STRING", trail, [.noFieldChangesItsType]),
        ("beds INT64, name STRING, secret STRING", trail, [.noFieldBecomesEncryptedOrPlain]),
        (
            "beds INT64, name ENCRYPTED STRING, secret ENCRYPTED STRING", trail,
            [.noFieldBecomesEncryptedOrPlain]
        ),
        (
            "beds ENCRYPTED DOUBLE, secret ENCRYPTED STRING", "",
            [
                .noFieldChangesItsType, .noFieldBecomesEncryptedOrPlain, .noFieldIsRemoved,
                .noRecordTypeIsRemoved,
            ]
        ),
    ])
    func lawsKeepDataAndAppsWhole(_ items: String, _ more: String, _ broken: [SchemaLaw]) throws {
        let old = try Self.schema(Self.before, more: Self.trail)
        let difference = SchemaDifference(from: old, to: try Self.schema(items, more: more))
        #expect(difference.breaches.compactMap(\.brokenLaw) == broken, "\(difference.changes)")
    }

    static let trail = "RECORD TYPE Trail (a STRING);"

    @Test func changesAreToldInOneLineEach() throws {
        let old = try Self.schema(
            "beds INT64 QUERYABLE, name STRING, secret STRING, old BYTES",
            more: "CREATE ROLE a; RECORD TYPE Gone ();")
        let new = try Self.schema(
            """
            beds INT64 SORTABLE, name INT64, secret ENCRYPTED STRING, ___recordID REFERENCE QUERYABLE,
            tags LIST<STRING> QUERYABLE, GRANT READ TO "_world", GRANT READ, WRITE TO b
            """, more: "CREATE ROLE b; RECORD TYPE New ();")
        let difference = SchemaDifference(from: old, to: new)
        #expect(
            difference.changes.map { change in
                change.description + (change.brokenLaw.map { "  (breaks the law: \($0))" } ?? "")
            } == [
                "- role a",
                "+ role b",
                "- record type Gone  (breaks the law: No record type is removed.)",
                "~ Hut.___recordID: +QUERYABLE",
                "~ Hut.beds: +SORTABLE -QUERYABLE",
                "~ Hut.name: STRING becomes INT64  (breaks the law: No field changes its type.)",
                "- Hut.old  (breaks the law: No field is removed.)",
                "~ Hut.secret: becomes ENCRYPTED  "
                    + "(breaks the law: No encrypted field becomes plain, nor the reverse.)",
                "+ Hut.tags STRING_LIST QUERYABLE",
                "~ Hut, grants to _creator: -WRITE",
                "~ Hut, grants to _icloud: -CREATE",
                "~ Hut, grants to b: +READ +WRITE",
                "+ record type New",
            ])
    }

    /// A difference's changes, applied in mind, are all there is: none means equal.
    @Test(arguments: 0..<50) func onlyEqualSchemasHaveNoDifference(seed: Int) throws {
        var numbers = SeededNumbers(seed: UInt64(seed))
        let one = SchemaTextTests.anySchema(&numbers)
        let other = SchemaTextTests.anySchema(&numbers)
        #expect(SchemaDifference(from: one, to: other).changes.isEmpty == (one == other))
        #expect(SchemaDifference(from: one, to: one).changes.isEmpty)
    }

    // MARK: On a service

    @Test(arguments: Backend.allCases)
    func whatWasSavedInDevelopmentIsDeployedAndThenFixed(_ backend: Backend) async throws {
        let storehouse = try backend.storehouse()
        let world = World(storehouse)
        let alice = try await world.person("alice")
        try await alice.modify([hut(.create, "a", [beds(1)])])
        let schemas = world.service.schemaDeployment(of: World.container)
        let review = try await schemas.reviewDeployment()
        #expect(review.changes.first == .recordTypeAdded("Hut"))
        #expect(try await schemas.deploy() == review)
        #expect(try await schemas.reviewDeployment().changes.isEmpty)

        let production = World(storehouse, environment: .production)
        let again = try await production.person("alice")
        let results = try await again.modify([
            hut(.create, "b", [beds(2)]), hut(.create, "c", [text("name", "x")]),
        ])
        #expect(results.map(\.code) == [nil, .badRequest])
        try await storehouse.close()
    }

    @Test func whatBreaksALawIsRefusedAndChangesNothing() async throws {
        let world = World()
        let schemas = world.service.schemaDeployment(of: World.container)
        try await schemas.replace(with: Self.schema("beds INT64, name STRING"))
        try await schemas.deploy()
        let refusal = try await #require(throws: SchemaRefusal.self) {
            try await schemas.replace(with: Self.schema("beds DOUBLE"))
        }
        #expect(refusal.breaches.count == 2)
        #expect(refusal.description.contains("No field changes its type."))
        #expect(
            try await schemas.schema(in: .development).rule(for: "beds", of: "Hut")?.type == .int64)

        // A reset of development does not free production from the laws.
        try await schemas.reset(to: Self.schema("beds DOUBLE"))
        let second = try await #require(throws: SchemaRefusal.self) { try await schemas.deploy() }
        #expect(second.breaches.count == 2)
        try await schemas.reset(to: nil)
        #expect(try await schemas.reviewDeployment().changes.isEmpty)
    }

    /// In development, what no record uses and production does not have may go.
    @Test(arguments: Backend.allCases)
    func whatNoRecordUsesMayGoInDevelopment(_ backend: Backend) async throws {
        let world = World(try backend.storehouse())
        let alice = try await world.person("alice")
        let schemas = world.service.schemaDeployment(of: World.container)
        try await schemas.replace(with: Self.schema("beds INT64"))
        try await schemas.deploy()
        try await alice.makeZone("Trips")
        try await alice.modify(
            [hut(.create, "a", [text("name", "x"), text("mistake", "y")])], in: "Trips")
        try await alice.modify([hut(.create, "t", type: "Trail")], scope: .public)
        try await alice.modify([hut(.forceUpdate, "a", [text("mistake", nil)])], in: "Trips")

        // production has Hut.beds, records use Hut.name and Trail, nothing uses Hut.mistake
        let new = try Self.schema("name INT64")
        let review = try await schemas.reviewReplacement(with: new)
        #expect(
            review.refused == [
                .fieldRemoved(.init(recordType: "Hut", field: "beds")),
                .typeChanged(
                    .init(recordType: "Hut", field: "name"), from: .string, to: .int64),
                .recordTypeRemoved("Trail"),
            ])
        await #expect(throws: SchemaRefusal.self) { try await schemas.replace(with: new) }
        try await alice.modify([hut(.forceDelete, "a")], in: "Trips")
        try await alice.modify([hut(.forceDelete, "t")], scope: .public)
        try await schemas.replace(with: Self.schema("beds INT64, name INT64"))
        let schema = try await schemas.schema(in: .development)
        #expect(Set(schema.types.keys) == ["Hut"])
        #expect(schema.rule(for: "mistake", of: "Hut") == nil)
        let saved = try await alice.modify([
            hut(.create, "b", [Field(name: "name", value: .int64(1))])
        ])
        #expect(saved[0].code == nil)
        try await world.service.storehouse.close()
    }

    @Test func aContainerThatIsNotThereIsNotMadeByLooking() async throws {
        let world = World()
        let schemas = world.service.schemaDeployment(of: "iCloud.org.example.None")
        await #expect(throws: SchemaRefusal.self) { try await schemas.schema(in: .development) }
        await #expect(throws: SchemaRefusal.self) { try await schemas.deploy() }
        await #expect(throws: SchemaRefusal.self) { try await schemas.members(in: .production) }
        #expect(
            try await !world.service.storehouse.directory.container(
                ContainerAddress(
                    container: "iCloud.org.example.None", environment: .production)))
    }

    /// What a command did on the folder, a service sees at a request a second later.
    @Test func aServiceNoticesWhatAnotherProcessChanged() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-schema-tests-\(UUID().uuidString)")
        // A leftover in the temporary folder fails no test.
        defer { try? FileManager.default.removeItem(at: folder) }
        let house = try SQLiteStorehouse(folder: folder.path)
        let world = World(house, environment: .production)
        let alice = try await world.person("alice")
        let save = [hut(.create, nil, [beds(1)])]
        #expect(try await alice.modify(save)[0].code == .badRequest)

        let beside = try SQLiteStorehouse(folder: folder.path, access: .beside)
        let schemas = World(beside).service.schemaDeployment(of: World.container)
        try await schemas.replace(with: Self.schema("beds INT64"))
        try await schemas.deploy()
        try await beside.close()
        #expect(try await alice.modify(save)[0].code == .badRequest)
        world.advance(seconds: 1)
        #expect(try await alice.modify(save)[0].code == nil)
        try await house.close()
    }

    /// New marks reach the rules of a running service, which queries ask.
    @Test func aSchemaIsReplacedUnderARunningService() async throws {
        let world = World()
        let alice = try await world.person("alice")
        let schemas = world.service.schemaDeployment(of: World.container)
        try await alice.modify([hut(.create, "a", [beds(1)])])
        let first = try await schemas.schema(in: .development)
        try await schemas.replace(with: Self.schema("beds INT64, extra STRING"))
        let second = try await schemas.schema(in: .development)
        #expect(second.version > first.version)
        #expect(second.rule(for: "beds", of: "Hut")?.indexes == [])
        let wrong = try await alice.modify([
            hut(.create, "b", [Field(name: "extra", value: .int64(1))])
        ])
        #expect(wrong[0].code == .badRequest)
    }
}
