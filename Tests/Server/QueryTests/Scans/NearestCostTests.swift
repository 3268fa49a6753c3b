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
        let store = try await store()
        let query = QueryDictionary(
            recordType: "Hut",
            sortBy: [
                .init(
                    .user("place"), relativeLocation: Location(latitude: 47, longitude: 8))
            ])
        let search = RecordSearch(
            matcher: try RecordMatcher(query, schema: Self.schema),
            order: try RecordOrder(query, schema: Self.schema), limit: 10, limits: Limits())
        let page = try await store.read { reader in
            try search.page(of: reader, in: reader.ownDefaultZone(), after: nil)
        }
        #expect(page.found.count == 10)
        // Neither the whole zone nor no records.
        #expect((20...1_000).contains(page.entriesRead), "\(page.entriesRead)")
    }
}
