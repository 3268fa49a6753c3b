import Foundation
import StratusClient
import StratusTesting
import Testing

/// The participant's side: links, joining, and the zones of other owners in the shared database.
@Suite struct ClientSharedDatabaseTests {
    @Test func acceptedShareAddsZoneToSharedDatabase() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let shared = trip.bo.sharedCloudDatabase
        let before = try await shared.databaseChanges(since: nil)
        #expect(before.modifications.isEmpty)
        #expect(try await shared.allRecordZones().isEmpty)

        let metadata = try await trip.bo.shareMetadata(for: try #require(share.url))
        #expect(metadata.containerIdentifier == Trip.identifier)
        #expect(metadata.participantRole == .privateUser)
        #expect(metadata.participantStatus == .pending)
        #expect(metadata.participantPermission == .readWrite)
        let idasName = try await trip.ida.userRecordID().recordName
        #expect(metadata.ownerIdentity.userRecordID?.recordName == idasName)
        #expect(metadata.hierarchicalRootRecordID?.recordName == "trail")
        #expect(metadata.hierarchicalRootRecordID?.zoneID.ownerName == idasName)
        #expect(metadata.share.recordID.zoneID == metadata.hierarchicalRootRecordID?.zoneID)
        #expect(metadata.rootRecord == nil && metadata.share.url == share.url)
        #expect(
            await codeOf { _ = try await shared.record(for: metadata.share.recordID) }
                == .zoneNotFound)

        let joined = try await trip.bo.accept(metadata)
        #expect(joined == metadata.share || joined.recordID == metadata.share.recordID)
        #expect(joined.currentUserParticipant?.acceptanceStatus == .accepted)
        #expect(joined.currentUserParticipant?.permission == .readWrite)
        #expect(joined.owner.role == .owner && joined.owner != joined.currentUserParticipant)

        let after = try await shared.databaseChanges(since: before.changeToken)
        let zoneID = try await trip.sharedZoneID()
        #expect(after.modifications.map(\.zoneID) == [zoneID])
        let changes = try await shared.recordZoneChanges(inZoneWith: zoneID, since: nil)
        let records = try changes.modificationResultsByID.values.map { try $0.get().record }
        #expect(
            Set(records.map(\.recordID.recordName))
                == ["trail", "hut", share.recordID.recordName])
        #expect(records.contains { $0 is CKShare })
        let own = try #require(
            try await trip.ida.privateCloudDatabase.record(for: share.recordID) as? CKShare)
        #expect(own.participants.map(\.acceptanceStatus) == [.accepted, .accepted])
        #expect(own.participants[1].userIdentity.hasiCloudAccount)
    }

    @Test func participantWritesOnlyInsideHierarchy() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo(.readWrite)
        try await trip.join(share, trip.bo)
        let zoneID = try await trip.sharedZoneID()
        let shared = trip.bo.sharedCloudDatabase
        let rootID = CKRecord.ID(recordName: "trail", zoneID: zoneID)
        let root = try await shared.record(for: rootID)
        #expect(root.recordID == rootID && root.share?.recordID.zoneID == zoneID)
        root["region"] = "Jura"
        let tent = CKRecord(
            recordType: "Hut", recordID: CKRecord.ID(recordName: "tent", zoneID: zoneID))
        tent.setParent(rootID)
        tent["on"] = CKRecord.Reference(recordID: rootID, action: .deleteSelf)
        let saved = try await shared.modifyRecords(saving: [root, tent], deleting: [])
        #expect(saved.saveResults.values.allSatisfy { $0.failure == nil })
        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(value: true))
        let matches = try await shared.records(matching: query, inZoneWith: zoneID).matchResults
        let read = try #require(
            try matches.first { $0.0.recordName == "tent" }?.1.get())
        #expect(read.parent?.recordID == rootID)
        #expect((read["on"] as? CKRecord.Reference)?.recordID == rootID)
        let seen = try await trip.ida.privateCloudDatabase.record(
            for: CKRecord.ID(recordName: "tent", zoneID: trips))
        #expect(
            seen.creatorUserRecordID?.recordName == (try await trip.bo.userRecordID().recordName))
        #expect((seen["on"] as? CKRecord.Reference)?.recordID.zoneID == trips)
        try await shared.deleteRecord(withID: tent.recordID)

        // A participant cannot write outside of the hierarchy, or delete the root.
        let alone = CKRecord(
            recordType: "Hut", recordID: CKRecord.ID(recordName: "alone", zoneID: zoneID))
        #expect(await codeOf { try await shared.save(alone) } == .permissionFailure)
        #expect(
            await codeOf { try await shared.deleteRecord(withID: rootID) } == .permissionFailure)
        let diary = CKRecord.ID(recordName: "diary", zoneID: zoneID)
        #expect(await codeOf { _ = try await shared.record(for: diary) } == .unknownItem)
    }

    @Test func readOnlyParticipantCannotWrite() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo(.readOnly)
        let joined = try await trip.join(share, trip.bo)
        let shared = trip.bo.sharedCloudDatabase
        let zoneID = try await trip.sharedZoneID()
        let root = try await shared.record(
            for: CKRecord.ID(recordName: "trail", zoneID: zoneID))
        root["region"] = "Jura"
        #expect(await codeOf { try await shared.save(root) } == .permissionFailure)
        joined.publicPermission = .readWrite
        #expect(await codeOf { try await shared.save(joined) } == .permissionFailure)
    }

    @Test func sharedDatabaseRefusesOwnZonesAndQueries() async throws {
        let trip = try await Trip()
        let shared = trip.bo.sharedCloudDatabase
        #expect(
            await codeOf { try await shared.save(CKRecordZone(zoneName: "Mine")) } == .badDatabase)
        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(value: true))
        #expect(
            await codeOf {
                _ = try await shared.records(matching: query) as CKDatabase.QueryMatches
            }
                == .invalidArguments)
        let subscription = CKQuerySubscription(
            recordType: "Hut", predicate: NSPredicate(value: true), subscriptionID: "q")
        #expect(await codeOf { try await shared.save(subscription) } == .badDatabase)
        let zoneSubscription = CKRecordZoneSubscription(zoneID: trips)
        #expect(await codeOf { try await shared.save(zoneSubscription) } == .badDatabase)
    }

    @Test func sharedDatabaseSubscriptionNotifiesOfOwnersChanges() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        try await trip.join(share, trip.bo)
        let subscription = CKDatabaseSubscription(subscriptionID: "shared")
        subscription.notificationInfo = .init(shouldSendContentAvailable: true)
        try await trip.bo.sharedCloudDatabase.save(subscription)
        for await event in trip.bo.connection.remoteNotifications(container: Trip.identifier) {
            switch event {
            case .listening:
                trip.hutBelow["beds"] = 5
                try await trip.ida.privateCloudDatabase.save(trip.hutBelow)
            case .notification(let hint):
                let notification = try #require(
                    CKNotification(fromRemoteNotificationDictionary: hint.userInfo)
                        as? CKDatabaseNotification)
                #expect(notification.databaseScope == .shared)
                #expect(notification.subscriptionID == "shared")
                return
            }
        }
    }

    @Test func participantLeavesAndRejoins() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let joined = try await trip.join(share, trip.bo)
        let shared = trip.bo.sharedCloudDatabase
        let token = try await shared.databaseChanges(since: nil).changeToken
        try await shared.deleteRecord(withID: joined.recordID)
        let left = try await shared.databaseChanges(since: token)
        #expect(left.deletions.map(\.zoneID) == [try await trip.sharedZoneID()])
        let own = try #require(
            try await trip.ida.privateCloudDatabase.record(for: share.recordID) as? CKShare)
        #expect(own.participants.map(\.acceptanceStatus) == [.accepted, .removed])
        try await trip.join(share, trip.bo)
        // A participant also leaves by deleting the zone.
        try await shared.deleteRecordZone(withID: try await trip.sharedZoneID())
        #expect(try await shared.allRecordZones().isEmpty)
        #expect(trip.trail.share != nil)
    }

    @Test func publicShareIsJoinedByLink() async throws {
        let trip = try await Trip()
        let share = try await trip.share { $0.publicPermission = .readWrite }
        let metadata = try await trip.cy.shareMetadata(for: try #require(share.url))
        #expect(metadata.participantRole == .publicUser && metadata.participantStatus == .pending)
        #expect(metadata.share.currentUserParticipant == nil)
        let joined = try await trip.cy.accept(metadata)
        #expect(joined.currentUserParticipant?.role == .publicUser)
        let database = trip.ida.privateCloudDatabase
        let own = try #require(try await database.record(for: share.recordID) as? CKShare)
        #expect(own.participants.map(\.role) == [.owner, .publicUser])
        own.publicPermission = .none
        try await database.save(own)
        #expect(own.participants == [own.owner])
        #expect(try await trip.cy.sharedCloudDatabase.allRecordZones().isEmpty)
    }

    @Test func privateShareLinkIsRefusedToOthers() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let link = try #require(share.url)
        let metadata = try await trip.bo.shareMetadata(for: link)
        // While an invitation by address is open, the address may also be Cy's.
        do {
            _ = try await trip.cy.shareMetadata(for: link)
            Issue.record("The link is Bo's.")
        } catch let error as CKError {
            #expect(error.code == .participantMayNeedVerification)
            #expect(error.userInfo["InvitedAddresses"] as? [String] == ["b•••@e•••.org"])
        }
        #expect(
            await codeOf { _ = try await trip.cy.accept(metadata) }
                == .participantMayNeedVerification)
        _ = try await trip.bo.accept(metadata)
        #expect(await codeOf { _ = try await trip.cy.shareMetadata(for: link) } == .unknownItem)
        #expect(await codeOf { _ = try await trip.cy.accept(metadata) } == .unknownItem)
        let wrong = try #require(URL(string: "https://example.org/elsewhere"))
        #expect(
            await codeOf { _ = try await trip.bo.shareMetadata(for: wrong) } == .invalidArguments)
    }

    @Test func oneTimeURLAdmitsFirstUserOnly() async throws {
        let trip = try await Trip()
        let somebody = CKShare.Participant.oneTimeURLParticipant()
        somebody.permission = .readWrite
        #expect(somebody.userIdentity.lookupInfo == nil && somebody.role == .privateUser)
        let share = try await trip.share { share in
            share.addParticipant(somebody)
            share.addParticipant(CKShare.Participant.oneTimeURLParticipant())
            #expect(share.oneTimeURL(for: somebody.participantID) == nil)
        }
        #expect(share.participants.count == 3)
        let link = try #require(share.oneTimeURL(for: somebody.participantID))
        let other = try #require(share.oneTimeURL(for: share.participants[2].participantID))
        #expect(link != other && link.path == share.url?.path)
        #expect(share.oneTimeURL(for: share.owner.participantID) == nil)
        // The share's plain link is not an invitation.
        let plain = try #require(share.url)
        #expect(await codeOf { _ = try await trip.bo.shareMetadata(for: plain) } == .unknownItem)
        let metadata = try await trip.bo.shareMetadata(for: link)
        #expect(metadata.participantPermission == .readWrite)
        #expect(metadata.participantStatus == .pending)
        let late = try await trip.cy.shareMetadata(for: link)
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: metadata, requiringSecureCoding: true)
        let kept = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShareMetadata.self, from: data))
        let joined = try await trip.bo.accept(kept)
        #expect(joined.currentUserParticipant?.acceptanceStatus == .accepted)
        #expect(await codeOf { _ = try await trip.cy.accept(late) } == .unknownItem)
        #expect(await codeOf { _ = try await trip.cy.shareMetadata(for: link) } == .unknownItem)
        // A participant does not take another invitation, and can use any link again.
        _ = try await trip.bo.accept(try await trip.bo.shareMetadata(for: other))
        let own = try #require(
            try await trip.ida.privateCloudDatabase.record(for: share.recordID) as? CKShare)
        #expect(own.participants.map(\.acceptanceStatus) == [.accepted, .accepted, .pending])
        #expect(own.oneTimeURL(for: own.participants[1].participantID) == nil)
        #expect(own.oneTimeURL(for: own.participants[2].participantID) == other)
        let seen = try #require(
            try await trip.bo.sharedCloudDatabase.record(for: joined.recordID) as? CKShare)
        #expect(seen.participants.count == 2)
    }

    @Test func shareLinksOfEveryFormAreResolved() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let name = try #require(share.url?.lastPathComponent)
        for text in [
            "https://www.icloud.com/share/\(name)#Sunday",
            "https://cloud.example.org/share/\(name)",
            "cloudkit-icloud.org.example.trails://host/share/\(name)?a=b",
        ] {
            let metadata = try await trip.bo.shareMetadata(for: try #require(URL(string: text)))
            #expect(metadata.share.recordID.recordName == share.recordID.recordName)
        }
    }

    @Test func ownerOpensOwnShareLink() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let metadata = try await trip.ida.shareMetadata(for: try #require(share.url))
        #expect(metadata.participantRole == .owner && metadata.participantStatus == .accepted)
        #expect(metadata.share.recordID == share.recordID)
        #expect(try await trip.ida.accept(metadata).recordID == share.recordID)
    }

    @Test func openedShareLinkHandsMetadataToApp() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let log = Log()
        try await trip.bo.openShare(at: try #require(share.url)) { metadata in
            _ = try await trip.bo.accept(metadata)
            log.add("\(metadata.hierarchicalRootRecordID?.recordName ?? "")")
        }
        #expect(log.all == ["trail"])
        #expect(try await trip.bo.sharedCloudDatabase.allRecordZones().count == 1)
    }
}
