import Foundation
import StratusClient
import StratusRecords
import StratusTesting
import StratusWire
import Testing

/// What a save of a share sends, and changes that are made while it is in flight.
@Suite struct ShareSavingTests {
    private let owner = ParticipantDictionary(
        participantID: "1", userIdentity: UserIdentityDictionary(userRecordName: "_ida"),
        role: .owner, status: .accepted, permission: .readWrite)

    private func invited(_ id: String?, _ address: String) -> ParticipantDictionary {
        ParticipantDictionary(
            participantID: id,
            userIdentity: UserIdentityDictionary(userRecordName: nil, emailAddress: address),
            permission: .readOnly)
    }

    private func record(_ participants: [ParticipantDictionary], tag: String) -> RecordResult {
        .share(
            ShareDictionary(
                publicPermission: SharePermission.none, participants: [owner] + participants,
                owner: owner, currentUserParticipant: owner), tag: tag)
    }

    private func fetch(_ transport: ScriptedTransport) async throws -> CKShare {
        let id = CKRecord.ID(recordName: "S", zoneID: trips)
        return try #require(
            try await container(transport).privateCloudDatabase.record(for: id) as? CKShare)
    }

    @Test func shareSaveSendsChangedPartsOnly() async throws {
        let known = record([invited("2", "bo@example.org")], tag: "t1")
        let transport = ScriptedTransport { request, _ in
            if request is RecordsLookup.Request { return RecordsLookup.Answer(records: [known]) }
            return RecordsModify.Answer(records: [known])
        }
        let database = container(transport).privateCloudDatabase
        let share = try await fetch(transport)
        #expect(share.url?.absoluteString == "https://stratus.invalid/share/0abc")
        share[CKShare.SystemFieldKey.title] = "T"
        try await database.save(share)
        share.publicPermission = .readOnly
        try await database.save(share)
        let sent = transport.requests(RecordsModify.Request.self).map {
            $0.operations[0].record
        }
        #expect(sent[0].share == ShareDictionary())
        #expect(sent[1].share?.publicPermission == .readOnly)
        #expect(sent[1].share?.participants?.map(\.participantID) == ["1"])
        #expect(sent[1].share?.root == nil && sent[1].share?.owner == nil)
    }

    @Test func newShareSendsRootWithoutOwner() async throws {
        let transport = ScriptedTransport { request, _ in accept(request) }
        let share = CKShare(
            rootRecord: hut("a"), shareID: CKRecord.ID(recordName: "S", zoneID: trips))
        let root = hut("a")
        _ = try await container(transport).privateCloudDatabase.modifyRecords(
            saving: [root, share], deleting: [], savePolicy: .allKeys)
        let request = try #require(transport.requests(RecordsModify.Request.self).first)
        let sent = request.operations[1]
        // A share without a change tag is created, whatever the policy.
        #expect(sent.kind == .create && sent.record.share?.root?.recordName == "a")
        #expect(sent.record.share?.participants == nil)
        #expect(sent.record.share?.publicPermission == nil)
    }

    /// While a save is in flight, the app removes Bo, who was sent, adds Cy, and lets Di write.
    @Test func participantChangesDuringSaveAreKept() async throws {
        let bo = invited("2", "bo@example.org")
        let di = invited("4", "di@example.org")
        let shares = Kept<CKShare>()
        let known = record([bo], tag: "t1")
        let answer = record([bo, di], tag: "t2")
        let cy = try await participant("cy@example.org")
        let transport = ScriptedTransport { request, _ in
            if request is RecordsLookup.Request { return RecordsLookup.Answer(records: [known]) }
            if let share = shares.all.first, share.recordChangeTag == "t1" {
                share.removeParticipant(share.participants[1])
                share.participants.last?.permission = .readWrite
                share.addParticipant(cy)
            }
            return RecordsModify.Answer(records: [answer])
        }
        let share = try await fetch(transport)
        shares.add(share)
        share.addParticipant(try await participant("di@example.org"))
        let database = container(transport).privateCloudDatabase
        try await database.save(share)
        #expect(
            share.participants.map { $0.userIdentity.lookupInfo?.emailAddress }
                == [nil, "di@example.org", "cy@example.org"])
        #expect(share.participants[1].participantID == "4")
        #expect(share.participants[1].permission == .readWrite)
        try await database.save(share)
        let sent = try #require(transport.requests(RecordsModify.Request.self).last)
        let list = try #require(sent.operations[0].record.share?.participants)
        #expect(list.map(\.participantID) == ["1", "4", nil])
        #expect(list.map(\.permission) == [.readWrite, .readWrite, .readOnly])
    }

    private func participant(_ address: String) async throws -> CKShare.Participant {
        let transport = ScriptedTransport { _, _ in
            UsersDiscover.Answer([
                UserIdentityDictionary(userRecordName: nil, emailAddress: address)
            ])
        }
        return try await container(transport).shareParticipant(forEmailAddress: address)
    }

    /// Another service may leave parts out; the process must not end.
    @Test func sparseShareAnswersDoNotTrap() async throws {
        let transport = ScriptedTransport { request, _ in
            switch request {
            case is RecordsLookup.Request:
                return RecordsLookup.Answer(records: [
                    .record(
                        RecordDictionary(
                            recordName: "S", recordType: "cloudkit.share", recordChangeTag: "t1"))
                ])
            case let request as RecordsResolve.Request:
                return RecordsResolve.Answer(
                    request.items.map {
                        .success(ShareMetadataDictionary(shortGUID: $0))
                    })
            default: return RecordsResolve.Answer([])
            }
        }
        let share = try await fetch(transport)
        #expect(share.participants.isEmpty && share.currentUserParticipant == nil)
        #expect(share.owner.permission == .unknown && share.url == nil)
        let link = try #require(URL(string: "https://stratus.invalid/share/x"))
        let asking = container(transport)
        #expect(await codeOf { _ = try await asking.shareMetadata(for: link) } == .internalError)
        let mute = container(ScriptedTransport { _, _ in RecordsResolve.Answer([]) })
        #expect(await codeOf { _ = try await mute.shareMetadata(for: link) } == .internalError)
    }

    @available(*, deprecated)
    @Test func deprecatedSharingNamesKeepValues() {
        let root = hut("a")
        let share = CKShare(rootRecord: root, share: CKRecordID(recordName: "S", zoneID: trips))
        share[CKShareTitleKey] = "T" as CKRecordValue
        share[CKShareTypeKey] = "trail" as CKRecordValue
        share[CKShareThumbnailImageDataKey] = Data([1]) as CKRecordValue
        #expect(share.recordType == CKRecordTypeShare && share.allKeys().count == 3)
        let permission: CKShareParticipantPermission = .readWrite
        share.publicPermission = permission
        let role: CKShare.Participant.Role = .owner
        let status: CKShareParticipantAcceptanceStatus = .accepted
        let participant: CKShareParticipant = share.owner
        #expect(participant.role == role && participant.acceptanceStatus == status)
        let type: CKShareParticipantType = .owner
        #expect(participant.type == type)
        let old: [CKShare_Participant_Permission] = [.none, .readOnly]
        #expect(old.map(\.rawValue) == [1, 2])
        let roles: [CKShareParticipantRole] = [.unknown, .owner, .administrator, .privateUser]
        #expect(roles.map(\.rawValue) == [0, 1, 2, 3])
        let granted: CKApplicationPermissionStatus = .granted
        #expect(granted == CKContainer.Application.PermissionStatus.granted)
        #expect(CKApplicationPermissions.userDiscoverability.rawValue == 1)
    }
}

extension RecordResult {
    /// Ida's share "S" in the zone `trips`, as the service answers it.
    static func share(_ share: ShareDictionary, tag: String) -> RecordResult {
        .record(
            RecordDictionary(
                recordName: "S", recordType: "cloudkit.share", recordChangeTag: tag,
                zoneID: ZoneIDDictionary(zoneName: "Trips", ownerRecordName: "_ida"),
                created: stamp, modified: stamp, shortGUID: "0abc", share: share))
    }
}
