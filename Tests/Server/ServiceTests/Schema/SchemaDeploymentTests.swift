import Foundation
import StratusRecords
import StratusSchema
import StratusService
import StratusStorage
import StratusWire
import Testing

/// Schemas are replaced in development and deployed to production.
@Suite struct SchemaDeploymentTests {
    static func schema(_ items: String, more: String = "") throws -> ContainerSchema {
        try ContainerSchema(text: "DEFINE SCHEMA RECORD TYPE Hut (\(items)); \(more)")
    }

    @Test(arguments: Backend.allCases)
    func deployedSchemaIsFixedInProduction(_ backend: Backend) async throws {
        let storage = try backend.storage()
        let world = World(storage)
        let alice = try await world.person("alice")
        try await alice.modify([hut(.create, "a", [beds(1)])])
        let schemas = world.service.schemaDeployment(of: World.container)
        let review = try await schemas.reviewDeployment()
        #expect(review.changes.first == .recordTypeAdded("Hut"))
        #expect(try await schemas.deploy() == review)
        #expect(try await schemas.reviewDeployment().changes.isEmpty)

        let production = World(storage, environment: .production)
        let again = try await production.person("alice")
        let results = try await again.modify([
            hut(.create, "b", [beds(2)]), hut(.create, "c", [text("name", "x")]),
        ])
        #expect(results.map(\.code) == [nil, .badRequest])
        try await storage.close()
    }

    @Test func violationIsRefusedAndChangesNothing() async throws {
        let world = World()
        let schemas = world.service.schemaDeployment(of: World.container)
        try await schemas.replace(with: Self.schema("beds INT64, name STRING"))
        try await schemas.deploy()
        let refusal = try await #require(throws: SchemaRefusal.self) {
            try await schemas.replace(with: Self.schema("beds DOUBLE"))
        }
        #expect(refusal.violations.count == 2)
        #expect(refusal.description.contains("No field changes its type."))
        #expect(
            try await schemas.schema(in: .development).rule(for: "beds", of: "Hut")?.type == .int64)

        // After a reset of development, production still refuses the changes.
        try await schemas.reset(to: Self.schema("beds DOUBLE"))
        let second = try await #require(throws: SchemaRefusal.self) { try await schemas.deploy() }
        #expect(second.violations.count == 2)
        try await schemas.reset(to: nil)
        #expect(try await schemas.reviewDeployment().changes.isEmpty)
    }

    /// In development, fields and types can be removed if no record uses them and production does not have them.
    @Test(arguments: Backend.allCases)
    func unusedFieldsCanBeRemovedInDevelopment(_ backend: Backend) async throws {
        let world = World(try backend.storage())
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
        try await world.service.storage.close()
    }

    @Test func readingAMissingContainerDoesNotCreateIt() async throws {
        let world = World()
        let schemas = world.service.schemaDeployment(of: "iCloud.org.example.None")
        await #expect(throws: SchemaRefusal.self) { try await schemas.schema(in: .development) }
        await #expect(throws: SchemaRefusal.self) { try await schemas.deploy() }
        await #expect(throws: SchemaRefusal.self) { try await schemas.members(in: .production) }
        #expect(
            try await !world.service.storage.directory.container(
                ContainerAddress(
                    container: "iCloud.org.example.None", environment: .production)))
    }

    /// A service sees a command's change of the schema at a request a second later.
    @Test func serviceSeesSchemaChangeOfAnotherProcess() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-schema-tests-\(UUID().uuidString)")
        // Failing to remove a temporary folder must not fail the test.
        defer { try? FileManager.default.removeItem(at: folder) }
        let storage = try SQLiteStorageEngine(folder: folder.path)
        let world = World(storage, environment: .production)
        let alice = try await world.person("alice")
        let save = [hut(.create, nil, [beds(1)])]
        #expect(try await alice.modify(save)[0].code == .badRequest)

        let beside = try SQLiteStorageEngine(folder: folder.path, access: .beside)
        let schemas = World(beside).service.schemaDeployment(of: World.container)
        try await schemas.replace(with: Self.schema("beds INT64"))
        try await schemas.deploy()
        try await beside.close()
        #expect(try await alice.modify(save)[0].code == .badRequest)
        world.advance(seconds: 1)
        #expect(try await alice.modify(save)[0].code == nil)
        try await storage.close()
    }

    /// New marks reach the rules of a running service, which its queries use.
    @Test func replacedSchemaAppliesToARunningService() async throws {
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
