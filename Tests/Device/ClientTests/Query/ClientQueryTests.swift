import Foundation
import StratusClient
import StratusTesting
import Synchronization
import Testing

/// Queries against a whole service: each form of predicate finds the matching records.
@Suite struct ClientQueryTests {
    private static let munich = CLLocation(latitude: 48.137, longitude: 11.575)

    private func huts() async throws -> CKContainer {
        let container = try await TestCloud().container(
            "iCloud.org.example.Trails", user: "ida", device: "phone")
        let database = container.privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: trips))
        let places = [
            "alpspitz": (47.429, 11.053), "knorr": (47.438, 11.111), "watzmann": (47.552, 12.934),
        ]
        for (index, name) in places.keys.sorted().enumerated() {
            let record = hut(name)
            let place = try #require(places[name])
            record["spot"] = CLLocation(latitude: place.0, longitude: place.1)
            record["name"] = "Hütte \(name)"
            record["text"] = index == 0 ? "The view of a marmot" : "No marmots here"
            record["beds"] = 10 * index
            record["height"] = 1_000.5 + Double(index)
            record["tags"] = ["x", "y", "z"].dropLast(index).map { $0 }
            record["opened"] = Date(timeIntervalSince1970: Double(index) * 86_400)
            record["near"] = CKRecord.Reference(recordID: hut("alpspitz").recordID, action: .none)
            try await database.save(record)
        }
        return container
    }

    private func names(
        _ predicate: NSPredicate, in database: CKDatabase, sort: [NSSortDescriptor]? = nil
    ) async throws -> [String] {
        let query = CKQuery(recordType: "Hut", predicate: predicate)
        query.sortDescriptors = sort ?? [NSSortDescriptor(key: "beds", ascending: true)]
        let matches = try await database.records(matching: query, inZoneWith: trips).matchResults
        return matches.map(\.0.recordName)
    }

    @Test func predicatesFindMatchingRecords() async throws {
        let container = try await huts()
        let database = container.privateCloudDatabase
        let all = ["alpspitz", "knorr", "watzmann"]
        let cases: [(NSPredicate, [String])] = [
            (NSPredicate(value: true), all), (NSPredicate(value: false), []),
            (NSPredicate(format: "beds >= %d AND beds < %ld", 10, 20), ["knorr"]),
            (NSPredicate(format: "height > %f", 1_001.0), ["knorr", "watzmann"]),
            (NSPredicate(format: "beds BETWEEN %@", [0, 10]), ["alpspitz", "knorr"]),
            (NSPredicate(format: "%K IN %@", "beds", [0, 20]), ["alpspitz", "watzmann"]),
            (NSPredicate(format: "NOT (beds IN {0, 20})"), ["knorr"]),
            (NSPredicate(format: "name BEGINSWITH 'Hütte k'"), ["knorr"]),
            (NSPredicate(format: "tags CONTAINS 'z'"), ["alpspitz"]),
            (NSPredicate(format: "'y' IN tags"), ["alpspitz", "knorr"]),
            (NSPredicate(format: "ANY tags CONTAINS 'y'"), ["alpspitz", "knorr"]),
            (NSPredicate(format: "ANY tags IN {'y', 'z'}"), ["alpspitz", "knorr"]),
            (NSPredicate(format: "ALL {'y', 'z'} IN tags"), ["alpspitz"]),
            (NSPredicate(format: "NOT (ALL {'y', 'z'} IN tags)"), ["knorr", "watzmann"]),
            (
                NSPredicate(format: "opened > %@", Date(timeIntervalSince1970: 1)),
                ["knorr", "watzmann"]
            ),
            (NSPredicate(format: "creationDate < NOW()"), all),
            (NSPredicate(format: "near == %@", hut("alpspitz")), all),
            (NSPredicate(format: "near IN %@", [hut("alpspitz").recordID]), all),
            (NSPredicate(format: "recordID == %@", hut("knorr").recordID), ["knorr"]),
            (
                NSPredicate(
                    format: "recordID IN %@",
                    [CKRecord.Reference(recordID: hut("knorr").recordID, action: .none)]),
                ["knorr"]
            ),
            (NSPredicate(format: "self CONTAINS 'HUTTE the Watzmann'"), ["watzmann"]),
            (NSPredicate(format: "allTokens TOKENMATCHES[cdl] %@", "marmot"), ["alpspitz"]),
            (NSPredicate(format: "text TOKENMATCHES 'marmots'"), ["knorr", "watzmann"]),
            (
                NSPredicate(
                    format: "distanceToLocation:fromLocation:(spot, %@) < %f", Self.munich, 90_000.0
                ),
                ["alpspitz", "knorr"]
            ),
            (
                NSCompoundPredicate(andPredicateWithSubpredicates: [
                    NSPredicate(format: "beds > 0"),
                    NSCompoundPredicate(
                        notPredicateWithSubpredicate: NSPredicate(format: "beds == 20")),
                ]), ["knorr"]
            ),
        ]
        for (index, (predicate, expected)) in cases.enumerated() {
            #expect(try await names(predicate, in: database) == expected, "case \(index)")
        }
        // In development a record type that a save created has the index for this.
        let user = try await container.userRecordID()
        #expect(
            try await names(NSPredicate(format: "creatorUserRecordID == %@", user), in: database)
                == ["alpspitz", "knorr", "watzmann"])
    }

    @Test func locationSortReturnsNearestFirst() async throws {
        let database = try await huts().privateCloudDatabase
        let sort = CKLocationSortDescriptor(key: "spot", relativeLocation: Self.munich)
        let found = try await names(NSPredicate(value: true), in: database, sort: [sort])
        #expect(found == ["knorr", "alpspitz", "watzmann"])
        let copy = try #require(sort.copy() as? CKLocationSortDescriptor)
        #expect(copy.key == "spot" && copy.relativeLocation == Self.munich)

        // Also with an archived query, page by page.
        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(value: true))
        query.sortDescriptors = [sort]
        let kept = try #require(
            try NSKeyedUnarchiver.unarchivedObject(
                ofClass: CKQuery.self,
                from: try NSKeyedArchiver.archivedData(
                    withRootObject: query, requiringSecureCoding: true)))
        var page = try await database.records(matching: kept, inZoneWith: trips, resultsLimit: 1)
        var names = page.matchResults.map(\.0.recordName)
        while let cursor = page.queryCursor {
            page = try await database.records(continuingMatchFrom: cursor, resultsLimit: 1)
            names += page.matchResults.map(\.0.recordName)
        }
        #expect(names == ["knorr", "alpspitz", "watzmann"])
    }

    @Test func nowPredicateIsFixedAcrossPages() async throws {
        let cloud = TestCloud()
        let seconds = Atomic(1_800_000_000)
        let connection = try await cloud.connect(
            user: "ida", device: "phone",
            world: .init(nowMilliseconds: {
                let (_, now) = seconds.add(60, ordering: .relaxed)
                return Int64(now) * 1_000
            }))
        let database = CKContainer(identifier: "iCloud.x", connection: connection)
            .privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: trips))
        for name in ["a", "b", "c"] {
            let record = hut(name)
            record["opened"] = Date(timeIntervalSince1970: 1)
            try await database.save(record)
        }
        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(format: "opened < now()"))
        var page = try await database.records(matching: query, inZoneWith: trips, resultsLimit: 1)
        var names = page.matchResults.map(\.0.recordName)
        while let cursor = page.queryCursor {
            // An archived cursor continues too.
            let kept = try #require(
                try NSKeyedUnarchiver.unarchivedObject(
                    ofClass: CKQueryOperation.Cursor.self,
                    from: try NSKeyedArchiver.archivedData(
                        withRootObject: cursor, requiringSecureCoding: true)))
            page = try await database.records(
                continuingMatchFrom: names.count == 1 ? cursor : kept, resultsLimit: 1)
            names += page.matchResults.map(\.0.recordName)
        }
        #expect(names.sorted() == ["a", "b", "c"])
    }

    @Test func savedSubscriptionKeepsPredicate() async throws {
        let database = try await huts().privateCloudDatabase
        let formats = [
            "beds > 3", "ANY tags BEGINSWITH 'x'", "ALL {'x', 'y'} IN tags",
            "NOT (ANY {'x'} IN tags)", "NOT (name BEGINSWITH 'q')", "self CONTAINS 'marmot'",
        ]
        for (index, format) in formats.enumerated() {
            let subscription = CKQuerySubscription(
                recordType: "Hut", predicate: NSPredicate(format: format),
                subscriptionID: "s\(index)")
            subscription.notificationInfo = .init(shouldSendContentAvailable: true)
            try await database.save(subscription)
            let read = try #require(
                try await database.subscription(for: "s\(index)") as? CKQuerySubscription)
            for name in ["alpspitz", "knorr", "watzmann"] {
                let record = try await database.record(for: hut(name).recordID)
                #expect(
                    read.predicate.evaluate(with: record)
                        == subscription.predicate.evaluate(with: record), "\(format) of \(name)")
            }
        }
    }
}
