import Logging
import StratusMatching
import StratusRecords
import StratusSchema
import StratusWire
import Testing

@testable import StratusQuery
@testable import StratusStorage

/// A filter for some values and a sort on another field, served by one index of both fields.
@Suite struct CompoundIndexTests {
    private static let recordCount = 20_000
    private static let pageLength = 10

    /// How many different values the field `kind…` has; they are spread irregularly over the heights.
    private static let kinds = [1_000, 20, 2, 1]

    private static func schema(_ heightMarks: FieldIndexes) -> ContainerSchema {
        ContainerSchema(
            SchemaRows(
                fields: [
                    SchemaFieldRow(recordType: "Hut", field: nil, type: nil),
                    SchemaFieldRow(
                        recordType: "Hut", field: "height", type: .int64, indexes: heightMarks),
                ]
                    + kinds.map {
                        SchemaFieldRow(
                            recordType: "Hut", field: "kind\($0)", type: .int64,
                            indexes: .queryable)
                    }))
    }

    private static let marked = schema(.sortable)
    private static let unmarked = schema([])

    private func save(_ numbers: Range<Int>, in store: any RecordStore) async throws {
        try await store.saveHuts(numbers) { number, scatter in
            [Field(name: "height", value: .int64(Int64(number * 7_919 % 20_000 / 3)))]
                + Self.kinds.map {
                    Field(name: "kind\($0)", value: .int64(scatter.next(below: $0)))
                }
        }
    }

    private func search(
        _ kinds: Int, isAscending: Bool = true, values: [Int64] = [0], limits: Limits = Limits()
    ) throws -> RecordSearch {
        let filter =
            values.count == 1
            ? QueryDictionary.Filter(.equals, .user("kind\(kinds)"), .int64(values[0]))
            : QueryDictionary.Filter(
                .in, .user("kind\(kinds)"), .int64List(values))
        let query = QueryDictionary(
            recordType: "Hut", filterBy: [filter],
            sortBy: [.init(.user("height"), isAscending: isAscending)])
        return RecordSearch(
            matcher: try RecordMatcher(query, schema: Self.marked),
            order: try RecordOrder(query, schema: Self.marked), limit: Self.pageLength,
            limits: limits)
    }

    /// The names on some pages, the number of records read for them, and the compound index of the last page.
    private func read(
        _ search: RecordSearch, _ store: any RecordStore, pages: Int = 10
    ) async throws -> (names: [String], scanned: Int, pages: Int, compound: IndexRow.Definition?) {
        var position: QueryPosition?
        var found: (names: [String], scanned: Int, pages: Int, compound: IndexRow.Definition?) =
            ([], 0, 0, nil)
        repeat {
            let page = try await store.read { [position] reader in
                try search.page(of: reader, in: reader.ownDefaultZone(), after: position)
            }
            found.names += page.found.map(\.row.name)
            found.scanned += page.scanned
            found.pages += 1
            found.compound = page.compound ?? found.compound
            position = page.next
        } while position != nil && found.pages < pages
        return found
    }

    private func definitions(_ store: any RecordStore) async throws -> [IndexRow.Definition] {
        try await store.read { try $0.indexes().filter { $0.phase == .readable } }
            .map(\.definition).filter { $0.kind == .compound }
    }

    /// A page reads at most twice as many records as it returns, whatever fraction of the records matches.
    @Test func compoundIndexBoundsRecordsReadPerPage() async throws {
        let store = try await emptyStore()
        let manager = IndexManager()
        try await manager.prepare(["Hut"], of: Self.marked, in: store)
        try await save(0..<Self.recordCount, in: store)
        for kinds in Self.kinds {
            for isAscending in [true, false] {
                let search = try search(kinds, isAscending: isAscending)
                try await manager.prepare(
                    ["Hut"], asking: search.askedIndexes, of: Self.marked, in: store)
                await manager.waitUntilBuilt()
                let before = try await read(search, store)
                let asked = Set([before.compound].compactMap(\.self))
                let price = try await manager.prepare(
                    ["Hut"], asking: asked, of: Self.marked, in: store)
                await manager.waitUntilBuilt()
                let after = try await read(search, store)
                #expect(after.names == before.names)
                // This many records are read before an index is worth its writes.
                let few = kinds == 20 ? 0 : Limits().recordsReadPerCompoundIndex
                #expect(
                    after.scanned <= max(2 * (Self.pageLength + 1), few) * after.pages,
                    "1/\(kinds): \(after.scanned) for \(after.pages) pages, \(before.scanned) before"
                )
                if kinds == 20 {
                    // One index serves both directions.
                    #expect(!isAscending || before.scanned > 100 * before.pages)
                    #expect(price == (isAscending ? IndexPlan.recordsCounted : 0))
                }
            }
        }
        // An index is not worth a write at every save if a page reads few records without it.
        let made = try await definitions(store).map(\.field)
        #expect(made.contains("kind20") && !made.contains("kind1") && !made.contains("kind2"))
        let several = try search(20, values: [3, 7, 11, 99])
        let merged = try await read(several, store)
        #expect(merged.scanned <= 4 * 2 * (Self.pageLength + 1) * merged.pages)
        try await dropAll(store, manager)
        #expect(try await read(several, store).names == merged.names)
    }

    /// A compound index is read value by value; if a filter names most values, reading the records in order is
    /// cheaper.
    @Test(arguments: [2, 16]) func filterOfMostValuesReadsRecordsInOrder(_ values: Int) async throws
    {
        let store = try await emptyStore()
        let manager = IndexManager()
        try await manager.prepare(["Hut"], of: Self.marked, in: store)
        try await save(0..<4_000, in: store)
        let search = try search(20, values: Array(0..<Int64(values)))
        let compound = try #require(search.compounds.first?.definition)
        try await manager.prepare(
            ["Hut"], asking: search.askedIndexes.union([compound]), of: Self.marked, in: store)
        await manager.waitUntilBuilt()
        let pages = try await read(search, store)
        let inOrder = Double(Self.pageLength + 1) * 20 / Double(values)
        #expect(
            Double(pages.scanned) <= 2 * inOrder * Double(pages.pages),
            "\(pages.scanned) for \(pages.pages) pages")
        #expect(pages.names.count == 10 * Self.pageLength && pages.compound == compound)
    }

    private func dropAll(_ store: any RecordStore, _ manager: IndexManager) async throws {
        try await manager.prepare(["Hut"], of: Self.unmarked, in: store)
        await manager.waitUntilBuilt()
        #expect(try await definitions(store) == [])
        try await manager.prepare(
            ["Hut"], asking: search(20).askedIndexes, of: Self.marked, in: store)
        await manager.waitUntilBuilt()
    }

    /// There is no compound index if the schema does not allow one of its two fields: before a deployment, and
    /// after one that removes a mark.
    @Test func compoundIndexNeedsTheMarksOfBothFields() async throws {
        let store = try await emptyStore()
        let manager = IndexManager()
        try await manager.prepare(["Hut"], of: Self.unmarked, in: store)
        try await save(0..<300, in: store)
        let compound = try #require(try search(20).compounds.first?.definition)
        try await manager.prepare(["Hut"], asking: [compound], of: Self.unmarked, in: store)
        #expect(try await definitions(store) == [])
        try await manager.prepare(["Hut"], asking: [compound], of: Self.marked, in: store)
        await manager.waitUntilBuilt()
        #expect(try await definitions(store) == [compound])
        try await manager.prepare(["Hut"], of: Self.unmarked, in: store)
        #expect(try await definitions(store) == [])
    }

    /// Every save writes to a compound index, so it is dropped once only saves use its type. If there are too many,
    /// the one that was requested least recently is dropped.
    @Test func unusedCompoundIndexIsDropped() async throws {
        var limits = Limits()
        limits.compoundIndexesPerDatabase = 2
        limits.savesPerUnusedIndex = 5
        let store = try await emptyStore()
        let manager = IndexManager(limits: limits)
        try await save(0..<30, in: store)
        let compounds = try Self.kinds.compactMap { try search($0).compounds.first?.definition }
        for compound in compounds.prefix(3) {
            try await manager.prepare(["Hut"], asking: [compound], of: Self.marked, in: store)
            await manager.waitUntilBuilt()
        }
        #expect(try await Set(definitions(store)) == Set(compounds[1...2]))
        for _ in 0..<4 {
            try await manager.prepare(["Hut"], of: Self.marked, in: store)
            try await manager.prepare(["Hut"], asking: [compounds[1]], of: Self.marked, in: store)
        }
        #expect(try await definitions(store).count == 2)
        for _ in 0..<2 { try await manager.prepare(["Hut"], of: Self.marked, in: store) }
        await manager.waitUntilBuilt()
        #expect(try await definitions(store) == [compounds[1]])
        // After a restart, counting the saves starts again.
        let later = IndexManager(limits: limits)
        for _ in 0..<6 { try await later.prepare(["Hut"], of: Self.marked, in: store) }
        #expect(try await definitions(store) == [compounds[1]])
        for _ in 0..<2 { try await later.prepare(["Hut"], of: Self.marked, in: store) }
        #expect(try await definitions(store) == [])
    }
}
