import StratusMatching
import StratusRecords
import StratusSchema
import StratusWire
import Testing

@testable import StratusQuery
@testable import StratusStorage

/// What a page in the order of distance reads, which a query is charged for.
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
        let store = try await SQLiteStorageEngine.inMemory().store(
            for: DatabaseAddress(
                ContainerAddress(container: "c", environment: .production), .public))
        try await store.writeRecords { writer in
            for definition in Self.schema.indexes(of: "Hut").sorted(by: { $0.field < $1.field }) {
                _ = try writer.createIndex(definition, phase: .readable)
            }
            let zone = try #require(try writer.zone(named: "_defaultZone")).key
            var indexing = RecordIndexing()
            for number in 0..<Self.recordCount {
                let version = try writer.takeVersions(1, in: zone).lowerBound
                let place = Location(latitude: 46 + Double(number) / 1_112, longitude: 8)
                let fields = [Field(name: "place", value: .location(place))]
                let row = RecordRow(
                    zone: zone, name: "hut\(number)", type: "Hut", version: version,
                    commitVersion: version, changeTag: "t\(version)", isDeleted: false,
                    creatorDevice: "", createdMilliseconds: 1, modifiedMilliseconds: 1,
                    creator: "_a", modifier: "_a", modifierDevice: "", parent: nil, shareRoot: nil,
                    payload: RecordFields.values(fields).encoded())
                try writer.put(row)
                try indexing.update(row, fields: fields, old: nil, in: writer)
            }
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
        // Not the whole zone, and not nothing.
        #expect((20...1_000).contains(page.entriesRead), "\(page.entriesRead)")
    }
}
