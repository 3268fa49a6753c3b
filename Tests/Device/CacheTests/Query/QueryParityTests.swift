import Foundation
import StratusClient
import StratusRecords
import StratusTesting
import TestSeeds
import Testing

@testable import StratusCache

/// The service and a device with the same records give the same answers to queries, with declared columns and without.
@Suite struct QueryParityTests {
    static let zone = CKRecordZone.ID(zoneName: "Trips")
    static let types = [
        CachedType(
            "Hut", indexed: ["name", "beds", "height", "opened", "keeper", "modificationDate"],
            searchable: ["name", "tags"], columns: ["place"])
    ]

    @Test(.timeLimit(.minutes(20)), arguments: Seeds.forTest("QueryParityTests", count: 3))
    func cacheQueriesEqualServiceQueries(_ seed: UInt64) async throws {
        var script = HutScript(seed: seed)
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let database = CKContainer(
            identifier: CloudDevice.container, connection: phone.connection
        ).privateCloudDatabase
        // The first record has every field, so that the schema gets all of them.
        try await phone.cache.save(
            [script.complete(Self.zone)]
                + (0..<60).map { script.record("hut \($0)", in: Self.zone) })
        try await phone.cache.sync()
        var answered = 0
        for _ in 0..<40 {
            let query = script.query()
            let expected: [String]
            do {
                expected = try await database.records(
                    matching: query, inZoneWith: Self.zone, desiredKeys: nil, resultsLimit: 200
                ).matchResults.map(\.0.recordName)
            } catch let error as CKError where error.code == .invalidArguments {
                continue
            }
            answered += 1
            for types in [[], Self.types] {
                try phone.cache.file.declare(types)
                let found = try await phone.cache.records(
                    matching: CacheQuery(query, in: Self.zone)
                ).map(\.recordID.recordName)
                let comment: Comment = "\(query.predicate), \(query.sortDescriptors ?? [])"
                if query.sortDescriptors?.isEmpty != false {
                    #expect(found.sorted() == expected.sorted(), comment)
                } else {
                    #expect(found == expected, comment)
                }
                #expect(
                    try await phone.cache.count(matching: CacheQuery(query, in: Self.zone))
                        == expected.count, comment)
            }
        }
        #expect(answered > 20)
    }

    /// Declared columns change no answer, also while records are saved and deleted, and with pages of any length.
    @Test(arguments: Seeds.forTest("QueryColumnTests", count: 6))
    func columnsChangeNoAnswer(_ seed: UInt64) throws {
        var script = HutScript(seed: seed)
        let plain = try Device(RealService())
        let indexed = try Device(RealService())
        try indexed.cache.file.declare(Self.types)
        for _ in 0..<8 {
            var records: [CKRecord] = []
            for _ in 0..<12 {
                let name = "hut \(script.numbers.next() % 40)"
                let zone = CKRecordZone.ID(zoneName: script.pick(["Trips", "Acker"]))
                records.append(script.record(name, in: zone, mixesKinds: true))
            }
            for device in [plain, indexed] {
                for record in records {
                    // A whole record replaces the former one.
                    let old = try device.cache.record(for: record.recordID)
                    for key in old?.allKeys() ?? [] { old?[key] = nil as String? }
                    let new = old ?? CKRecord(recordType: "Hut", recordID: record.recordID)
                    for key in record.allKeys() {
                        new.setObject(record.object(forKey: key), forKey: key)
                    }
                    try device.cache.save(new)
                }
            }
            let gone = CKRecord.ID(
                recordName: "hut \(script.numbers.next() % 40)", zoneID: Self.zone)
            try plain.cache.delete(gone)
            try indexed.cache.delete(gone)
            for _ in 0..<15 {
                try compare(CacheQuery(script.query(), in: script.zone()), plain, indexed, &script)
            }
        }
    }

    private func compare(
        _ query: CacheQuery, _ plain: Device, _ indexed: Device, _ script: inout HutScript
    ) throws {
        let expected = try plain.cache.records(matching: query).map(\.recordID)
        let whole = try indexed.cache.records(matching: query).map(\.recordID)
        try #require(whole == expected, "\(query)")
        var page = query.limited(to: script.pick([1, 3, 7]))
        var paged: [CKRecord.ID] = []
        repeat {
            let next = try indexed.cache.page(matching: page)
            paged += next.records.map(\.recordID)
            page.cursor = next.cursor
        } while page.cursor != nil
        try #require(paged == expected, "\(page)")
        try #require(try indexed.cache.count(matching: query) == expected.count)
    }
}

/// Huts and queries for them, drawn from a seed. There are few values, so that many records match.
struct HutScript {
    var numbers: SeededNumbers

    static let names = [
        "Gipfelblick", "gipfel", "Ärmelhütte am See", "Armel", "A\u{308}rmelhu\u{308}tte am See",
        "", "Über den Gipfel-Weg 7", "東京 小屋", "z",
    ]
    static let start = Date(timeIntervalSince1970: 1_700_000_000)

    init(seed: UInt64) { numbers = SeededNumbers(seed: seed) }

    mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int(numbers.next() % UInt64(values.count))]
    }

    mutating func zone() -> CKRecordZone.ID? {
        pick([nil, CKRecordZone.ID(zoneName: "Trips"), CKRecordZone.ID(zoneName: "Acker")])
    }

    func complete(_ zone: CKRecordZone.ID) -> CKRecord {
        let record = CKRecord(
            recordType: "Hut", recordID: CKRecord.ID(recordName: "complete", zoneID: zone))
        record["name"] = "Gipfelblick"
        record["beds"] = 4
        record["height"] = 1_000.5
        record["opened"] = Self.start
        record["tags"] = ["warm", "open"]
        record["keeper"] = CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "keeper 1", zoneID: zone), action: .none)
        record["place"] = CLLocation(latitude: 46.5, longitude: 8)
        return record
    }

    /// - Parameter mixesKinds: Whether a field may have values of several types, which no schema allows.
    mutating func record(
        _ name: String, in zone: CKRecordZone.ID, mixesKinds: Bool = false
    ) -> CKRecord {
        let record = CKRecord(
            recordType: "Hut", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        func isSet(_ share: UInt64) -> Bool { numbers.next() % 10 < share }
        if isSet(8) { record["name"] = pick(Self.names) }
        if isSet(8) { record["beds"] = pick([-3, 0, 4, 4, 12, 1_000_000]) }
        if mixesKinds, isSet(3) { record["beds"] = pick([0.0, 3.5, 4.0, -1e300]) }
        if mixesKinds, isSet(1) { record["beds"] = "four" }
        if isSet(8) { record["height"] = pick([-0.0, 0.0, 999.5, 1_000.5, 1e300]) }
        if isSet(8) {
            record["opened"] = Self.start.addingTimeInterval(Double(pick([-90_000, 0, 0.25, 60])))
        }
        if isSet(6) { record["tags"] = pick([["warm"], ["open", "warm"], ["Geöffnet immer"]]) }
        if isSet(6) {
            record["keeper"] = CKRecord.Reference(
                recordID: CKRecord.ID(recordName: pick(["keeper 1", "keeper 2"]), zoneID: zone),
                action: .none)
        }
        if isSet(6) {
            record["place"] = CLLocation(latitude: Double(pick([46, 46.5, 47])), longitude: 8)
        }
        return record
    }

    mutating func query() -> CKQuery {
        var parts: [NSPredicate] = []
        for _ in 0..<(numbers.next() % 3) { parts.append(predicate()) }
        let query = CKQuery(
            recordType: "Hut",
            predicate: parts.isEmpty
                ? predicate() : NSCompoundPredicate(andPredicateWithSubpredicates: parts))
        var sorts: [NSSortDescriptor] = []
        for key in ["name", "beds", "height", "opened", "keeper"] where numbers.next() % 4 == 0 {
            sorts.append(NSSortDescriptor(key: key, ascending: numbers.next() % 2 == 0))
        }
        if numbers.next() % 6 == 0 {
            sorts = [
                CKLocationSortDescriptor(
                    key: "place", relativeLocation: CLLocation(latitude: 46.2, longitude: 8))
            ]
        }
        query.sortDescriptors = sorts
        return query
    }

    private mutating func predicate() -> NSPredicate {
        let order = pick(["==", "!=", "<", "<=", ">", ">="])
        let reference = CKRecord.Reference(
            recordID: CKRecord.ID(
                recordName: pick(["keeper 1", "keeper 2", "nobody"]),
                zoneID: QueryParityTests.zone), action: .none)
        switch numbers.next() % 14 {
        case 0: return NSPredicate(format: "name \(order) %@", pick(Self.names))
        case 1:
            return NSPredicate(format: "name BEGINSWITH %@", pick(["G", "Ä", "A\u{308}", "", "東"]))
        case 2: return NSPredicate(format: "beds \(order) %d", pick([-3, 0, 4, 5, 12]))
        case 3: return NSPredicate(format: "height \(order) %f", pick([0.0, 999.5, 1_000.5, -1.0]))
        case 4:
            return NSPredicate(
                format: "opened \(order) %@", Self.start.addingTimeInterval(pick([0, 30, -90_000])))
        case 5: return NSPredicate(format: "beds IN %@", pick([[4, 12], [0], [7, -3, 4]]))
        case 6: return NSPredicate(format: "name IN %@", [pick(Self.names), pick(Self.names)])
        case 7: return NSPredicate(format: "keeper == %@", reference)
        case 8: return NSPredicate(format: "tags CONTAINS %@", pick(["warm", "open", "cold"]))
        case 9:
            return NSPredicate(
                format: "distanceToLocation:fromLocation:(place, %@) < %f",
                CLLocation(latitude: 46, longitude: 8), pick([1.0, 60_000.0, 200_000.0]))
        case 10:
            return NSPredicate(
                format: "name TOKENMATCHES %@", pick(["gipfel", "ARMELHUTTE", "weg 7", "see"]))
        case 11: return NSPredicate(format: "SELF CONTAINS %@", pick(["gipfel", "see", "東京"]))
        case 12: return NSPredicate(format: "NOT (beds \(order) %d)", pick([0, 4]))
        default: return NSPredicate(format: "beds BETWEEN %@", pick([[0, 4], [-10, 5]]))
        }
    }
}
