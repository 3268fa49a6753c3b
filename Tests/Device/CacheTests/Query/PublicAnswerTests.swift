import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusTesting
import Testing

@testable import StratusCache

/// Queries of the public database through the cache: answers are no older than the app allows, and available offline.
@Suite struct PublicAnswerTests {
    private let query = CKQuery(
        recordType: "Hut", predicate: NSPredicate(format: "beds > %d", 1))

    private func database(_ device: CloudDevice) -> CKDatabase {
        CKContainer(identifier: CloudDevice.container, connection: device.connection)
            .publicCloudDatabase
    }

    private func hut(_ name: String, beds: Int) -> CKRecord {
        let record = CKRecord(recordType: "Hut", recordID: CKRecord.ID(recordName: name))
        record["beds"] = beds
        return record
    }

    private func names(_ answer: PublicAnswer) -> [String] {
        answer.records.map(\.recordID.recordName).sorted()
    }

    @Test func answerIsCachedUpToTheRequestedAge() async throws {
        let cloud = TestCloud()
        let device = try await CloudDevice(cloud, "phone")
        let (cache, database) = (device.cache, database(device))
        _ = try await database.save(hut("a", beds: 2))
        #expect(names(try await cache.publicRecords(matching: query)) == ["a"])
        _ = try await database.save(hut("b", beds: 3))
        let before = device.transport.requestCount
        let kept = try await cache.publicRecords(matching: query, age: .cached(upTo: .seconds(60)))
        #expect(names(kept) == ["a"] && !kept.isStale)
        #expect(kept.records.first?["beds"] == 2 && kept.records.first?.recordChangeTag != nil)
        #expect(names(try await cache.publicRecords(matching: query, age: .cacheOnly)) == ["a"])
        #expect(device.transport.requestCount == before)
        // With another limit it is another query.
        let other = try await cache.publicRecords(matching: query, limit: 7)
        #expect(names(other) == ["a", "b"])
        device.time.advance(milliseconds: 61_000)
        #expect(names(try await cache.publicRecords(matching: query)) == ["a", "b"])
        _ = try await database.save(hut("c", beds: 3))
        #expect(names(try await cache.publicRecords(matching: query, age: .refresh)).count == 3)
    }

    @Test func staleAnswerIsReturnedOffline() async throws {
        let cloud = TestCloud()
        let device = try await CloudDevice(cloud, "phone")
        _ = try await database(device).save(hut("a", beds: 2))
        _ = try await device.cache.publicRecords(matching: query)
        try device.restart()
        let cache = device.cache
        for number in 0..<20 { device.transport.fail(request: number, .requestLost) }
        let answer = try await cache.publicRecords(matching: query, age: .refresh)
        #expect(names(answer) == ["a"] && answer.isStale)
        let unasked = CKQuery(recordType: "Hut", predicate: NSPredicate(format: "beds > %d", 5))
        await #expect(throws: CKError.self) { try await cache.publicRecords(matching: unasked) }
        let error = await #expect(throws: CacheError.self) {
            try await cache.publicRecords(matching: unasked, age: .cacheOnly)
        }
        #expect(error?.code == .noAnswer)
    }

    /// The service still has the records, so the file with the others is not replaced.
    @Test(arguments: ["content = x'7B7D'", "content = 'x'", "time = 'x'"])
    func undecodableAnswerIsDroppedAndRequestedAgain(_ damage: String) async throws {
        let cloud = TestCloud()
        let device = try await CloudDevice(cloud, "phone")
        let cache = device.cache
        _ = try await database(device).save(hut("a", beds: 2))
        _ = try await cache.publicRecords(matching: query)
        try await cache.file.pool.write { database in
            try database.execute(sql: "UPDATE stratus_answer SET \(damage)")
        }
        let error = await #expect(throws: CacheError.self) {
            try await cache.publicRecords(matching: query, age: .cacheOnly)
        }
        #expect(error?.code == .noAnswer)
        #expect(!DamageMark(cachePath: device.path).isSet)
        #expect(try cache.loggedEvents().contains { $0.kind == "answerDropped" })
        #expect(names(try await cache.publicRecords(matching: query)) == ["a"])
        #expect(names(try await cache.publicRecords(matching: query, age: .cacheOnly)) == ["a"])
    }

    /// A refusal is not a missing network: the app gets the error.
    @Test func refusedPublicQueryThrowsTheServicesError() async throws {
        let cloud = TestCloud()
        let device = try await CloudDevice(cloud, "phone")
        let bad = CKQuery(recordType: "Hut", predicate: NSPredicate(format: "beds > 1 OR beds < 0"))
        let error = await #expect(throws: CKError.self) {
            try await device.cache.publicRecords(matching: bad)
        }
        #expect(error?.code == .invalidArguments)
    }
}
