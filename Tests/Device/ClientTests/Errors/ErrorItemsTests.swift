import Foundation
import StratusClient
import StratusTesting
import Testing

/// What apps read from errors, and how they merge records.
@Suite struct ErrorItemsTests {
    private let a = CKRecord.ID(recordName: "a", zoneID: trips)
    private let b = CKRecord.ID(recordName: "b", zoneID: trips)

    private func partial(_ errors: [AnyHashable: any Error]) -> CKError {
        CKError(.partialFailure, userInfo: [CKPartialErrorsByItemIDKey: errors])
    }

    @Test func errorCodeIsFoundInsidePartialFailure() {
        #expect(CKError(.unknownItem).isNotFound && CKError(.zoneNotFound).isNotFound)
        #expect(CKError(.zoneNotFound).isZoneMissing && CKError(.userDeletedZone).isZoneMissing)
        #expect(!CKError(.unknownItem).isZoneMissing && !CKError(.unknownItem).hasConflict)
        let error = partial([
            a: CKError(.zoneNotFound), b: partial([a: CKError(.serverRecordChanged)]),
        ])
        #expect(error.isNotFound && error.isZoneMissing && error.hasConflict)
        #expect(error.contains(.partialFailure) && !error.contains(.unknownItem))
        #expect(!error.mayPass && partial([a: CKError(.zoneBusy)]).mayPass)
        #expect(!CKError(.partialFailure).isNotFound)
    }

    @Test func longestRetryAfterOfItemsCounts() {
        func wait(_ seconds: Double) -> CKError {
            CKError(.requestRateLimited, userInfo: [CKErrorRetryAfterKey: NSNumber(value: seconds)])
        }
        #expect(wait(3).longestRetryAfterSeconds == 3)
        #expect(partial([a: wait(2), b: wait(7)]).longestRetryAfterSeconds == 7)
        #expect(CKError(.zoneBusy).longestRetryAfterSeconds == nil)
    }

    @Test func partialErrorsAreMappedByItemID() {
        let error = partial([
            a: CKError(.unknownItem), b: CKError(.permissionFailure), trips: CKError(.zoneBusy),
        ])
        #expect(
            error.errorsByRecordID.mapValues(\.code) == [a: .unknownItem, b: .permissionFailure])
        #expect(error.errorsByZoneID.mapValues(\.code) == [trips: .zoneBusy])
    }

    /// Two devices of one user, who has a zone.
    private func devices() async throws -> (CKDatabase, CKDatabase) {
        let cloud = TestCloud()
        let phone = try await cloud.container("iCloud.x", user: "ida", device: "phone")
            .privateCloudDatabase
        let tablet = try await cloud.container("iCloud.x", user: "ida", device: "tablet")
            .privateCloudDatabase
        try await phone.save(CKRecordZone(zoneID: trips))
        return (phone, tablet)
    }

    @Test func conflictMergesFieldByFieldAndSaves() async throws {
        let (phone, tablet) = try await devices()
        let record = CKRecord(recordType: "Hut", recordID: a)
        record["name"] = "Alp"
        record["beds"] = 4
        record["open"] = true
        record["note"] = "old"
        try await phone.save(record)
        let other = try await tablet.record(for: a)

        record["name"] = "Phone's"
        record["beds"] = 5
        record["note"] = nil as String?
        try await phone.save(record)
        other["name"] = "Tablet's"
        other["open"] = false
        other["fee"] = 9.5
        var conflict: RecordConflict?
        do {
            try await tablet.save(other)
        } catch let error as CKError where error.hasConflict {
            conflict = error.conflicts.first
        }
        let found = try #require(conflict)
        #expect(found.contestedKeys == ["name"])
        let merged = found.merged()
        #expect(merged["name"] == "Tablet's" && merged["beds"] == 5 && merged["open"] == false)
        #expect(merged["fee"] == 9.5 && merged["note"] as String? == nil)
        #expect(found.server["name"] == "Phone's")
        let theirs = found.merged { _ in .server }
        #expect(theirs["name"] == "Phone's" && theirs["open"] == false)
        // The merged record has the service's change tag: it can be saved.
        try await tablet.save(merged)
        #expect(try await phone.record(for: a)["name"] == "Tablet's")
    }

    @Test func conflictMergesEncryptedValues() async throws {
        let (phone, tablet) = try await devices()
        let record = CKRecord(recordType: "Hut", recordID: a)
        record.encryptedValues["diary"] = "old"
        record.encryptedValues["code"] = 1
        record.encryptedValues["gone"] = "yes"
        record["name"] = "Alp"
        try await phone.save(record)
        let other = try await tablet.record(for: a)

        record.encryptedValues["diary"] = "Phone's"
        record["name"] = "Phone's"
        try await phone.save(record)
        other.encryptedValues["diary"] = "Tablet's"
        other.encryptedValues["code"] = 2
        other.encryptedValues["new"] = "x"
        other.encryptedValues["gone"] = nil
        let error = await #expect(throws: CKError.self) { try await tablet.save(other) }
        let found = try #require(error?.conflicts.first)
        #expect(found.contestedKeys == ["diary"])
        #expect(found.merged { _ in .server }.encryptedValues["diary"] == "Phone's")
        try await tablet.save(found.merged())
        let read = try await phone.record(for: a)
        #expect(read.encryptedValues.allKeys() == ["code", "diary", "new"])
        #expect(read.encryptedValues["diary"] == "Tablet's")
        #expect(read.encryptedValues["code"] as? Int == 2)
        #expect(read.allKeys() == ["code", "diary", "name", "new"] && read["name"] == "Phone's")
    }

    @Test func conflictWithoutAncestorMergesFields() {
        let (mine, theirs) = (
            CKRecord(recordType: "Hut", recordID: a), CKRecord(recordType: "Hut", recordID: a)
        )
        mine["name"] = "mine"
        mine["same"] = 1
        theirs["name"] = "theirs"
        theirs["same"] = 1
        theirs["beds"] = 2
        let conflict = RecordConflict(ancestor: nil, client: mine, server: theirs)
        #expect(conflict.contestedKeys == ["name"])
        let merged = conflict.merged()
        #expect(merged["name"] == "mine" && merged["beds"] == 2 && merged["same"] == 1)
    }
}
