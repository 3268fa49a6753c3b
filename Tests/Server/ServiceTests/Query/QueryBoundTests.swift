import StratusMatching
import StratusQuery
import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import TestSeeds
import Testing

@testable import StratusService

/// The cost of a query depends on what it finds, and never exceeds its limits.
@Suite struct QueryBoundTests {
    typealias Filter = QueryDictionary.Filter
    typealias Sort = QueryDictionary.Sort

    private static let middle = Location(latitude: 46.5, longitude: 8)

    /// Alice with this many huts: ten of them have every rare value, and the rest are far from the middle.
    private static func world(_ count: Int, limits: Limits = Limits()) async throws -> Person {
        let alice = try await World(limits: limits).person("alice")
        for start in stride(from: 0, to: count, by: 200) {
            try await alice.modify(
                (start..<min(start + 200, count)).map { number in
                    let isRare = number % (count / 10) == 0
                    return hut(
                        .create, "hut\(number)",
                        [
                            beds(isRare ? 77 : Int64(number % 7)),
                            Field(name: "height", value: .int64(Int64(number * 7919 % count))),
                            text("name", isRare ? "Old Alpenblick" : "New hut"),
                            Field(
                                name: "place",
                                value: .location(
                                    isRare
                                        ? Location(latitude: 46.5, longitude: 8.0001)
                                        : Location(
                                            latitude: -30 + Double(number % 100) / 10,
                                            longitude: Double(number % 90)))),
                        ])
                })
        }
        return alice
    }

    private static let rare = Filter(.equals, .user("beds"), .int64(77))

    static let queries: [QueryDictionary] = [
        QueryDictionary(recordType: "Hut"),
        QueryDictionary(recordType: "Hut", filterBy: [rare]),
        QueryDictionary(recordType: "Hut", filterBy: [rare], sortBy: [Sort(.user("height"))]),
        QueryDictionary(
            recordType: "Hut", filterBy: [Filter(.greaterThan, .user("beds"), .int64(-1)), rare],
            sortBy: [Sort(.user("name")), Sort(.user("height"), isAscending: false)]),
        QueryDictionary(
            recordType: "Hut", filterBy: [Filter(.greaterThan, .user("height"), .int64(200))],
            sortBy: [Sort(.user("height"), isAscending: false)]),
        QueryDictionary(
            recordType: "Hut",
            filterBy: [Filter(.containsAllTokens, .anySearchable, .string("ALPENBLICK old"))]),
        QueryDictionary(
            recordType: "Hut",
            filterBy: [
                Filter(.near, .user("place"), .location(middle), distanceMetres: 50_000)
            ]),
        QueryDictionary(
            recordType: "Hut",
            filterBy: [Filter(.in, .system(.recordName), .stringList(["hut1", "hut2"]))]),
        QueryDictionary(
            recordType: "Hut", sortBy: [Sort(.user("place"), relativeLocation: middle)]),
    ]

    /// A page reads as many records of a large zone as of a small one.
    @Test(arguments: queries)
    func pageCostDoesNotGrowWithTheZone(_ query: QueryDictionary) async throws {
        var scanned: [Int] = []
        for count in [600, 3_000] {
            let alice = try await Self.world(count)
            let page = try await Self.page(query, alice, limit: 20)
            #expect(!page.found.isEmpty)
            scanned.append(page.scanned)
        }
        #expect(scanned[1] <= scanned[0] + 1, "\(scanned)")
        #expect(scanned[1] <= 40, "\(scanned)")
    }

    /// At a pole every level has twice as many cells at the same distance; a queue with all of them used up the
    /// memory.
    @Test(.timeLimit(.minutes(20))) func nearestSearchAtAPoleStaysWithinLimits() async throws {
        let alice = try await World().person("alice")
        try await alice.modify(
            (0..<20).map { number in
                let place = Location(latitude: 90, longitude: Double(number % 2) * 8)
                return hut(
                    .create, "hut\(number)", [Field(name: "place", value: .location(place))])
            })
        let pole = Location(latitude: 90, longitude: 8)
        let query = QueryDictionary(
            recordType: "Hut", sortBy: [Sort(.user("place"), relativeLocation: pole)])
        #expect(try await Self.page(query, alice, limit: 8).found.count == 8)
        #expect(try await Self.page(query, alice, limit: 200).found.count == 20)
    }

    private static func page(
        _ query: QueryDictionary, _ person: Person, limit: Int, after: QueryPosition? = nil
    ) async throws -> RecordSearch.Page {
        let service = person.world.service
        let schema = try await service.components.schemas.schema(of: person.world.address)
        let search = RecordSearch(
            matcher: try RecordMatcher(query, schema: schema),
            order: try RecordOrder(query, schema: schema), limit: limit,
            limits: service.settings.limits)
        let store = try await service.components.databases.store(
            for: DatabaseAddress(person.world.address, .private(owner: person.name)))
        let indexes = service.components.indexes
        try await indexes.prepare(
            [query.recordType], asking: search.askedIndexes, of: schema, in: store)
        await indexes.waitUntilBuilt()
        return try await store.read { reader in
            try search.page(of: reader, in: reader.ownDefaultZone(), after: after)
        }
    }

    /// A filter without an index scans a limited number of records: an answer may have nothing but a marker.
    @Test(arguments: [[], [Sort(.user("height"))]])
    func scanLimitEndsThePageWithAMarker(_ sorts: [Sort]) async throws {
        var limits = Limits()
        limits.recordsScannedPerQuery = 50
        let alice = try await Self.world(300, limits: limits)
        let query = QueryDictionary(
            recordType: "Hut",
            filterBy: [Filter(.notIn, .user("beds"), .int64List([0, 1, 2, 3, 4, 5, 6]))],
            sortBy: sorts)
        var position: QueryPosition?
        var found = 0
        var pages = 0
        repeat {
            let page = try await Self.page(query, alice, limit: 200, after: position)
            #expect(page.scanned <= 70)
            found += page.found.count
            position = page.next
            pages += 1
        } while position != nil && pages < 100
        #expect(found == 10)
        #expect(pages > 4)
    }

    @Test(arguments: [[], [Sort(.user("rank"))], [Sort(.user("rank"), isAscending: false)]])
    func byteLimitEndsThePage(_ sorts: [Sort]) async throws {
        let alice = try await World(limits: .with { $0.queriedBytesPerAnswer = 25_000 }).person(
            "alice")
        try await alice.modify(
            (0..<12).map { number in
                hut(
                    .create, "hut\(number)",
                    [
                        Field(name: "rank", value: .int64(Int64(number % 4))),
                        Field(name: "photo", value: .bytes([UInt8](repeating: 7, count: 6_000))),
                    ])
            })
        var marker: String?
        var names: [[String]] = []
        repeat {
            let page = try await alice.ask(
                RecordsQuery.self,
                .init(
                    query: QueryDictionary(recordType: "Hut", sortBy: sorts),
                    continuationMarker: marker))
            names.append(page.records.compactMap(\.name))
            marker = page.continuationMarker
        } while marker != nil
        #expect(names.allSatisfy { $0.count <= 4 })
        #expect(Set(names.joined()).count == 12 && names.joined().count == 12)
    }

    /// The service keeps no state of a query: its marker is valid after a restart.
    @Test(arguments: Backend.allCases)
    func continuationMarkerSurvivesARestart(_ backend: Backend) async throws {
        let storage = try backend.storage()
        let alice = try await World(storage).person("alice")
        try await alice.modify((0..<9).map { hut(.create, "hut\($0)", [beds(Int64(9 - $0))]) })
        let query = QueryDictionary(recordType: "Hut", sortBy: [Sort(.user("beds"))])
        let first = try await alice.ask(RecordsQuery.self, .init(query: query, resultsLimit: 4))
        let again = try await World(storage).person("alice")
        let second = try await again.ask(
            RecordsQuery.self,
            .init(query: query, continuationMarker: first.continuationMarker))
        #expect(
            (first.records + second.records).compactMap(\.name)
                == (0..<9).reversed().map { "hut\($0)" })
    }

    /// In the public database all users query the same store, but a marker belongs to its caller.
    @Test func continuationMarkerOfAnotherCallerIsRefused() async throws {
        let alice = try await World().person("alice")
        try await alice.modify(
            (0..<3).map { hut(.create, "hut\($0)", [beds(1)]) }, scope: .public)
        let query = QueryDictionary(recordType: "Hut")
        let page = try await alice.ask(
            RecordsQuery.self, .init(query: query, resultsLimit: 1), in: .public)
        let refused = await alice.world.nobody.refusal(
            RecordsQuery.self,
            .init(query: query, continuationMarker: page.continuationMarker), in: .public)
        #expect(refused?.error.code == .badRequest)
    }

    /// With limits that an operator has raised, a query can have more access paths than two bytes count.
    @Test func continuationMarkerHoldsHighNumbers() throws {
        let marker = ContinuationMarker(
            database: Array(repeating: 1, count: 16), query: Array(repeating: 2, count: 16),
            position: QueryPosition(
                place: .init(keys: [[3]], zoneName: "Trips", recordName: "a"),
                accessPath: 70_000, segment: 80_000))
        let signer = TokenSigner(key: [1])
        let text = try marker.text(encryptedBy: signer)
        let read = try ContinuationMarker(
            text: text, signer: signer, database: marker.database, query: marker.query, keys: 1)
        #expect(read == marker)
    }

    // MARK: Places and words

    @Test func locationsAreFilteredAndSortedByDistance() async throws {
        let alice = try await World().person("alice")
        let places = [
            "berlin": (52.52, 13.405), "bern": (46.948, 7.447), "fiji": (-17.71, 178.06),
            "samoa": (-13.76, -172.10), "pole": (90, 0), "zurich": (47.377, 8.541),
        ]
        try await alice.modify(
            places.map { name, place in
                hut(
                    .create, name,
                    [
                        Field(
                            name: "place",
                            value: .location(Location(latitude: place.0, longitude: place.1)))
                    ])
            } + [hut(.create, "nowhere")])
        func names(_ filters: [Filter], _ sorts: [Sort]) async throws -> [String] {
            try await alice.ask(
                RecordsQuery.self,
                .init(query: QueryDictionary(recordType: "Hut", filterBy: filters, sortBy: sorts))
            ).records.compactMap(\.name)
        }
        let bern = Location(latitude: 46.948, longitude: 7.447)
        func near(_ centre: Location, _ metres: Double) -> Filter {
            Filter(.near, .user("place"), .location(centre), distanceMetres: metres)
        }
        #expect(try await names([near(bern, 100_000)], []).sorted() == ["bern", "zurich"])
        // Bern to Zurich is some 95 km.
        #expect(try await names([near(bern, 90_000)], []) == ["bern"])
        let dateLine = Location(latitude: -16, longitude: 180)
        #expect(try await names([near(dateLine, 1_000_000)], []).sorted() == ["fiji", "samoa"])
        #expect(
            try await names([near(Location(latitude: 89, longitude: 90), 200_000)], []) == ["pole"])
        let byDistance = Sort(.user("place"), relativeLocation: bern)
        #expect(
            try await names([], [byDistance])
                == [
                    "bern", "zurich", "berlin", "pole", "fiji", "samoa", "nowhere",
                ].sorted { left, right in
                    func metres(_ name: String) -> Double {
                        guard let place = places[name] else { return .infinity }
                        return bern.distance(to: Location(latitude: place.0, longitude: place.1))
                    }
                    return metres(left) < metres(right)
                })
        let descending = await alice.refusal(
            RecordsQuery.self,
            .init(
                query: QueryDictionary(
                    recordType: "Hut",
                    sortBy: [Sort(.user("place"), isAscending: false, relativeLocation: bern)])))
        #expect(descending?.error.code == .badRequest)
    }

    /// So many places that the rings around the middle are divided finely, some of them at the same place.
    @Test(arguments: Backend.allCases, Seeds.forTest("QueryBoundTests", count: 1))
    func manyLocationsAreSortedByDistance(_ backend: Backend, seed: UInt64) async throws {
        let alice = try await World.alice(try backend.storage()) {
            $0.recordsSortedTogether = 20
            $0.recordsScannedPerQuery = 500
        }
        var numbers = SeededNumbers(seed: seed)
        var places: [String: Location] = [:]
        for number in 0..<400 {
            func near(_ centre: Double, _ spread: Double) -> Double {
                centre + Double.random(in: -spread...spread, using: &numbers)
            }
            places["hut\(number)"] =
                number < 40
                ? Self.middle
                : number < 300
                    ? Location(latitude: near(46.5, 0.05), longitude: near(8, 0.05))
                    : Location(latitude: near(0, 90), longitude: near(0, 180))
        }
        try await alice.modify(
            places.map { name, place in
                hut(.create, name, [Field(name: "place", value: .location(place))])
            })
        let query = QueryDictionary(
            recordType: "Hut", sortBy: [Sort(.user("place"), relativeLocation: Self.middle)])
        var found: [String] = []
        var marker: String?
        repeat {
            let page = try await alice.ask(
                RecordsQuery.self,
                .init(query: query, resultsLimit: 50, continuationMarker: marker))
            found += page.records.compactMap(\.name)
            marker = page.continuationMarker
        } while marker != nil && found.count < 1_000
        let expected = places.sorted { left, right in
            let one = Self.middle.distance(to: left.value)
            let other = Self.middle.distance(to: right.value)
            return one == other
                ? NameOrder.isBefore(left.key, right.key) : one < other
        }.map(\.key)
        #expect(found == expected)
    }

    /// One place may have as many records as a query may scan; more are refused with a reason.
    @Test(arguments: [(40, false), (51, true)])
    func equalDistancesAreSortedUpToALimit(_ count: Int, isRefused: Bool) async throws {
        let alice = try await World(limits: .with { $0.recordsScannedPerQuery = 50 }).person(
            "alice")
        try await alice.modify(
            (0..<count).map { number in
                hut(.create, "hut\(number)", [Field(name: "place", value: .location(Self.middle))])
            })
        let query = QueryDictionary(
            recordType: "Hut", sortBy: [Sort(.user("place"), relativeLocation: Self.middle)])
        if isRefused {
            let refusal = await alice.refusal(
                RecordsQuery.self, .init(query: query, resultsLimit: 10))
            #expect(refusal?.error.reason.contains("at the same distance") == true)
        } else {
            let page = try await alice.ask(
                RecordsQuery.self, .init(query: query, resultsLimit: 10))
            #expect(page.records.count == 10)
        }
    }

    @Test(arguments: [
        (Filter(.containsAllTokens, .user("name"), .string("HÜTTE alp")), "b"),
        (Filter(.containsAnyTokens, .user("name"), .string("hütte alp")), "abd"),
        (Filter(.containsAllTokens, .anySearchable, .string("hutte quiet")), "a"),
        (Filter(.containsAllTokens, .user("name"), .string("hutte quiet")), ""),
        (Filter(.containsAnyTokens, .anySearchable, .string("quiet")), "ac"),
        (Filter(.containsAllTokens, .anySearchable, .string("")), ""),
        // Whole words only.
        (Filter(.containsAnyTokens, .user("name"), .string("hutt")), ""),
    ])
    func tokenSearchFindsWords(_ filter: Filter, _ expected: String) async throws {
        let alice = try await World().person("alice")
        try await alice.modify([
            hut(.create, "a", [text("name", "Hütte am See"), text("note", "Quiet")]),
            hut(.create, "b", [text("name", "Alp-Hutte 7"), text("note", "loud")]),
            hut(.create, "c", [text("note", "very quiet, quiet")]),
            hut(.create, "d", [text("name", "ALP")]),
        ])
        let found = try await alice.ask(
            RecordsQuery.self,
            .init(query: QueryDictionary(recordType: "Hut", filterBy: [filter])))
        #expect(found.records.compactMap(\.name).sorted().joined() == expected)
    }
}

extension StoreReader {
    /// The default zone, as its owner sees it.
    func ownDefaultZone() throws -> [RecordSearch.Zone] {
        try zones().filter { $0.name == ZoneID.defaultZoneName }
            .map { RecordSearch.Zone(row: $0) { _ in true } }
    }
}
