import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import Testing

/// Queries are served only on fields that the schema marks, and refused with CloudKit's messages.
@Suite struct QueryMarkTests {
    typealias Filter = QueryDictionary.Filter
    typealias Sort = QueryDictionary.Sort

    /// A record type without marks, except `beds` for filters and `rank` for sorting.
    private static func world() async throws -> Person {
        let alice = try await World().person("alice")
        let fields: [(String, FieldType, FieldIndexes)] = [
            ("beds", .int64, .queryable), ("rank", .int64, [.queryable, .sortable]),
            ("name", .string, []), ("place", .location, .queryable),
        ]
        _ = try await alice.world.service.storage.directory.extendSchema(
            of: alice.world.address,
            with: fields.map {
                SchemaFieldRow(recordType: "Hut", field: $0.0, type: $0.1, indexes: $0.2)
            } + [
                SchemaFieldRow(
                    recordType: "Hut", field: "secret", type: .string, isEncrypted: true)
            ])
        try await alice.modify([hut(.create, "a", [beds(3), text("name", "Alpenblick")])])
        return alice
    }

    /// A type that was created by a save can be queried by the creators and modifiers of its records.
    @Test(arguments: ["___createdBy", "___modifiedBy"])
    func creatorAndModifierAreQueryableInDevelopment(_ field: String) async throws {
        let world = World()
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        try await alice.modify([hut(.create, "a")], scope: .public)
        try await bob.modify([hut(.create, "b")], scope: .public)
        let query: QueryDictionary = try readWire(
            from: Array(
                """
                {"recordType": "Hut", "filterBy": [{"comparator": "EQUALS",
                 "fieldName": "\(field)", "fieldValue": {"value": {"recordName": "\(bob.name)"}}}]}
                """.utf8))
        let found = try await alice.ask(RecordsQuery.self, .init(query: query), in: .public)
        #expect(found.records.map(\.name) == ["b"])
    }

    /// Other clients' name for `LIST_CONTAINS_ANY`.
    @Test func containsAnyFindsListsWithOneOfTheValues() async throws {
        let alice = try await World().person("alice")
        func tags(_ values: [String]) -> Field { Field(name: "tags", value: .stringList(values)) }
        try await alice.modify([
            hut(.create, "a", [tags(["x", "y"])]), hut(.create, "b", [tags(["z"])]),
        ])
        let query: QueryDictionary = try readWire(
            from: Array(
                """
                {"recordType": "Hut", "filterBy": [{"comparator": "CONTAINS_ANY",
                 "fieldName": "tags", "fieldValue": {"value": ["q", "y"], "type": "STRING_LIST"}}]}
                """.utf8))
        let found = try await alice.ask(RecordsQuery.self, .init(query: query))
        #expect(found.records.map(\.name) == ["a"])
    }

    @Test(
        arguments: [
            ([], [], "Field 'recordName' is not marked queryable"),
            ([], [Sort(.user("rank"))], "Field 'recordName' is not marked queryable"),
            (
                [Filter(.equals, .user("name"), .string("a"))], [],
                "Field 'name' is not marked queryable"
            ),
            (
                [Filter(.containsAllTokens, .user("name"), .string("a"))], [],
                "Field 'name' is not marked searchable"
            ),
            (
                [Filter(.containsAnyTokens, .anySearchable, .string("a"))], [],
                "No field of the record type is marked searchable"
            ),
            (
                [Filter(.equals, .user("beds"), .int64(3))], [Sort(.user("beds"))],
                "Field 'beds' is not marked sortable"
            ),
            (
                [Filter(.equals, .user("beds"), .int64(3))],
                [Sort(.user("place"), relativeLocation: Location(latitude: 1, longitude: 1))],
                "Field 'place' is not marked sortable"
            ),
            (
                [Filter(.lessThan, .system(.createdTimestamp), .timestamp(milliseconds: 3))], [],
                "Field 'createdTimestamp' is not marked queryable"
            ),
            (
                [Filter(.equals, .user("secret"), .string("a"))], [],
                "Field 'secret' has a value type of ENCRYPTED_STRING and cannot be queried using "
                    + "filter type EQUALS"
            ),
            ([Filter(.equals, .user("nothing"), .int64(3))], [], "Unknown field 'nothing'"),
        ] as [([Filter], [Sort], String)])
    func queryOfAnUnmarkedFieldIsRefused(
        _ filters: [Filter], _ sorts: [Sort], _ reason: String
    ) async throws {
        let alice = try await Self.world()
        let failure = await alice.refusal(
            RecordsQuery.self,
            .init(query: QueryDictionary(recordType: "Hut", filterBy: filters, sortBy: sorts)))
        #expect(failure?.error.reason == reason)
        #expect(failure?.error.code == .badRequest)
        #expect(failure?.error.frameworkCode == .invalidArguments)
    }

    @Test(
        arguments: [
            ([Filter(.equals, .user("beds"), .int64(3))], []),
            ([Filter(.equals, .user("beds"), .int64(3))], [Sort(.user("rank"))]),
            // Accepted without effect, as by CloudKit.
            ([Filter(.equals, .user("beds"), .int64(3))], [Sort(.user("secret"))]),
            // The parent cannot be marked.
            ([Filter(.notEquals, .system(.parent), .reference(Reference(recordName: "x")))], []),
        ] as [([Filter], [Sort])])
    func queryOfAMarkedFieldIsServed(_ filters: [Filter], _ sorts: [Sort]) async throws {
        let alice = try await Self.world()
        let found = try await alice.ask(
            RecordsQuery.self,
            .init(query: QueryDictionary(recordType: "Hut", filterBy: filters, sortBy: sorts)))
        #expect(found.records.compactMap(\.name) == ["a"])
    }

    /// A search of all searchable fields reads other indexes when another field is marked.
    @Test func markerFromBeforeAChangeOfTheSearchedFieldsIsRefused() async throws {
        let alice = try await World().person("alice")
        try await alice.modify(
            (0..<4).map { hut(.create, "hut\($0)", [beds(Int64($0)), text("name", "old")]) })
        func request(_ sorts: [Sort], after marker: String? = nil) -> RecordsQuery.Request {
            .init(
                query: QueryDictionary(
                    recordType: "Hut",
                    filterBy: [Filter(.containsAllTokens, .anySearchable, .string("old"))],
                    sortBy: sorts),
                resultsLimit: 2, continuationMarker: marker)
        }
        let page = try await alice.ask(RecordsQuery.self, request([]))
        let sorted = try await alice.ask(RecordsQuery.self, request([Sort(.user("beds"))]))
        let marker = try #require(page.continuationMarker)
        let sortedMarker = try #require(sorted.continuationMarker)
        let next = try await alice.ask(RecordsQuery.self, request([], after: marker))
        #expect(next.records.compactMap(\.name) == ["hut2", "hut3"])

        // This searchable field precedes the other one.
        try await alice.modify([hut(.create, "new", [text("area", "valley")])])
        let failure = await alice.refusal(RecordsQuery.self, request([], after: marker))
        #expect(
            failure?.error.reason
                == "The continuation marker belongs to another query; start from the beginning.")
        #expect(failure?.error.code == .badRequest)
        // A place in an order does not depend on the index that was read.
        let rest = try await alice.ask(
            RecordsQuery.self, request([Sort(.user("beds"))], after: sortedMarker))
        #expect(rest.records.compactMap(\.name) == ["hut2", "hut3"])
    }

    @Test(
        arguments: [
            (Filter(.near, .user("place"), .location(Location(latitude: 91, longitude: 0))), 5.0),
            (Filter(.near, .user("place"), .location(Location(latitude: 1, longitude: 0))), nil),
            (Filter(.near, .user("place"), .location(Location(latitude: 1, longitude: 0))), -1),
        ] as [(Filter, Double?)])
    func nearNeedsALocationAndARadius(_ filter: Filter, _ metres: Double?) async throws {
        let alice = try await Self.world()
        var filter = filter
        filter.distanceMetres = metres
        let failure = await alice.refusal(
            RecordsQuery.self,
            .init(query: QueryDictionary(recordType: "Hut", filterBy: [filter])))
        #expect(failure?.error.code == .badRequest)
    }
}
