import Foundation
import StratusClient
import StratusWire
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

    @Test func userThatTheServiceLeavesOutIsNil() async throws {
        let unnamed = RecordDictionary.Stamp(
            timestampMilliseconds: 1, userRecordName: "", deviceID: "")
        let record = RecordDictionary(
            recordName: "a", recordType: "Hut", recordChangeTag: "t1",
            zoneID: ZoneIDDictionary(zoneName: "Trips", ownerRecordName: "_ida"), created: unnamed,
            modified: unnamed)
        let read = try await database { _, _ in
            RecordsLookup.Answer(records: [.record(record)])
        }.record(for: hut("a").recordID)
        #expect(read.creationDate != nil && read.modificationDate != nil)
        #expect(read.creatorUserRecordID == nil && read.lastModifiedUserRecordID == nil)
    }
}
