import Foundation
import StratusClient
import Testing

/// Who created and who changed a record: the current user has the name that CloudKit shows.
@Suite struct RecordAuthorTests {
    @Test func ownRecordsNameCurrentUser() async throws {
        let trip = try await Trip()
        #expect(trip.trail.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        let read = try await trip.ida.privateCloudDatabase.record(for: trip.trail.recordID)
        #expect(read.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(read.lastModifiedUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(read.creatorUserRecordID == CKRecord.ID(recordName: CKCurrentUserDefaultName))
        let changes = try await trip.ida.privateCloudDatabase.recordZoneChanges(
            inZoneWith: trips, since: nil)
        let changed = try #require(
            try changes.modificationResultsByID[trip.trail.recordID]?.get().record)
        #expect(changed.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
    }

    @Test func othersRecordsNameTheirUser() async throws {
        let trip = try await Trip()
        try await trip.join(try await trip.shareWithBo(), trip.bo)
        let zoneID = try await trip.sharedZoneID()
        let shared = trip.bo.sharedCloudDatabase
        let trail = try await shared.record(
            for: CKRecord.ID(recordName: "trail", zoneID: zoneID))
        let ida = try await trip.ida.userRecordID().recordName
        #expect(trail.creatorUserRecordID?.recordName == ida)
        trail["region"] = "Jura"
        try await shared.save(trail)
        #expect(trail.creatorUserRecordID?.recordName == ida)
        #expect(trail.lastModifiedUserRecordID?.recordName == CKCurrentUserDefaultName)
        let seen = try await trip.ida.privateCloudDatabase.record(for: trip.trail.recordID)
        let bo = try await trip.bo.userRecordID().recordName
        #expect(seen.lastModifiedUserRecordID?.recordName == bo)
        #expect(seen.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
    }
}
