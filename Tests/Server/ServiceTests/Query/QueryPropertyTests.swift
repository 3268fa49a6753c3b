import StratusMatching
import StratusQuery
import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import TestSeeds
import Testing

@testable import StratusService

/// For every query, the indexes give the same result as a scan of all records, in the same order, with any page
/// length.
@Suite struct QueryPropertyTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var backend: Backend
        var seed: UInt64
        var testDescription: String { "\(backend) \(seed)" }
    }

    static let cases = Backend.allCases.flatMap { backend in
        Seeds.forTest("QueryPropertyTests", count: 2).map { Case(backend: backend, seed: $0) }
    }

    @Test(arguments: cases)
    func indexedQueryEqualsAFullScan(_ one: Case) async throws {
        var limits = Limits()
        // Small, so that a few records reach every limit.
        limits.recordsSortedTogether = 16
        limits.recordsReadPerCompoundIndex = 0
        var script = QueryScript(seed: one.seed)
        if script.numbers.next() % 2 == 0 { limits.recordsScannedPerQuery = 40 }
        let world = World(try one.backend.storage(), limits: limits)
        let alice = try await world.person("alice")
        for name in QueryScript.zones where name != "_defaultZone" {
            try await alice.makeZone(name)
        }
        // A query that names a field which no record ever had is refused.
        try await alice.modify(
            [script.saveOfEveryField("all"), script.saveOfEveryField("all7")], in: "Trips")
        for _ in 0..<5 {
            for zoneName in QueryScript.zones {
                world.advance(seconds: 1)
                try await alice.modify(script.operations(), in: zoneName, isAtomic: false)
            }
            for _ in 0..<10 {
                try await alice.compare(
                    script.query(), zoneName: script.zoneName(), limit: script.pageLength())
            }
        }
    }

    /// Between two pages, records are created, deleted and changed; unchanged ones are found exactly once, without
    /// errors.
    @Test(arguments: cases)
    func writesBetweenPagesLoseNoRecords(_ one: Case) async throws {
        var script = QueryScript(seed: one.seed)
        let world = World(
            try one.backend.storage(), limits: .with { $0.recordsReadPerCompoundIndex = 0 })
        let alice = try await world.person("alice", with: "Trips")
        let stays = (0..<60).map { script.save("stays\($0)", mayHaveParent: false) }
        try await alice.modify(stays, in: "Trips")
        for round in 0..<8 {
            var query = script.query()
            query.recordType = "Hut"
            let expected = try await alice.everything(query, "Trips")
                .filter { $0.hasPrefix("Tripsstays") }
            var found: [String] = []
            var marker: String?
            repeat {
                let page = try await alice.queryPage(query, limit: 7, after: marker)
                found += page.records.compactMap(\.record).map(QueryScript.name)
                marker = page.continuationMarker
                try await alice.modify(script.operations(), in: "Trips", isAtomic: false)
            } while marker != nil
            let foundStaying = found.filter { $0.hasPrefix("Tripsstays") }
            try #require(
                foundStaying.sorted() == expected.sorted(), "round \(round): \(query)")
        }
    }
}

/// Records and queries drawn from a seed. There are few different values, so that queries match.
struct QueryScript {
    static let zones = ["_defaultZone", "Trips", "Acker"]

    var numbers: SeededNumbers

    init(seed: UInt64) { numbers = SeededNumbers(seed: seed) }

    static func name(_ record: RecordDictionary) -> String {
        (record.zoneID?.zoneName ?? "") + (record.recordName ?? "")
    }

    private mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &numbers) < percent
    }

    private mutating func one<Value>(of values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &numbers)]
    }

    mutating func zoneName() -> String? { chance(30) ? nil : one(of: Self.zones) }
    mutating func pageLength() -> Int { one(of: [1, 3, 10, 200]) }

    // MARK: Records

    mutating func operations() -> [RecordsModify.Operation] {
        var names: Set<String> = []
        for _ in 0..<12 { names.insert("r\(Int.random(in: 0..<60, using: &numbers))") }
        return names.sorted().map { name in
            chance(20) ? hut(.forceDelete, name) : save(name)
        }
    }

    mutating func save(_ name: String, mayHaveParent: Bool = true) -> RecordsModify.Operation {
        let fields = Self.fieldTypes.compactMap { field, type in
            chance(80) ? Field(name: field, value: value(type)) : nil
        }
        return hut(
            chance(50) ? .forceReplace : .forceUpdate, name, fields,
            type: name.hasSuffix("7") ? "Trail" : "Hut",
            parent: mayHaveParent && name != "r1" && chance(20) ? .some("r1") : .absent)
    }

    mutating func saveOfEveryField(_ name: String) -> RecordsModify.Operation {
        let fields = Self.fieldTypes.map { field, type in Field(name: field, value: value(type)) }
        return hut(.forceReplace, name, fields, type: name.hasSuffix("7") ? "Trail" : "Hut")
    }

    static let fieldTypes: [(String, FieldType)] = [
        ("beds", .int64), ("price", .double), ("opened", .timestamp), ("name", .string),
        ("place", .location), ("guide", .reference), ("tags", .stringList),
        ("years", .int64List), ("places", .locationList), ("guides", .referenceList),
    ]

    private mutating func number() -> Int64 { one(of: [.min, -5, -1, 0, 1, 2, 3, 300, .max]) }

    private mutating func text() -> String {
        one(of: [
            "", "a", "ab", "Ab", "é", "e\u{301}", "e", "eé Gipfel", "Gipfel blick",
            "gipfel-BLICK 7", String(repeating: "x", count: 511) + "é",
            String(repeating: "x", count: 600) + "1", String(repeating: "x", count: 600) + "2",
            "z\u{FFFF}", "𝄞", "\u{FB01}",
        ])
    }

    mutating func place() -> Location {
        Location(
            latitude: one(of: [-90, -45.5, 0, 46.5, 46.50001, 46.6, 90]),
            longitude: one(of: [-180, -179.99, 0, 7.9, 7.90001, 8, 179.99, 180]))
    }

    private mutating func reference() -> Reference {
        Reference(recordName: one(of: ["g", "g1", "g11", "h"]))
    }

    private mutating func several<Value>(_ make: (inout Self) -> Value) -> [Value] {
        var values: [Value] = []
        for _ in 0..<Int.random(in: 0..<4, using: &numbers) { values.append(make(&self)) }
        return values
    }

    mutating func value(_ type: FieldType) -> FieldValue {
        switch type {
        case .int64: .int64(number())
        case .double: .double(one(of: [-1e300, -1.5, -0.0, 0, 0.5, 2, 1e300]))
        case .timestamp: .timestamp(milliseconds: number())
        case .string: .string(text())
        case .location: .location(place())
        case .reference: .reference(reference())
        case .stringList: .stringList(several { $0.text() })
        case .int64List: .int64List(several { $0.number() })
        case .doubleList: .doubleList(several { Double($0.number()) })
        case .timestampList: .timestampList(milliseconds: several { $0.number() })
        case .locationList: .locationList(several { $0.place() })
        case .referenceList: .referenceList(several { $0.reference() })
        case .bytes, .asset, .bytesList, .assetList: .emptyList
        }
    }

    // MARK: Queries

    mutating func query() -> QueryDictionary {
        var query = QueryDictionary(recordType: chance(90) ? "Hut" : "Trail")
        for _ in 0..<one(of: [0, 1, 1, 2, 3]) { query.filterBy.append(filter()) }
        for _ in 0..<one(of: [0, 1, 1, 2, 3]) { query.sortBy.append(sort()) }
        return query
    }

    private mutating func filter() -> QueryDictionary.Filter {
        if chance(10) { return systemFilter() }
        if chance(15) {
            let words = one(of: ["gipfel", "GIPFEL blick", "e", "7 gipfel", "", "nothing", "é"])
            return .init(
                one(of: [.containsAllTokens, .containsAnyTokens]),
                chance(50) ? .user("name") : .anySearchable, .string(words))
        }
        let (name, type) = one(of: Self.fieldTypes)
        let field = QueryDictionary.FieldName.user(name)
        if type == .location || type == .locationList {
            return .init(
                .near, field, .location(place()),
                distanceMetres: one(of: [0, 1, 20, 15_000, 6_000_000, 30_000_000]))
        }
        if let element = type.element {
            switch one(of: [0, 1, 2, 3]) {
            case 0: return .init(one(of: [.listContains, .notListContains]), field, value(element))
            case 1:
                return .init(
                    one(of: [.listContainsAny, .notListContainsAny]), field, value(type))
            case 2:
                return .init(
                    one(of: [.listContainsAll, .notListContainsAll]), field, value(type))
            default:
                guard element == .string else {
                    return .init(.listContains, field, value(element))
                }
                return .init(
                    one(of: [.listMemberBeginsWith, .notListMemberBeginsWith]), field,
                    .string(text()))
            }
        }
        return scalarFilter(field, type)
    }

    private mutating func scalarFilter(
        _ field: QueryDictionary.FieldName, _ type: FieldType
    ) -> QueryDictionary.Filter {
        if chance(30), let list = FieldType.allCases.first(where: { $0.element == type }) {
            return .init(one(of: [.in, .notIn]), field, value(list))
        }
        if type == .string, chance(40) {
            return .init(one(of: [.beginsWith, .notBeginsWith]), field, .string(text()))
        }
        return .init(
            one(of: [
                .equals, .notEquals, .lessThan, .lessThanOrEquals, .greaterThan,
                .greaterThanOrEquals,
            ]), field, value(type))
    }

    private mutating func systemFilter() -> QueryDictionary.Filter {
        switch one(of: [0, 1, 2]) {
        case 0:
            return .init(
                .in, .system(.recordName), .stringList(["r1", "r2", "r22", "r3", "gone", "", "é"]))
        case 1:
            return .init(
                .greaterThan, .system(.createdTimestamp), .timestamp(milliseconds: 5))
        default:
            return .init(
                .equals, .system(.parent), .reference(Reference(recordName: "r1")))
        }
    }

    private mutating func sort() -> QueryDictionary.Sort {
        if chance(20) { return .init(.user("place"), relativeLocation: place()) }
        if chance(10) { return .init(.system(.modifiedTimestamp), isAscending: chance(50)) }
        return .init(
            .user(one(of: ["beds", "price", "opened", "name"])), isAscending: chance(50))
    }
}
