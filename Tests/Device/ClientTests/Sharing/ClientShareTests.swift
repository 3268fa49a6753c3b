import Foundation
import StratusClient
import StratusTesting
import Testing

/// The owner's side of shares, as in tutorials.
@Suite struct ClientShareTests {
    @Test func savedShareHasRootAndURL() async throws {
        let trip = try await Trip()
        let share = CKShare(rootRecord: trip.trail)
        #expect(trip.trail.share?.recordID == share.recordID)
        #expect(share.recordType == CKRecord.SystemType.share)
        #expect(share.recordID.zoneID == trips && share.url == nil)
        #expect(share.publicPermission == .none)
        #expect(share.owner.role == .owner && share.owner == share.currentUserParticipant)
        share[CKShare.SystemFieldKey.title] = "Sunday's trail" as CKRecordValue
        share[CKShare.SystemFieldKey.shareType] = "org.example.trail"
        share[CKShare.SystemFieldKey.thumbnailImageData] = Data([1, 2])
        share["stage"] = 3
        let log = Log()
        let operation = CKModifyRecordsOperation(recordsToSave: [trip.trail, share])
        operation.perRecordSaveBlock = { id, result in
            log.add("\(id.recordName == "trail" ? "trail" : "share") \(result.failure == nil)")
        }
        await run(operation, on: trip.ida.privateCloudDatabase)
        #expect(log.all == ["trail true", "share true"])
        let link = try #require(share.url)
        #expect(link.pathComponents.dropLast() == ["/", "share"])
        #expect(link.fragment?.hasPrefix("Sunday's_trail~") == true)
        #expect(share.recordChangeTag != nil && share.changedKeys().isEmpty)
        #expect(share.owner.acceptanceStatus == .accepted && share.owner.permission == .readWrite)
        #expect(
            share.owner.userIdentity.userRecordID?.recordName
                == (try await trip.ida.userRecordID().recordName))
        #expect(share.currentUserParticipant == share.owner && share.participants.count == 1)
        #expect(trip.trail.share?.recordID == share.recordID && trip.hutBelow.share == nil)
    }

    /// The service compares what the record returns as its share, as a predicate on the device does.
    @Test func queryFindsTheRecordOfAShare() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let reference = CKRecord.Reference(record: share, action: .none)
        let root = CKRecord.Reference(record: trip.trail, action: .none)
        func names(_ target: CKRecord.Reference) async throws -> [String] {
            let predicate = NSPredicate(format: "%K == %@", CKRecord.SystemFieldKey.share, target)
            let query = CKQuery(recordType: trip.trail.recordType, predicate: predicate)
            return try await trip.ida.privateCloudDatabase
                .records(matching: query, inZoneWith: trips).matchResults.map(\.0.recordName)
        }
        #expect(try await names(reference) == ["trail"])
        #expect(try await names(root).isEmpty)
    }

    @Test func everyFetchReturnsShareAsCKShare() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let database = trip.ida.privateCloudDatabase
        let root = try await database.record(for: trip.trail.recordID)
        let shareID = try #require(root.share?.recordID)
        var found: [CKRecord] = [try await database.record(for: shareID)]
        found += try await database.records(for: [shareID], desiredKeys: []).values.map {
            try $0.get()
        }
        let query = CKQuery(recordType: "cloudkit.share", predicate: NSPredicate(value: true))
        found += try await database.records(matching: query, inZoneWith: trips).matchResults.map {
            try $0.1.get()
        }
        found += try await database.recordZoneChanges(inZoneWith: trips, since: nil)
            .modificationResultsByID.values.map { try $0.get().record }
            .filter { $0.recordID == shareID }
        #expect(found.count == 4)
        for record in found {
            let copy = try #require(record as? CKShare)
            #expect(copy == share && copy.participants == share.participants)
            #expect(copy.participants.last?.permission == .readWrite)
            #expect(copy.participants.last?.acceptanceStatus == .pending)
            #expect(copy.url?.path == share.url?.path)
        }
        let title: String? = found[0][CKShare.SystemFieldKey.title]
        #expect(title == "Sunday's trail" && found[1].allKeys().isEmpty)
    }

    @Test func shareURLKeepsPathAndFollowsTitle() async throws {
        let trip = try await Trip()
        let share = try await trip.share()
        let path = share.url?.path
        share[CKShare.SystemFieldKey.title] = "Übermorgen"
        #expect(share.url?.fragment(percentEncoded: false)?.hasPrefix("Übermorgen~") == true)
        try await trip.ida.privateCloudDatabase.save(share)
        #expect(share.url?.path == path && path != nil)
        share[CKShare.SystemFieldKey.title] = nil
        #expect(share.url?.fragment?.hasPrefix("~") == true)
    }

    @Test func shareNeedsRootInCustomPrivateZone() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        let alone = CKShare(rootRecord: trip.trail)
        #expect(await codeOf { try await database.save(alone) } == .invalidArguments)
        let loose = CKRecord(recordType: "Hut")
        let inDefaultZone = CKShare(rootRecord: loose)
        func results(_ database: CKDatabase) async throws -> CKError.Code? {
            let saved = try await database.modifyRecords(
                saving: [loose, inDefaultZone], deleting: [], atomically: false)
            return (saved.saveResults[inDefaultZone.recordID]?.failure as? CKError)?.code
        }
        #expect(try await results(database) == .invalidArguments)
        #expect(try await results(trip.ida.publicCloudDatabase) == .badDatabase)
    }

    @Test func recordBelongsToOneShare() async throws {
        let trip = try await Trip()
        _ = try await trip.share()
        let database = trip.ida.privateCloudDatabase
        for root in [trip.trail, trip.hutBelow] {
            let second = CKShare(rootRecord: root)
            let results = try await database.modifyRecords(
                saving: [root, second], deleting: [], atomically: false)
            #expect(
                (results.saveResults[second.recordID]?.failure as? CKError)?.code == .alreadyShared)
        }
        let all = CKShare(recordZoneID: trips)
        #expect(await codeOf { try await database.save(all) } == .invalidArguments)
    }

    @Test func zoneWideShareGivesWholeZone() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        #expect(try await database.recordZone(for: trips).share == nil)
        let share = CKShare(recordZoneID: trips)
        #expect(share.recordID.recordName == CKRecordNameZoneWideShare)
        share.publicPermission = .readOnly
        try await database.save(share)
        #expect(share.url != nil)
        let zones = [
            try await database.recordZone(for: trips),
            try #require(try await database.allRecordZones().first { $0.zoneID == trips }),
        ]
        for zone in zones { #expect(zone.share?.recordID == share.recordID) }
        // A participant sees everything in the zone, and its share.
        let metadata = try await trip.bo.shareMetadata(for: try #require(share.url))
        #expect(metadata.hierarchicalRootRecordID == nil && metadata.rootRecord == nil)
        try await trip.join(share, trip.bo)
        let zoneID = try await trip.sharedZoneID()
        let shared = trip.bo.sharedCloudDatabase
        #expect(try await shared.recordZone(for: zoneID).share?.recordID.zoneID == zoneID)
        let changes = try await shared.recordZoneChanges(inZoneWith: zoneID, since: nil)
        #expect(changes.modificationResultsByID.count == 4)
        let again = CKShare(recordZoneID: trips)
        #expect(await codeOf { try await database.save(again) } == .serverRecordChanged)
        let part = CKShare(rootRecord: trip.trail)
        let results = try await database.modifyRecords(saving: [trip.trail, part], deleting: [])
        #expect(
            (results.saveResults[part.recordID]?.failure as? CKError)?.code
                == .serverRejectedRequest)
    }

    @Test func participantsAreChangedAndRemoved() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo(.readOnly)
        let database = trip.ida.privateCloudDatabase
        let bo = try #require(share.participants.last)
        #expect(bo.role == .privateUser && bo.userIdentity.lookupInfo?.emailAddress != nil)
        // A change of a participant is saved with the share.
        bo.permission = .readWrite
        try await database.save(share)
        // The same person added again is the same participant.
        let same = try await trip.ida.shareParticipant(forEmailAddress: "bo@example.org")
        #expect(same == bo && same.hash == bo.hash && same.participantID != bo.participantID)
        same.permission = .readOnly
        share.addParticipant(same)
        #expect(share.participants.count == 2 && bo.permission == .readOnly)
        try await database.save(share)
        let fetched = try #require(
            try await database.record(for: share.recordID) as? CKShare)
        #expect(fetched.participants.map(\.permission) == [.readWrite, .readOnly])
        #expect(
            fetched.participants.map(\.participantID) == share.participants.map(\.participantID))
        fetched.removeParticipant(fetched.owner)
        fetched.removeParticipant(try #require(fetched.participants.last))
        try await database.save(fetched)
        #expect(fetched.participants == [fetched.owner])
        #expect(await codeOf { _ = try await trip.join(share, trip.bo) } == .unknownItem)
    }

    @Test func participantChangesNeedCurrentChangeTag() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let database = trip.ida.privateCloudDatabase
        let stale = try #require(share.copy() as? CKShare)
        #expect(stale !== share && stale == share)
        share["stage"] = 1
        try await database.save(share)
        stale.removeParticipant(try #require(stale.participants.last))
        #expect(share.participants.count == 2)
        let results = try await database.modifyRecords(
            saving: [stale], deleting: [], savePolicy: .allKeys, atomically: true)
        let error = results.saveResults[stale.recordID]?.failure as? CKError
        #expect(error?.code == .serverRecordChanged)
        let server = try #require(error?.serverRecord as? CKShare)
        #expect(server.participants.count == 2 && (error?.ancestorRecord is CKShare))
        #expect((error?.clientRecord as? CKShare)?.participants.count == 1)
        server.removeParticipant(try #require(server.participants.last))
        try await database.save(server)
        // A change of a field alone is saved by the policy.
        stale["stage"] = 2
        let fresh = try #require(share.copy() as? CKShare)
        fresh["stage"] = 7
        let saved = try await database.modifyRecords(
            saving: [fresh], deleting: [], savePolicy: .changedKeys)
        #expect(saved.saveResults[fresh.recordID]?.failure == nil)
        #expect(fresh.participants.count == 1 && fresh["stage"] as? Int == 7)
    }

    @Test func shareTakesAtMostHundredParticipants() async throws {
        let trip = try await Trip()
        let share = try await trip.share()
        let addresses = (0...100).map { "friend\($0)@example.org" }
        let found = try await trip.ida.shareParticipants(forEmailAddresses: addresses)
        #expect(found.count == 101)
        for result in found.values { share.addParticipant(try result.get()) }
        let database = trip.ida.privateCloudDatabase
        #expect(await codeOf { try await database.save(share) } == .tooManyParticipants)
        let last = try #require(share.participants.last)
        share.removeParticipant(last)
        try await database.save(share)
        #expect(share.participants.count == 101)
    }

    @Test func administratorInvitesAndRemovesParticipants() async throws {
        let trip = try await Trip()
        let share = try await trip.share { share in
            let bo = try await trip.ida.shareParticipant(forEmailAddress: "bo@example.org")
            bo.role = .administrator
            share.addParticipant(bo)
        }
        let joined = try await trip.join(share, trip.bo)
        #expect(joined.currentUserParticipant?.role == .administrator)
        let shared = trip.bo.sharedCloudDatabase
        joined.addParticipant(try await trip.bo.shareParticipant(forEmailAddress: "cy@example.org"))
        try await shared.save(joined)
        #expect(joined.participants.map(\.role) == [.owner, .administrator, .privateUser])
        try await trip.join(share, trip.cy)
        let fresh = try #require(try await shared.record(for: joined.recordID) as? CKShare)
        fresh.removeParticipant(try #require(fresh.participants.last))
        try await shared.save(fresh)
        #expect(try await trip.cy.sharedCloudDatabase.allRecordZones().isEmpty)
        fresh.currentUserParticipant?.role = .privateUser
        #expect(await codeOf { try await shared.save(fresh) } == .permissionFailure)
    }

    @Test func invitingSamePersonTwiceFails() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let database = trip.ida.privateCloudDatabase
        // Another spelling of the address: the service knows that it is the same address.
        share.addParticipant(try await trip.ida.shareParticipant(forEmailAddress: "BO@example.org"))
        #expect(await codeOf { try await database.save(share) } == .participantAlreadyInvited)
    }

    @Test func publicPermissionRemovesPrivateParticipants() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let database = trip.ida.privateCloudDatabase
        share.publicPermission = .readOnly
        #expect(share.participants == [share.owner])
        try await database.save(share)
        #expect(share.publicPermission == .readOnly && share.participants == [share.owner])
        share.publicPermission = .none
        share.addParticipant(try await trip.ida.shareParticipant(forEmailAddress: "cy@example.org"))
        try await database.save(share)
        #expect(share.participants.count == 2)
    }

    @Test func deletingShareOrRootEndsSharing() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        try await trip.join(share, trip.bo)
        let database = trip.ida.privateCloudDatabase
        // When the root is in the same batch, it has no share afterwards.
        trip.trail["region"] = "Jura"
        let ended = try await database.modifyRecords(
            saving: [trip.trail], deleting: [share.recordID])
        #expect(ended.deleteResults[share.recordID]?.failure == nil)
        #expect(trip.trail.share == nil && trip.trail["region"] as? String == "Jura")
        #expect(try await trip.bo.sharedCloudDatabase.allRecordZones().isEmpty)
        #expect(
            await codeOf { _ = try await trip.ida.shareMetadata(for: try #require(share.url)) }
                == .unknownItem)
        let again = try await trip.share()
        #expect(again.recordID != share.recordID)
        trip.hutBelow.parent = nil
        _ = try await database.modifyRecords(
            saving: [trip.hutBelow], deleting: [trip.trail.recordID])
        #expect(await codeOf { _ = try await database.record(for: again.recordID) } == .unknownItem)
    }
}

extension Result {
    var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
