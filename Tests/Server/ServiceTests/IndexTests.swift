import Foundation
import Logging
import StratusRecords
import StratusWire
import Testing

@testable import StratusService
@testable import StratusStorage

/// How indexes come into being, are filled from what is there, and go.
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

    private func store(_ house: any Storehouse) async throws -> any RecordStore {
        try await house.store(
            for: DatabaseAddress(
                ContainerAddress(container: "c", environment: .production), .public))
    }

    private func book(_ limits: Limits = Limits()) -> IndexBook {
        IndexBook(limits: limits, logger: Logger(label: "test"))
    }

    /// Saves records as the modify path does.
    private func save(_ numbers: Range<Int>, in store: any RecordStore) async throws {
        try await store.write { writer in
            let zone = try #require(try writer.zone(named: "_defaultZone")).key
            var indexing = RecordIndexing()
            for number in numbers {
                let version = try writer.takeVersions(1, in: zone).lowerBound
                let fields = [beds(Int64(number % 10)), text("name", "Hut number \(number)")]
                let row = Self.row("hut\(number)", zone, version, fields)
                try writer.put(row)
                try indexing.update(row, fields: fields, old: nil, in: writer)
            }
        }
    }

    private static func row(
        _ name: String, _ zone: ZoneRow.Key, _ version: Int64, _ fields: [Field]
    ) -> RecordRow {
        RecordRow(
            zone: zone, name: name, type: "Hut", version: version, commitVersion: version,
            changeTag: "t\(version)", isDeleted: false, creatorDevice: "", createdMilliseconds: 1,
            modifiedMilliseconds: 1, creator: "_a", modifier: "_a", modifierDevice: "",
            parent: nil, shareRoot: nil, payload: RecordFields.values(fields).encoded())
    }

    /// The phases of a type's indexes and the number of their entries, as text.
    private func picture(_ store: any RecordStore) async throws -> [String] {
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

    /// In bounded steps, while others save; a service that starts in the middle goes on.
    @Test(arguments: Backend.allCases)
    func anIndexIsFilledFromWhatIsThere(_ backend: Backend) async throws {
        var limits = Limits()
        limits.recordsPerIndexStep = 5
        let store = try await store(try backend.storehouse())
        try await book(limits).prepare(["Hut"], of: Self.plain, in: store)
        try await save(0..<50, in: store)
        try await store.write { writer in
            for definition in Self.marked.indexes(of: "Hut").sorted(by: { $0.field < $1.field })
            where try !writer.indexes(ofType: "Hut").contains(where: { $0.definition == definition }
            ) {
                try IndexBook.createIndex(definition, in: writer)
            }
        }
        // Interrupted after two steps; a save meanwhile is written to what is being built.
        for _ in 0..<2 {
            let hasMore = try await store.write { [limits] in
                try IndexBuilding(limits: limits).step(in: $0)
            }
            #expect(hasMore)
        }
        try await save(50..<53, in: store)
        let halfway = try await picture(store)
        #expect(halfway.contains("beds value building 13"), "\(halfway)")
        let second = book(limits)
        try await second.prepare(["Hut"], of: Self.marked, in: store)
        await second.settle()
        let filled = try await picture(store)
        #expect(
            filled == [
                "___parent value readable 0", "beds value readable 53",
                "name token readable \(53 * 3)", "names name readable 53",
            ])
    }

    @Test(arguments: Backend.allCases)
    func theFirstRecordsNeedNoFilling(_ backend: Backend) async throws {
        let store = try await store(try backend.storehouse())
        try await book().prepare(["Hut"], of: Self.marked, in: store)
        let empty = try await picture(store)
        #expect(empty.allSatisfy { $0.hasSuffix("readable 0") } && empty.count == 4)
        try await save(0..<3, in: store)
        #expect(try await picture(store).contains("name token readable 9"))
    }

    @Test(arguments: Backend.allCases)
    func anIndexThatIsGivenUpGoesInSteps(_ backend: Backend) async throws {
        var limits = Limits()
        limits.entriesPerIndexStep = 7
        let store = try await store(try backend.storehouse())
        let book = book(limits)
        try await book.prepare(["Hut"], of: Self.marked, in: store)
        try await save(0..<50, in: store)
        try await book.prepare(["Hut"], of: Self.plain, in: store)
        // Marked again before all is gone: a new index, beside the rest of the old one.
        try await book.prepare(["Hut"], of: Self.marked, in: store)
        await book.settle()
        try await book.prepare(["Hut"], of: Self.plain, in: store)
        await book.settle()
        #expect(
            try await picture(store) == ["___parent value readable 0", "names name readable 50"])
    }

    /// A file from before there were indexes: nothing is taken for complete until it was gone through.
    @Test func recordsFromBeforeAreFound() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-service-tests-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }  // a leftover hurts nobody
        let house = try SQLiteStorehouse(folder: folder)
        let store = try await store(house)
        try await book().prepare(["Hut"], of: Self.plain, in: store)
        try await save(0..<30, in: store)
        try await house.withFile(of: store.address) { file in
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
        let book = book(limits)
        try await book.prepare(["Hut"], of: Self.marked, in: store)
        #expect(try await picture(store).contains { $0.contains("building") })
        await book.settle()
        #expect(
            try await picture(store) == [
                "___parent value readable 0", "beds value readable 30", "name token readable 90",
                "names name readable 30",
            ])
        try await house.close()
    }

    /// While an index is being built, what needs it is asked to come again; what does not is answered.
    @Test func aQueryWaitsForTheIndexThatItNeeds() async throws {
        var limits = Limits()
        limits.recordsScannedPerQuery = 20
        let store = try await store(MemoryStorehouse())
        try await book().prepare(["Hut"], of: Self.plain, in: store)
        try await save(0..<50, in: store)
        try await store.write { writer in
            for definition in Self.marked.indexes(of: "Hut").sorted(by: { $0.field < $1.field })
            where try !writer.indexes(ofType: "Hut").contains(where: { $0.definition == definition }
            ) {
                try IndexBook.createIndex(definition, in: writer)
            }
        }
        let filter = QueryDictionary.Filter(.equals, .user("beds"), .int64(3))
        let filtered = try search(QueryDictionary(recordType: "Hut", filterBy: [filter]), limits)
        let page = try await store.read { reader in
            try filtered.page(of: reader, in: reader.ownDefaultZone(), after: nil)
        }
        #expect(page.next != nil && page.scanned == 20)
        let sorted = try search(
            QueryDictionary(recordType: "Hut", filterBy: [filter], sortBy: [.init(.user("beds"))]),
            limits)
        await #expect(throws: ServiceError.indexIsBuilding) {
            try await store.read { reader in
                try sorted.page(of: reader, in: reader.ownDefaultZone(), after: nil)
            }
        }
    }

    private func search(_ query: QueryDictionary, _ limits: Limits) throws -> RecordSearch {
        RecordSearch(
            matcher: try RecordMatcher(query, schema: Self.marked),
            order: try RecordOrder(query, schema: Self.marked), limit: 100, limits: limits)
    }

    // MARK: Keys

    @Test func keysAreInTheOrderOfTheirValues() {
        let ascending: [[FieldValue]] = [
            [.int64(.min), .int64(-1), .int64(0), .int64(1), .int64(.max)],
            [
                .double(-.infinity), .double(-1e300), .double(-1.5), .double(0),
                .double(.leastNonzeroMagnitude),
                .double(0.5), .double(1e300), .double(.infinity), .double(.nan),
            ],
            [.string(""), .string("A"), .string("a"), .string("ab"), .string("b"), .string("é")],
            [.timestamp(milliseconds: -1), .timestamp(milliseconds: 0)],
            [
                .reference(Reference(recordName: "a", zoneID: ZoneID(name: "z"))),
                .reference(Reference(recordName: "a b")), .reference(Reference(recordName: "ab")),
            ],
        ]
        for values in ascending {
            let keys = values.compactMap(IndexKey.bytes(of:))
            #expect(keys.count == values.count)
            for (one, next) in zip(keys, keys.dropFirst()) {
                #expect(one.lexicographicallyPrecedes(next))
            }
            #expect(keys.allSatisfy { KeyRange.values.contains($0) })
        }
        #expect(IndexKey.bytes(of: .double(-0.0)) == IndexKey.bytes(of: .double(0)))
        #expect(IndexKey.bytes(of: .string("é")) == IndexKey.bytes(of: .string("e\u{301}")))
        #expect(IndexKey.double(in: IndexKey.bytes(of: -1.5)) == -1.5)
    }

    @Test(arguments: [
        ("Über den Gipfel-Weg, 7. Mai", ["7", "den", "gipfel", "mai", "uber", "weg"]),
        ("don't", ["don", "t"]),
        ("ÇA e\u{301}té été", ["ca", "ete"]),
        ("  --- ", []),
        ("山小屋 приют", ["山小屋", "приют"].sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }),
    ])
    func textHasWords(_ text: String, _ words: [String]) {
        #expect(SearchTokens.words(of: text).map { String(decoding: $0, as: UTF8.self) } == words)
    }

    /// Every place between two distances lies in the ranges for them, whatever is asked.
    @Test func aRingHasAllItsPlaces() {
        var script = QueryScript(seed: 9)
        for _ in 0..<300 {
            func coordinate(_ maximum: Double) -> Double {
                Double.random(in: -maximum...maximum, using: &script.numbers)
            }
            let centre =
                script.numbers.next() % 3 == 0
                ? script.place() : Location(latitude: coordinate(90), longitude: coordinate(180))
            let rings: [Double] = [0, 100, 50_000, 5_000_000]
            let inner = rings.randomElement(using: &script.numbers) ?? 0
            let outer = inner + Double.random(in: 0...2_000_000, using: &script.numbers)
            let ranges = centre.keys(from: inner, to: outer)
            #expect(ranges.count <= 64)
            for _ in 0..<30 {
                let isNear = script.numbers.next() % 2 == 0
                let place = Location(
                    latitude: isNear
                        ? max(-90, min(90, centre.latitude + coordinate(10))) : coordinate(90),
                    longitude: isNear
                        ? max(-180, min(180, centre.longitude + coordinate(10))) : coordinate(180))
                let distance = centre.distance(to: place)
                guard distance >= inner, distance <= outer else { continue }
                let key = PlaceCell.key(of: place)
                #expect(ranges.contains { $0.contains(key) }, "\(centre) \(place)")
            }
        }
    }
}
