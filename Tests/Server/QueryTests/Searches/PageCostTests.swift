import StratusMatching
import StratusRecords
import StratusSchema
import StratusWire
import Testing

@testable import StratusQuery
@testable import StratusStorage

/// How many records a page with a filter and a sort on another field reads.
@Suite struct PageCostTests {
    private static let recordCount = 20_000
    private static let pageLength = 10

    private static let schema = ContainerSchema(
        SchemaRows(fields: [
            SchemaFieldRow(recordType: "Hut", field: nil, type: nil),
            SchemaFieldRow(
                recordType: "Hut", field: "kind", type: .int64, indexes: [.queryable, .sortable]),
            SchemaFieldRow(
                recordType: "Hut", field: "height", type: .int64, indexes: [.queryable, .sortable]),
        ]))

    /// Huts whose kinds, 0 to 999, are spread irregularly over their heights.
    private func store() async throws -> any RecordStore {
        let store = try await emptyStore()
        try await store.createIndexes(Self.schema)
        try await store.saveHuts(0..<Self.recordCount) { number, scatter in
            [
                Field(name: "kind", value: .int64(scatter.next(below: 1_000))),
                Field(name: "height", value: .int64(Int64(number * 7_919 % 20_000))),
            ]
        }
        return store
    }

    /// A page reads at most twice as many records as the cheaper of two ways: all matches, or the records in order
    /// until a page of them matches.
    @Test func pageUsesTheCheaperAccessPath() async throws {
        let store = try await store()
        for (kinds, isAscending) in [(1, true), (50, false), (500, true), (1_000, false)] {
            let filter = QueryDictionary.Filter(.lessThan, .user("kind"), .int64(Int64(kinds)))
            let query = QueryDictionary(
                recordType: "Hut", filterBy: [filter],
                sortBy: [.init(.user("height"), isAscending: isAscending)])
            let search = RecordSearch(
                matcher: try RecordMatcher(query, schema: Self.schema),
                order: try RecordOrder(query, schema: Self.schema), limit: Self.pageLength,
                limits: Limits())
            let selectivity = Double(kinds) / 1_000
            let matches = Double(Self.recordCount) * selectivity
            var (position, pages, found, scanned): (QueryPosition?, Int, Int, Int) = (nil, 0, 0, 0)
            repeat {
                let page = try await store.read { [position] reader in
                    try search.page(of: reader, in: reader.ownDefaultZone(), after: position)
                }
                (position, pages) = (page.next, pages + 1)
                (found, scanned) = (found + page.found.count, scanned + page.scanned)
            } while position != nil && pages < 20
            // On average over the pages, since the matches are not spread evenly.
            let cheaper = min(matches, Double(Self.pageLength + 1) / selectivity)
            #expect(
                Double(scanned) <= 2 * cheaper * Double(pages),
                "\(kinds): \(scanned) read for \(pages) pages, \(cheaper) each the cheaper way")
            #expect(found == (kinds == 1 ? found : 20 * Self.pageLength))
        }
    }
}
