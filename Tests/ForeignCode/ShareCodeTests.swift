import CloudKit
import Foundation
import StratusTesting
import Synchronization
import Testing

/// What existing apps do with shares and their participants: the owner's coordinator, the invited user's scene
/// delegate, and the end of sharing.
@Suite struct ShareCodeTests {
    private let cloud = TestCloud()
    private let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)

    private func container(_ user: String) async throws -> CKContainer {
        try await cloud.container(
            "iCloud.org.example.Notes", user: "\(user)@example.org", device: "\(user)'s phone")
    }

    /// A folder with a note below it.
    private func folder(_ owner: CKContainer) async throws -> CKRecord {
        let database = owner.privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
        let folder = CKRecord(
            recordType: "Folder", recordID: CKRecord.ID(recordName: "folder", zoneID: zoneID))
        folder["title"] = "Shopping"
        let note = CKRecord(
            recordType: "Note", recordID: CKRecord.ID(recordName: "note", zoneID: zoneID))
        note["title"] = "Milk"
        note.parent = CKRecord.Reference(record: folder, action: .none)
        _ = try await database.modifyRecords(saving: [folder, note], deleting: [])
        return folder
    }

    /// Fetches the share of a record, or creates one, like every sharing button.
    private func shareOf(_ record: CKRecord, _ database: CKDatabase) async throws -> CKShare {
        if let reference = record.share,
            let existing = try await database.record(for: reference.recordID) as? CKShare
        {
            return existing
        }
        let share = CKShare(rootRecord: record)
        share[CKShare.SystemFieldKey.title] = record["title"] as? String
        share[CKShare.SystemFieldKey.shareType] = "org.example.folder"
        share.publicPermission = .none
        let save = CKModifyRecordsOperation(
            recordsToSave: [record, share], recordIDsToDelete: nil)
        save.savePolicy = .changedKeys
        try await withCheckedThrowingContinuation { continuation in
            save.modifyRecordsResultBlock = { continuation.resume(with: $0) }
            database.add(save)
        }
        return share
    }

    @Test func shareIsSavedTogetherWithItsRoot() async throws {
        let ida = try await container("ida")
        let database = ida.privateCloudDatabase
        let folder = try await folder(ida)
        #expect(folder.share == nil)
        let share = try await shareOf(folder, database)
        #expect(share.recordType == "cloudkit.share" && share.url != nil)
        #expect(share.publicPermission == .none)
        #expect(share[CKShare.SystemFieldKey.title] as? String == "Shopping")
        #expect(share[CKShare.SystemFieldKey.shareType] as? String == "org.example.folder")
        #expect(share.owner.role == .owner && share.currentUserParticipant?.role == .owner)
        #expect(share.owner.acceptanceStatus == .accepted)
        let root = try await database.record(for: folder.recordID)
        #expect(root.share?.recordID == share.recordID)
        // The sharing button is pressed again: the same share.
        #expect(try await shareOf(root, database).recordID == share.recordID)
        #expect(try await shareOf(root, database).url?.path == share.url?.path)
    }

    @Test func participantsAreListedWithTheirIdentities() async throws {
        let (ida, bo) = (try await container("ida"), try await container("bo"))
        // From now on the service knows the user.
        _ = try await bo.userRecordID()
        let share = try await shareOf(try await folder(ida), ida.privateCloudDatabase)
        let participant = try await ida.shareParticipant(forEmailAddress: "bo@example.org")
        #expect(participant.role == .privateUser && participant.permission == .readOnly)
        participant.permission = .readWrite
        share.addParticipant(participant)
        let saved = try #require(try await ida.privateCloudDatabase.save(share) as? CKShare)
        let others = saved.participants.filter { $0 != saved.owner }
        #expect(others.map(\.acceptanceStatus) == [.pending])
        #expect(others.map(\.permission) == [.readWrite])
        #expect(others.first?.userIdentity.lookupInfo?.emailAddress == "bo@example.org")
        // As a list shows people: by name, otherwise by address.
        let rows = others.map { other in
            other.userIdentity.nameComponents?.givenName
                ?? other.userIdentity.lookupInfo?.emailAddress ?? "Somebody"
        }
        #expect(rows == ["bo@example.org"])
        switch try #require(others.first).acceptanceStatus {
        case .pending: break
        case .accepted, .removed, .unknown: Issue.record("Bo did not join yet")
        @unknown default: break
        }

        saved.removeParticipant(try #require(others.first))
        let alone = try #require(try await ida.privateCloudDatabase.save(saved) as? CKShare)
        #expect(alone.participants.map(\.role) == [.owner])
    }

    @Test func invitedUserJoinsThroughOperationsAndLeaves() async throws {
        let (ida, bo) = (try await container("ida"), try await container("bo"))
        _ = try await bo.userRecordID()
        let folder = try await folder(ida)
        let share = try await shareOf(folder, ida.privateCloudDatabase)
        let participant = try await ida.shareParticipant(forEmailAddress: "bo@example.org")
        participant.permission = .readWrite
        share.addParticipant(participant)
        _ = try await ida.privateCloudDatabase.save(share)
        let url = try #require(share.url)

        // A scene delegate gets the metadata; an app that only has the link fetches it.
        let found = Mutex<CKShare.Metadata?>(nil)
        let fetch = CKFetchShareMetadataOperation(shareURLs: [url])
        fetch.shouldFetchRootRecord = true
        fetch.perShareMetadataResultBlock = { link, result in
            if link == url, case .success(let metadata) = result {
                found.withLock { $0 = metadata }
            }
        }
        try await withCheckedThrowingContinuation { continuation in
            fetch.fetchShareMetadataResultBlock = { continuation.resume(with: $0) }
            bo.add(fetch)
        }
        let metadata = try #require(found.withLock { $0 })
        #expect(metadata.containerIdentifier == bo.containerIdentifier)
        #expect(metadata.participantStatus == .pending && metadata.participantRole == .privateUser)
        #expect(metadata.participantPermission == .readWrite)
        #expect(metadata.rootRecord?["title"] as? String == "Shopping")
        #expect(metadata.hierarchicalRootRecordID?.recordName == "folder")
        #expect(
            metadata.ownerIdentity.userRecordID?.recordName
                == (try await ida.userRecordID().recordName))

        let accept = CKAcceptSharesOperation(shareMetadatas: [metadata])
        let joined = Mutex<CKShare?>(nil)
        accept.perShareResultBlock = { _, result in joined.withLock { $0 = try? result.get() } }
        try await withCheckedThrowingContinuation { continuation in
            accept.acceptSharesResultBlock = { continuation.resume(with: $0) }
            bo.add(accept)
        }
        let theirs = try #require(joined.withLock { $0 })
        #expect(theirs.currentUserParticipant?.acceptanceStatus == .accepted)
        #expect(theirs.currentUserParticipant?.userIdentity.hasiCloudAccount == true)

        // Shared records are in the shared database, in the owner's zone.
        let shared = bo.sharedCloudDatabase
        let zone = try #require(try await shared.allRecordZones().first)
        #expect(zone.zoneID.zoneName == "Notes")
        #expect(zone.zoneID.ownerName == metadata.ownerIdentity.userRecordID?.recordName)
        let note = try await shared.record(
            for: CKRecord.ID(recordName: "note", zoneID: zone.zoneID))
        note["title"] = "Oat milk"
        _ = try await shared.save(note)

        // A participant leaves by deleting the share.
        _ = try await shared.deleteRecord(withID: theirs.recordID)
        #expect(try await shared.allRecordZones().isEmpty)
        let left = try #require(
            try await ida.privateCloudDatabase.record(for: share.recordID) as? CKShare)
        #expect(left.participants.last?.acceptanceStatus == .removed)
        let kept = try await ida.privateCloudDatabase.record(
            for: CKRecord.ID(recordName: "note", zoneID: zoneID))
        #expect(kept["title"] as? String == "Oat milk")
    }

    /// Any user with the link has access, until the owner stops sharing.
    @Test func publicPermissionAdmitsEveryUserUntilTheShareIsDeleted() async throws {
        let (ida, cy) = (try await container("ida"), try await container("cy"))
        let share = try await shareOf(try await folder(ida), ida.privateCloudDatabase)
        let url = try #require(share.url)
        await #expect(throws: CKError.self) { try await cy.shareMetadata(for: url) }
        share.publicPermission = .readOnly
        _ = try await ida.privateCloudDatabase.save(share)
        let joined = try await cy.accept(try await cy.shareMetadata(for: url))
        #expect(joined.currentUserParticipant?.role == .publicUser)
        let rootID = CKRecord.ID(recordName: "folder", zoneID: joined.recordID.zoneID)
        let root = try await cy.sharedCloudDatabase.record(for: rootID)
        root["title"] = "Mine"
        await #expect(throws: CKError(.permissionFailure)) {
            try await cy.sharedCloudDatabase.save(root)
        }

        _ = try await ida.privateCloudDatabase.deleteRecord(withID: share.recordID)
        #expect(try await cy.sharedCloudDatabase.allRecordZones().isEmpty)
        let folder = try await ida.privateCloudDatabase.record(
            for: CKRecord.ID(recordName: "folder", zoneID: zoneID))
        #expect(folder.share == nil)
    }

    /// A share of a whole zone, whose system fields are stored between launches.
    @Test func zoneSharesAreArchived() async throws {
        let ida = try await container("ida")
        let database = ida.privateCloudDatabase
        _ = try await folder(ida)
        let share = CKShare(recordZoneID: zoneID)
        _ = try await database.save(share)
        #expect(share.recordID.recordName == CKRecordNameZoneWideShare)
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        share.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        unarchiver.requiresSecureCoding = true
        let kept = try #require(CKShare(coder: unarchiver))
        #expect(kept.recordID == share.recordID && kept.recordChangeTag == share.recordChangeTag)
        #expect(kept.url?.path == share.url?.path && kept.owner == share.owner)
    }
}
