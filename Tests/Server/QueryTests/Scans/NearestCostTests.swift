import StratusMatching
import StratusRecords
import StratusSchema
import StratusWire
import Testing

@testable import StratusQuery
@testable import StratusStorage

/// How many records a page sorted by distance reads, which a query is charged for.
@Suite struct NearestCostTests {
    private static let recordCount = 5_000

    private static let schema = ContainerSchema(
        SchemaRows(fields: [
            SchemaFieldRow(recordType: "Hut", field: nil, type: nil),
            SchemaFieldRow(
                recordType: "Hut", field: "___recordID", type: .reference, indexes: [.queryable]),
            SchemaFieldRow(
                recordType: "Hut", field: "place", type: .location,
                indexes: [.queryable, .sortable]),
        ]))

    /// Huts on a line of about 500 km, 100 m apart.
    private func store() async throws -> any RecordStore {
        let store = try await emptyStore()
        try await store.createIndexes(Self.schema)
        try await store.saveHuts(0..<Self.recordCount) { number, _ in
            let place = Location(latitude: 46 + Double(number) / 1_112, longitude: 8)
            return [Field(name: "place", value: .location(place))]
        }
        return store
    }

    @Test func entriesReadForDistancesAreCounted() async throws {
        let page = try await Self.nearest(
            to: Location(latitude: 47, longitude: 8), limit: 10, in: store())
        #expect(page.found.count == 10)
        // Neither the whole zone nor no records.
        #expect((20...1_000).contains(page.entriesRead), "\(page.entriesRead)")
    }

    /// More records than one read takes lie in the last cell of the earth's surface, after which there is no key.
    @Test func recordsAtTheLastPlaceOfTheEarthAreFound() async throws {
        let store = try await emptyStore()
        try await store.createIndexes(Self.schema)
        let corner = Location(latitude: 90, longitude: 180)
        try await store.saveHuts(0..<70) { _, _ in
            [Field(name: "place", value: .location(corner))]
        }
        let page = try await Self.nearest(to: corner, limit: 100, in: store)
        #expect(page.found.count == 70)
        let first = try await Self.nearest(to: corner, limit: 10, in: store)
        #expect(first.found.count == 10)
    }

    private static func nearest(
        to place: Location, limit: Int, in store: any RecordStore
    ) async throws -> RecordSearch.Page {
        let query = QueryDictionary(
            recordType: "Hut", sortBy: [.init(.user("place"), relativeLocation: place)])
        let search = RecordSearch(
            matcher: try RecordMatcher(query, schema: schema),
            order: try RecordOrder(query, schema: schema), limit: limit, limits: Limits())
        return try await store.read { reader in
            try search.page(of: reader, in: reader.ownDefaultZone(), after: nil)
        }
    }
}
