import Foundation
import StratusClient
import Testing

/// Archives of shares and their metadata, and of other data.
@Suite struct ShareArchiveTests {
    @Test func archivedShareKeepsUnsavedChanges() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo(.readOnly)
        share.participants.last?.permission = .readWrite
        share["stage"] = 2
        let copy = try roundTrip(share)
        #expect(copy == share && copy.url == share.url && copy.owner == share.owner)
        #expect(copy.participants.map(\.permission) == [.readWrite, .readWrite])
        #expect(copy.currentUserParticipant?.role == .owner)
        #expect(copy.changedKeys() == ["stage"])
        // The copy has the unsaved changes, and saves them.
        try await trip.ida.privateCloudDatabase.save(copy)
        let saved = try await trip.ida.privateCloudDatabase.record(for: share.recordID)
        #expect((saved as? CKShare)?.participants.last?.permission == .readWrite)
        #expect(saved["stage"] as? Int == 2)
    }

    @Test func archivedNewShareCanBeSaved() async throws {
        let trip = try await Trip()
        let share = CKShare(rootRecord: trip.trail)
        share.addParticipant(try await trip.ida.shareParticipant(forEmailAddress: "bo@example.org"))
        let copy = try roundTrip(share)
        #expect(copy.participants.count == 2)
        #expect(copy.participants.map(\.participantID) == share.participants.map(\.participantID))
        let results = try await trip.ida.privateCloudDatabase.modifyRecords(
            saving: [copy, trip.trail], deleting: [])
        #expect(results.saveResults.values.allSatisfy { $0.failure == nil })
        #expect(copy.participants.count == 2 && copy.url != nil)
    }

    private func systemFields(of share: CKShare) throws -> NSKeyedUnarchiver {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        share.encodeSystemFields(with: coder)
        coder.finishEncoding()
        return try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
    }

    @Test func shareSystemFieldsKeepParticipants() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let reader = try systemFields(of: share)
        reader.requiresSecureCoding = true
        let copy = try #require(CKShare(coder: reader))
        #expect(copy == share && copy.participants == share.participants)
        #expect(copy.allKeys().isEmpty && copy.recordChangeTag == share.recordChangeTag)
        copy["stage"] = 1
        try await trip.ida.privateCloudDatabase.save(copy)
    }

    @Test func shareDecodedAsRecordIsShare() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let reader = try systemFields(of: share)
        let copy = try #require(CKRecord(coder: reader) as? CKShare)
        // The title, at the end of the link, is a field, and is not among the system fields.
        #expect(copy.participants == share.participants && copy.url?.path == share.url?.path)
        #expect(copy.currentUserParticipant?.role == .owner)
        let whole = try NSKeyedArchiver.archivedData(
            withRootObject: share, requiringSecureCoding: true)
        let again = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: whole)
        #expect((again as? CKShare)?.participants == share.participants)
        // Another record does not decode as a share.
        let trail = NSKeyedArchiver(requiringSecureCoding: true)
        trip.trail.encode(with: trail)
        trail.finishEncoding()
        #expect(CKShare(coder: try NSKeyedUnarchiver(forReadingFrom: trail.encodedData)) == nil)
    }

    @Test func archivedShareMetadataIsAcceptedLater() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let fetched = Kept<CKShare.Metadata>()
        let operation = CKFetchShareMetadataOperation(shareURLs: [try #require(share.url)])
        operation.shouldFetchRootRecord = true
        operation.perShareMetadataResultBlock = { _, result in
            if case .success(let metadata) = result { fetched.add(metadata) }
        }
        await run(operation, on: trip.bo)
        let metadata = try #require(fetched.all.first)
        let copy = try roundTrip(metadata)
        #expect(copy == metadata && copy.hash == metadata.hash)
        #expect(copy.containerIdentifier == Trip.identifier)
        #expect(copy.participantRole == .privateUser && copy.participantStatus == .pending)
        #expect(copy.participantPermission == .readWrite)
        #expect(copy.hierarchicalRootRecordID == metadata.hierarchicalRootRecordID)
        #expect(copy.rootRecord?["region"] as? String == "Alps")
        #expect(copy.ownerIdentity == metadata.ownerIdentity)
        #expect(copy.share.url == share.url)
        // An archived invitation can be accepted later.
        #expect(try await trip.bo.accept(copy).recordID == metadata.share.recordID)
    }

    @Test func archivedParticipantsAndIdentitiesRoundTrip() async throws {
        let trip = try await Trip()
        let bo = try await trip.ida.shareParticipant(forEmailAddress: "bo@example.org")
        bo.permission = .readWrite
        let copy = try roundTrip(bo)
        #expect(copy == bo && copy.participantID == bo.participantID)
        #expect(copy.permission == .readWrite && copy.role == .privateUser)
        let identity = try roundTrip(bo.userIdentity)
        #expect(identity == bo.userIdentity && identity.hash == bo.userIdentity.hash)
        let infos =
            CKUserIdentity.LookupInfo.lookupInfos(withEmails: ["a@example.org"])
            + CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: ["+45"])
            + CKUserIdentity.LookupInfo.lookupInfos(with: [CKRecord.ID(recordName: "_a")])
        for info in infos {
            let copy = try roundTrip(info)
            #expect(copy == info && copy.hash == info.hash)
        }
        #expect(Set(infos).count == 3)
        let zone = try await trip.ida.privateCloudDatabase.recordZone(for: trips)
        #expect(try roundTrip(zone).share == zone.share)
    }

    @Test func archivedZoneKeepsShare() async throws {
        let trip = try await Trip()
        try await trip.ida.privateCloudDatabase.save(CKShare(recordZoneID: trips))
        let zone = try await trip.ida.privateCloudDatabase.recordZone(for: trips)
        let copy = try roundTrip(zone)
        #expect(copy.share?.recordID.recordName == CKRecordNameZoneWideShare)
        #expect(copy.capabilities == zone.capabilities)
    }

    @Test func damagedShareArchiveDecodesToNil() throws {
        #expect(try decodeParts(CKShare.self) == nil)
        #expect(try decodeParts(CKShareMetadata.self) == nil)
        #expect(try decodeParts(CKShareParticipant.self) == nil)
        #expect(try decodeParts(CKUserIdentity.self) == nil)
        #expect(try decodeParts(CKUserIdentityLookupInfo.self) == nil)
        let damaged = Data(#"{"participants":[{"type":"KING"}]}"#.utf8) as NSData
        let whole = Data(#"{"participants":[],"publicPermission":"NONE"}"#.utf8) as NSData
        let parts: [String: NSObject & NSSecureCoding] = [
            "recordType": "cloudkit.share" as NSString, "recordID": hut("a").recordID,
            "sharing": whole, "knownSharing": whole,
        ]
        #expect(try decodeParts(CKShare.self, parts) != nil)
        for (key, part) in [
            ("recordType", "Hut" as NSString as NSObject & NSSecureCoding), ("sharing", damaged),
            ("sharing", "text" as NSString), ("knownSharing", damaged),
            ("recordID", "text" as NSString),
        ] {
            #expect(
                try decodeParts(CKShare.self, parts.merging([key: part]) { $1 }) == nil, "\(key)")
        }
        for missing in ["sharing", "knownSharing", "recordID", "recordType"] {
            #expect(try decodeParts(CKShare.self, parts.filter { $0.key != missing }) == nil)
        }
        let nobody = Data(#"{"type":"KING"}"#.utf8) as NSData
        #expect(try decodeParts(CKShareParticipant.self, ["participant": nobody]) == nil)
        #expect(try decodeParts(CKUserIdentity.self, ["identity": "text" as NSString]) == nil)
    }

    @Test func truncatedMetadataArchiveDecodesToNil() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let metadata = try await trip.bo.shareMetadata(for: try #require(share.url))
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: metadata, requiringSecureCoding: true)
        for length in stride(from: 0, to: data.count, by: 31) {
            // An error and nil both mean that there is no metadata.
            let copy = try? NSKeyedUnarchiver.unarchivedObject(
                ofClass: CKShareMetadata.self, from: data.prefix(length))
            #expect(copy == nil)
        }
    }
}
