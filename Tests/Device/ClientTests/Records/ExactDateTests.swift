import Foundation
import StratusRecords
import StratusWire
import Testing

@testable import StratusClient

/// A date comes back as it was set, to the last bit.
@Suite struct ExactDateTests {
    private static let date = Date(timeIntervalSinceReferenceDate: 721_692_800.123_456_7)
    private static let later = Date(timeIntervalSinceReferenceDate: -1.000_000_1)

    private func dated(_ name: String) -> CKRecord {
        let record = hut(name)
        record["at"] = Self.date
        record["dates"] = [Self.date, Self.later, Date(timeIntervalSince1970: 5)]
        record["place"] = CLLocation(latitude: 1, longitude: 2, timestamp: Self.date)
        record["whole"] = Date(timeIntervalSince1970: 1.5)
        record.encryptedValues["secret"] = Self.later
        return record
    }

    private func expectExact(_ record: CKRecord, _ comment: Comment) {
        #expect(record["at"] as? Date == Self.date, comment)
        #expect(
            record["dates"] as? [Date]
                == [Self.date, Self.later, Date(timeIntervalSince1970: 5)], comment)
        #expect((record["place"] as? CLLocation)?.timestamp == Self.date, comment)
        #expect(record["whole"] as? Date == Date(timeIntervalSince1970: 1.5), comment)
        #expect(record.encryptedValues["secret"] as? Date == Self.later, comment)
    }

    @Test func savedDateKeepsEveryBit() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        let record = dated("dated")
        try await database.save(record)
        expectExact(record, "saved")
        #expect(record.changedKeys().isEmpty)
        let read = try await database.record(for: record.recordID)
        expectExact(read, "read")
        let changes = try await database.recordZoneChanges(inZoneWith: trips, since: nil)
        expectExact(
            try #require(try changes.modificationResultsByID[record.recordID]?.get().record),
            "changes")
        read["name"] = "x"
        let all = try await database.modifyRecords(
            saving: [read], deleting: [], savePolicy: .allKeys)
        expectExact(try #require(try all.saveResults[record.recordID]?.get()), "all keys")
        let archive = try NSKeyedArchiver.archivedData(
            withRootObject: read, requiringSecureCoding: true)
        let archived = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: archive)
        expectExact(try #require(archived), "archive")
        expectExact(try RecordSnapshot(read).record(), "snapshot")
    }

    @Test func dateIsQueriedInMilliseconds() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        try await database.save(dated("dated"))
        for (format, count) in [("at == %@", 1), ("at > %@", 0), ("at < %@", 0), ("at IN %@", 1)] {
            let argument: Any = format.contains("IN") ? [Self.date] : Self.date
            let query = CKQuery(
                recordType: "Hut", predicate: NSPredicate(format: format, argumentArray: [argument])
            )
            let matches = try await database.records(matching: query, inZoneWith: trips)
            #expect(matches.matchResults.count == count, "\(format)")
        }
    }

    @Test func dateOfConflictIsExact() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        try await database.save(dated("dated"))
        let error = await #expect(throws: CKError.self) { try await database.save(dated("dated")) }
        expectExact(try #require(error?.serverRecord), "server record")
    }
}
