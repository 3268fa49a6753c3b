import Foundation
import Logging
import StratusMatching
import StratusRecords
import StratusSQLite
import StratusSchema
import StratusWire
import TestProcesses
import Testing

@testable import StratusQuery
@testable import StratusStorage

/// Indexes are created, built from the stored records, and dropped.
@Suite struct IndexTests {
    private static func schema(_ fields: [SchemaFieldRow]) -> ContainerSchema {
        ContainerSchema(
            SchemaRows(fields: [SchemaFieldRow(recordType: "Hut", field: nil, type: nil)] + fields))
    }

    private static let plain = schema([])
    private static let marked = schema([
        SchemaFieldRow(
            recordType: "Hut", field: "beds", type: .int64, indexes: [.queryable, .sortable]),
        SchemaFieldRow(recordType: "Hut", field: "name", type: .string, indexes: .searchable),
    ])

    /// The indexes that queries of all kinds ask for.
    private static let all = marked.indexes(of: "Hut")

    private func store(_ storage: any StorageEngine) async throws -> any RecordStore {
        try await storage.store(
            for: DatabaseAddress(
                ContainerAddress(container: "c", environment: .production), .public))
    }

    /// Saves records with their index entries.
    private func save(_ numbers: Range<Int>, in store: any RecordStore) async throws {
        try await store.saveHuts(numbers) { number, _ in
            [
                Field(name: "beds", value: .int64(Int64(number % 10))),
                Field(name: "name", value: .string("Hut number \(number)")),
            ]
        }
    }

    /// The phases of a type's indexes and the number of their entries, as text.
    private func summary(_ store: any RecordStore) async throws -> [String] {
        try await store.read { reader in
            try reader.indexes(ofType: "Hut").map { index in
                let count = try reader.zones().reduce(0) { sum, zone in
                    try sum
                        + reader.entryCount(of: index.key, in: zone.key, within: .all, limit: 9_999)
                }
                let field = index.definition.field.isEmpty ? "names" : index.definition.field
                return "\(field) \(index.definition.kind) \(index.phase) \(count)"
            }.sorted()
        }
    }

    /// An index is built in bounded steps while others save; after an interruption a new service continues.
    @Test(arguments: Backend.allCases)
    func indexIsBuiltFromStoredRecords(_ backend: Backend) async throws {
        var limits = Limits()
        limits.recordsPerIndexStep = 5
        let store = try await store(try backend.storage())
        try await IndexManager(limits: limits).prepare(["Hut"], of: Self.plain, in: store)
        try await save(0..<50, in: store)
        try await store.writeRecords { writer in
            for definition in Self.marked.indexes(of: "Hut").sorted(by: { $0.field < $1.field })
            where try !writer.indexes(ofType: "Hut").contains(where: { $0.definition == definition }
            ) {
                try RecordIndexing.createIndex(definition, in: writer)
            }
        }
        // Interrupted after two steps; a save then writes to the index that is being built.
        for _ in 0..<2 {
            let hasMore = try await store.writeRecords { [limits] in
                try IndexBuilding(limits: limits).step(in: $0)
            }
            #expect(hasMore)
        }
        try await save(50..<53, in: store)
        let halfway = try await summary(store)
        #expect(halfway.contains("beds value building 13"), "\(halfway)")
        let second = IndexManager(limits: limits)
        try await second.prepare(["Hut"], asking: Self.all, of: Self.marked, in: store)
        await second.waitUntilBuilt()
        let filled = try await summary(store)
        #expect(
            filled == [
                "___parent value readable 0", "beds value readable 53",
                "name token readable \(53 * 3)", "names name readable 53",
            ])
    }

    @Test(arguments: Backend.allCases)
    func indexOfANewTypeIsReadableAtOnce(_ backend: Backend) async throws {
        let store = try await store(try backend.storage())
        try await IndexManager().prepare(["Hut"], asking: Self.all, of: Self.marked, in: store)
        let empty = try await summary(store)
        #expect(empty.allSatisfy { $0.hasSuffix("readable 0") } && empty.count == 4)
        try await save(0..<3, in: store)
        #expect(try await summary(store).contains("name token readable 9"))
    }

    @Test(arguments: Backend.allCases)
    func indexIsDroppedInSteps(_ backend: Backend) async throws {
        var limits = Limits()
        limits.entriesPerIndexStep = 7
        let store = try await store(try backend.storage())
        let manager = IndexManager(limits: limits)
        try await manager.prepare(["Hut"], asking: Self.all, of: Self.marked, in: store)
        try await save(0..<50, in: store)
        try await manager.prepare(["Hut"], of: Self.plain, in: store)
        // Marked again before all entries are deleted: a new index next to the rest of the old one.
        try await manager.prepare(["Hut"], asking: Self.all, of: Self.marked, in: store)
        await manager.waitUntilBuilt()
        try await manager.prepare(["Hut"], of: Self.plain, in: store)
        await manager.waitUntilBuilt()
        #expect(
            try await summary(store) == ["___parent value readable 0", "names name readable 50"])
    }

    /// In a file from before there were indexes, no index is readable until all records were read.
    @Test func recordsOlderThanIndexesAreIndexed() async throws {
        let folder = try RunFolder.newFolder()
        let storage = try SQLiteStorageEngine(folder: folder)
        let store = try await store(storage)
        try await IndexManager().prepare(["Hut"], of: Self.plain, in: store)
        try await save(0..<30, in: store)
        try await storage.withDatabase(of: store.address) { file in
            try await file.write { database in
                for sql in [
                    "DELETE FROM record_index", "DELETE FROM index_definition",
                    "UPDATE index_origin SET has_older_records = 1",
                ] {
                    try SQLStatement(database, sql).run()
                }
            }
        }
        var limits = Limits()
        limits.recordsPerIndexStep = 4
        let manager = IndexManager(limits: limits)
        try await manager.prepare(["Hut"], asking: Self.all, of: Self.marked, in: store)
        #expect(try await summary(store).contains { $0.contains("building") })
        await manager.waitUntilBuilt()
        #expect(
            try await summary(store) == [
                "___parent value readable 0", "beds value readable 30", "name token readable 90",
                "names name readable 30",
            ])
        try await storage.close()
    }

    /// While an index is built, a filter is checked without it, and a sort that needs it gets pages without
    /// records until it is complete.
    @Test func queryIsServedWhileItsIndexIsBuilt() async throws {
        var limits = Limits()
        limits.recordsScannedPerQuery = 20
        limits.recordsPerIndexStep = 5
        let store = try await store(SQLiteStorageEngine.inMemory())
        try await IndexManager().prepare(["Hut"], of: Self.plain, in: store)
        try await save(0..<50, in: store)
        try await store.writeRecords { writer in
            for definition in Self.all.sorted(by: { $0.field < $1.field })
            where try !writer.indexes(ofType: "Hut").contains(where: { $0.definition == definition }
            ) {
                try RecordIndexing.createIndex(definition, in: writer)
            }
        }
        let filter = QueryDictionary.Filter(.equals, .user("beds"), .int64(3))
        let filtered = try search(QueryDictionary(recordType: "Hut", filterBy: [filter]), limits)
        let page = try await store.read { reader in
            try filtered.page(of: reader, in: reader.ownDefaultZone(), after: nil)
        }
        #expect(page.next != nil && page.scanned == 20)
        for isAscending in [true, false] {
            let sorted = try search(
                QueryDictionary(
                    recordType: "Hut", filterBy: [filter],
                    sortBy: [.init(.user("beds"), isAscending: isAscending)]), limits)
            let waiting = try await store.read { reader in
                try sorted.page(of: reader, in: reader.ownDefaultZone(), after: nil)
            }
            #expect(waiting.isWaiting && waiting.found.isEmpty && waiting.scanned == 0)
            let start = try #require(waiting.next)
            if !isAscending {
                while try await store.writeRecords({ [limits] in
                    try IndexBuilding(limits: limits).step(in: $0)
                }) {}
            }
            let next = try await store.read { reader in
                try sorted.page(of: reader, in: reader.ownDefaultZone(), after: start)
            }
            #expect(next.isWaiting == isAscending)
            #expect(next.found.count == (isAscending ? 0 : 5))
        }
    }

    /// Every save writes to an index, so it is created when a query asks for it. If there are too many, the one
    /// that was requested least recently is dropped.
    @Test func indexIsCreatedWhenAQueryRequestsIt() async throws {
        var limits = Limits()
        limits.indexesPerDatabase = 1
        let store = try await store(SQLiteStorageEngine.inMemory())
        let manager = IndexManager(limits: limits)
        try await manager.prepare(["Hut"], of: Self.marked, in: store)
        try await save(0..<30, in: store)
        #expect(try await summary(store) == ["names name readable 30"])
        let beds = Self.all.filter { $0.field == "beds" }
        let names = Self.all.filter { $0.field == "name" }
        let entries = try await manager.prepare(
            ["Hut"], asking: beds, of: Self.marked, in: store)
        await manager.waitUntilBuilt()
        #expect(entries == 30)
        #expect(try await manager.prepare(["Hut"], asking: beds, of: Self.marked, in: store) == 0)
        #expect(try await summary(store) == ["beds value readable 30", "names name readable 30"])
        try await manager.prepare(["Hut"], asking: names, of: Self.marked, in: store)
        await manager.waitUntilBuilt()
        #expect(try await summary(store) == ["name token readable 90", "names name readable 30"])
        // Asked for again, it is created again; after a restart too.
        let later = IndexManager(limits: limits)
        try await later.prepare(["Hut"], asking: beds, of: Self.marked, in: store)
        await later.waitUntilBuilt()
        #expect(try await summary(store) == ["beds value readable 30", "names name readable 30"])
    }

    /// As for a participant's query in the owner's database.
    @Test func indexThatMayNotReplaceOthersNeedsRoom() async throws {
        var limits = Limits()
        limits.indexesPerDatabase = 1
        let store = try await store(SQLiteStorageEngine.inMemory())
        let beds = Self.all.filter { $0.field == "beds" }
        let names = Self.all.filter { $0.field == "name" }
        let manager = IndexManager(limits: limits)
        try await manager.prepare(["Hut"], of: Self.marked, in: store)
        try await save(0..<30, in: store)
        try await manager.prepare(
            ["Hut"], asking: beds, mayReplace: false, of: Self.marked, in: store)
        await manager.waitUntilBuilt()
        #expect(try await summary(store) == ["beds value readable 30", "names name readable 30"])
        for _ in 0..<2 {
            let entries = try await manager.prepare(
                ["Hut"], asking: names, mayReplace: false, of: Self.marked, in: store)
            #expect(entries == 0)
        }
        await manager.waitUntilBuilt()
        #expect(try await summary(store) == ["beds value readable 30", "names name readable 30"])
        // It was not noted as prepared: the owner's query gets it.
        try await manager.prepare(["Hut"], asking: names, of: Self.marked, in: store)
        await manager.waitUntilBuilt()
        #expect(try await summary(store) == ["name token readable 90", "names name readable 30"])
    }

    private func search(_ query: QueryDictionary, _ limits: Limits) throws -> RecordSearch {
        RecordSearch(
            matcher: try RecordMatcher(query, schema: Self.marked),
            order: try RecordOrder(query, schema: Self.marked), limit: 100, limits: limits)
    }
}
