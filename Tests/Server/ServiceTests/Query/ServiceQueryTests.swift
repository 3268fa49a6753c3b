import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import TestSeeds
import Testing

/// Finding records by their fields.
@Suite struct ServiceQueryTests {
    typealias Filter = QueryDictionary.Filter

    /// Five huts with fields of every kind; the fifth has no fields.
    static func world() async throws -> Person {
        let alice = try await World().person("alice", with: "Trips")
        try await mark("Hut", in: alice.world)
        func fields(_ number: Int64, _ name: String, _ tags: [String]) -> [Field] {
            [
                beds(number), text("name", name),
                Field(name: "price", value: .double(Double(number) / 2)),
                Field(name: "opened", value: .timestamp(milliseconds: number * 1000)),
                Field(name: "tags", value: .stringList(tags)),
                Field(name: "guide", value: .reference(Reference(recordName: "guide-\(number)"))),
            ]
        }
        try await alice.modify(
            [
                hut(.create, "a", fields(1, "Alpenblick", ["high", "cold"])),
                hut(.create, "b", fields(2, "Bergheim", ["high"])),
                hut(.create, "c", fields(3, "Alpenrose", ["low"])),
                hut(.create, "d", fields(3, "Talhof", [])),
                hut(.create, "e"),
                hut(.create, "t", fields(1, "Trail", []), type: "Trail"),
            ], in: "Trips")
        return alice
    }

    /// Sets marks that a save would not set: sorting by name, filters on creators.
    static func mark(_ recordType: String, in world: World) async throws {
        let marks: [(SchemaSystemField, FieldIndexes)] = [
            (.recordID, [.queryable, .sortable]), (.createTime, [.queryable, .sortable]),
            (.modTime, [.queryable, .sortable]), (.createdBy, .queryable),
        ]
        _ = try await world.service.storage.directory.extendSchema(
            of: world.address,
            with: marks.map { SchemaFieldRow(recordType: recordType, $0.0, indexes: $0.1) })
    }

    static func names(
        _ person: Person, _ filters: [Filter], sortBy: [QueryDictionary.Sort] = []
    ) async throws -> String {
        try await person.ask(
            RecordsQuery.self,
            .init(
                query: QueryDictionary(recordType: "Hut", filterBy: filters, sortBy: sortBy),
                zoneID: zone("Trips"))
        ).records.compactMap(\.name).joined()
    }

    /// Values that are compared with every record must be short, since a body has room for a million names.
    @Test func longListsAreRefused() async throws {
        let alice = try await Self.world()
        let names = (0...256).map { "name\($0)" }
        let values = Filter(.in, .user("beds"), .int64List(Array(0...250)))
        let query = QueryDictionary(recordType: "Hut")
        let item = RecordsLookup.Item(recordName: "a", desiredKeys: names)
        let subscription = SubscriptionsTests.query("long", filters: [values])
        let refusals = [
            await alice.refusal(
                RecordsQuery.self,
                .init(query: .init(recordType: "Hut", filterBy: [values]), zoneID: zone("Trips"))),
            await alice.refusal(
                RecordsQuery.self, .init(query: query, zoneID: zone("Trips"), desiredKeys: names)),
            await alice.refusal(
                RecordsLookup.self,
                .init(records: [.init(recordName: "a")], desiredKeys: names)),
            await alice.refusal(RecordsLookup.self, .init(records: [item])),
            await alice.refusal(
                RecordsModify.self,
                .init(operations: [hut(.forceDelete, "a")], desiredKeys: names)),
            await alice.refusal(
                ChangesZone.self,
                .init(zones: [.init(zoneID: zone("Trips"), desiredKeys: names)])),
            await alice.refusal(
                ChangesZone.self,
                .init(zones: [.init(zoneID: zone("Trips"), desiredRecordTypes: names)])),
        ]
        #expect(refusals.count == 7)
        #expect(refusals.allSatisfy { $0?.error.frameworkCode == .limitExceeded })
        let subscribed = try await alice.ask(
            SubscriptionsModify.self, .init([.init(.create, subscription)])
        ).items
        guard case .failure(_, let error) = subscribed[0] else {
            Issue.record("The subscription was accepted.")
            return
        }
        #expect(error.frameworkCode == .limitExceeded)
    }

    @Test(arguments: [
        (Filter(.equals, .user("beds"), .int64(3)), "cd"),
        (Filter(.notEquals, .user("beds"), .int64(3)), "abe"),
        (Filter(.lessThan, .user("beds"), .int64(2)), "a"),
        (Filter(.lessThanOrEquals, .user("beds"), .int64(2)), "ab"),
        (Filter(.greaterThan, .user("beds"), .int64(2)), "cd"),
        (Filter(.greaterThanOrEquals, .user("beds"), .int64(2)), "bcd"),
        (Filter(.equals, .user("price"), .int64(1), isTypeDeclared: false), "b"),
        (Filter(.lessThan, .user("opened"), .int64(2500), isTypeDeclared: false), "ab"),
        (Filter(.in, .user("beds"), .int64List([1, 3])), "acd"),
        (Filter(.notIn, .user("beds"), .int64List([1, 3])), "be"),
        (Filter(.in, .user("beds"), .emptyList, isTypeDeclared: false), ""),
        (Filter(.beginsWith, .user("name"), .string("Alpen")), "ac"),
        (Filter(.notBeginsWith, .user("name"), .string("Alpen")), "bde"),
        (Filter(.listContains, .user("tags"), .string("high")), "ab"),
        (Filter(.notListContains, .user("tags"), .string("high")), "cde"),
        (Filter(.listContainsAny, .user("tags"), .stringList(["cold", "low"])), "ac"),
        (Filter(.notListContainsAny, .user("tags"), .stringList(["cold", "low"])), "bde"),
        (Filter(.listContainsAll, .user("tags"), .stringList(["cold", "high"])), "a"),
        (Filter(.notListContainsAll, .user("tags"), .stringList(["cold", "high"])), "bcde"),
        (Filter(.listMemberBeginsWith, .user("tags"), .string("hi")), "ab"),
        (Filter(.notListMemberBeginsWith, .user("tags"), .string("hi")), "cde"),
        (Filter(.equals, .user("guide"), .reference(Reference(recordName: "guide-1"))), "a"),
        (Filter(.equals, .system(.recordName), .reference(Reference(recordName: "b"))), "b"),
        (Filter(.in, .system(.recordName), .stringList(["b", "c", "x"])), "bc"),
        (Filter(.greaterThan, .system(.createdTimestamp), .timestamp(milliseconds: 5)), "abcde"),
        (Filter(.lessThan, .system(.modifiedTimestamp), .timestamp(milliseconds: 5)), ""),
        (
            Filter(
                .equals, .system(.createdUserRecordName),
                .reference(Reference(recordName: "_somebody"))), ""
        ),
    ])
    func comparatorSelectsRecords(_ filter: Filter, _ expected: String) async throws {
        #expect(try await Self.names(try await Self.world(), [filter]) == expected)
    }

    @Test func allFiltersMustHold() async throws {
        let filters = [
            Filter(.equals, .user("beds"), .int64(3)),
            Filter(.beginsWith, .user("name"), .string("Alp")),
        ]
        #expect(try await Self.names(try await Self.world(), filters) == "c")
    }

    @Test(arguments: [
        ([QueryDictionary.Sort(.user("name"))], "eacbd"),
        ([QueryDictionary.Sort(.user("name"), isAscending: false)], "dbcae"),
        ([QueryDictionary.Sort(.user("beds"), isAscending: false)], "cdbae"),
        (
            [
                QueryDictionary.Sort(.user("beds"), isAscending: false),
                QueryDictionary.Sort(.user("name"), isAscending: false),
            ], "dcbae"
        ),
        ([QueryDictionary.Sort(.system(.recordName), isAscending: false)], "edcba"),
    ])
    func sortKeysOrderAndNamesBreakTies(
        _ sorts: [QueryDictionary.Sort], _ expected: String
    ) async throws {
        #expect(try await Self.names(try await Self.world(), [], sortBy: sorts) == expected)
    }

    @Test(arguments: [
        Filter(.equals, .user("beds"), .string("3")),
        Filter(.equals, .user("nothing"), .string("3")),
        Filter(.in, .user("beds"), .int64(3)),
        Filter(.beginsWith, .user("beds"), .string("3")),
        Filter(.listContains, .user("beds"), .int64(3)),
        Filter(.lessThan, .user("tags"), .stringList(["a"])),
        Filter(.near, .user("beds"), .int64(3)),
        Filter(.near, .user("name"), .location(Location(latitude: 1, longitude: 1))),
        Filter(.containsAllTokens, .user("beds"), .string("a")),
        Filter(.containsAllTokens, .user("name"), .int64(3)),
        Filter(.containsAllTokens, .system(.recordName), .string("a")),
    ])
    func filterOfTheWrongTypeIsRefused(_ filter: Filter) async throws {
        let alice = try await Self.world()
        let failure = await alice.refusal(
            RecordsQuery.self,
            .init(
                query: QueryDictionary(recordType: "Hut", filterBy: [filter]),
                zoneID: zone("Trips")))
        #expect(failure?.error.code == .badRequest)
    }

    @Test func missingTypeOrZoneIsNotFound() async throws {
        let alice = try await Self.world()
        let unknown = await alice.refusal(
            RecordsQuery.self, .init(query: QueryDictionary(recordType: "Lake")))
        #expect(unknown?.error.code == .notFound)
        let nowhere = await alice.refusal(
            RecordsQuery.self,
            .init(query: QueryDictionary(recordType: "Hut"), zoneID: zone("Nowhere")))
        #expect(nowhere?.error.code == .zoneNotFound)
    }

    @Test func queryCoversOneZoneOrAll() async throws {
        let alice = try await Self.world()
        try await alice.modify([hut(.create, "z", [beds(9)])])
        let query = QueryDictionary(recordType: "Hut", sortBy: [.init(.user("beds"))])
        let inDefault = try await alice.ask(RecordsQuery.self, .init(query: query))
        #expect(inDefault.records.compactMap(\.name) == ["z"])
        let everywhere = try await alice.ask(
            RecordsQuery.self, .init(query: query, isZoneWide: true))
        #expect(everywhere.records.compactMap(\.name) == ["e", "a", "b", "c", "d", "z"])
        #expect(everywhere.records.last?.record?.zoneID?.zoneName == "_defaultZone")
    }

    @Test func anonymousCallerQueriesThePublicDatabase() async throws {
        let alice = try await Self.world()
        try await alice.modify([hut(.create, "open", [beds(4)])], scope: .public)
        let found = try await alice.world.nobody.ask(
            RecordsQuery.self, .init(query: QueryDictionary(recordType: "Hut")), in: .public)
        #expect(found.records.compactMap(\.name) == ["open"])
    }

    // MARK: Pages

    private func request(_ sorts: [QueryDictionary.Sort], _ marker: String?, _ limit: Int = 2)
        -> RecordsQuery.Request
    {
        RecordsQuery.Request(
            query: QueryDictionary(recordType: "Hut", sortBy: sorts), zoneID: zone("Trips"),
            resultsLimit: limit, continuationMarker: marker)
    }

    @Test(arguments: [true, false])
    func changesBetweenPagesNeitherRepeatNorLoseRecords(_ isSorted: Bool) async throws {
        let sorts = isSorted ? [QueryDictionary.Sort(.user("beds"))] : []
        let alice = try await Self.world()
        let all = try await alice.ask(RecordsQuery.self, request(sorts, nil, 10))
        #expect(all.continuationMarker == nil)
        var page = try await alice.ask(RecordsQuery.self, request(sorts, nil))
        var names = page.records.compactMap(\.name)
        try await alice.modify(
            [hut(.create, "0", [beds(0)]), hut(.forceDelete, "a")], in: "Trips")
        while let marker = page.continuationMarker {
            page = try await alice.ask(RecordsQuery.self, request(sorts, marker))
            names += page.records.compactMap(\.name)
        }
        // "0" sorts before the first page's end; "a" was read before it was deleted.
        #expect(
            names == (isSorted ? ["e", "a"] : ["a", "b"])
                + all.records.compactMap(\.name).dropFirst(2))
    }

    @Test func continuationMarkerOfAnotherQueryIsRefused() async throws {
        let alice = try await Self.world()
        let bob = try await alice.world.person("bob", with: "Trips")
        let sorts = [QueryDictionary.Sort(.user("beds"))]
        let marker = try #require(
            try await alice.ask(RecordsQuery.self, request(sorts, nil)).continuationMarker)
        for failure in [
            await alice.refusal(RecordsQuery.self, request([], marker)),
            await bob.refusal(RecordsQuery.self, request(sorts, marker)),
            await alice.refusal(RecordsQuery.self, request(sorts, "AgICAAAB")),
            await alice.refusal(RecordsQuery.self, request(sorts, marker + "AAAA")),
        ] {
            #expect(failure?.error.code == .badRequest)
        }
    }

    /// The pages of a sorted query over many records are together its complete answer, with any page length.
    @Test(arguments: [1, 7, 50], Seeds.forTest("ServiceQueryTests", count: 1))
    func pagesOfASortedQueryAreComplete(_ limit: Int, seed: UInt64) async throws {
        var numbers = SeededNumbers(seed: seed)
        let alice = try await World().person("alice", with: "Trips")
        let operations = (0..<120).map { index in
            hut(.create, "r\(index)", [beds(Int64.random(in: 0..<10, using: &numbers))])
        }
        try await alice.modify(operations, in: "Trips")
        let sorts = [QueryDictionary.Sort(.user("beds"), isAscending: false)]
        let whole = try await alice.ask(RecordsQuery.self, request(sorts, nil, 200)).records
        #expect(whole.count == 120)
        var paged: [RecordResult] = []
        var marker: String?
        repeat {
            let page = try await alice.ask(RecordsQuery.self, request(sorts, marker, limit))
            #expect(page.records.count <= limit)
            paged += page.records
            marker = page.continuationMarker
        } while marker != nil
        #expect(paged == whole)
    }
}
