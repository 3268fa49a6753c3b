import Foundation
import StratusClient
import StratusRecords
import StratusWire
import Testing

/// Requests for access to shares: sent by people who have the link, answered by the owner.
@Suite struct ShareAccessTests {
    /// A share that accepts access requests.
    private func openShare(_ trip: Trip) async throws -> CKShare {
        try await trip.share { $0.allowsAccessRequests = true }
    }

    /// The current share of the service.
    private func fetched(_ share: CKShare, by database: CKDatabase) async throws -> CKShare {
        try #require(try await database.record(for: share.recordID) as? CKShare)
    }

    /// Requests access, and returns the calls of the two blocks.
    private func ask(_ urls: [URL], in container: CKContainer) async -> [String] {
        let log = Log()
        func word(_ result: Result<Void, any Error>) -> String {
            result.failure.map { "\(($0 as? CKError)?.code.rawValue ?? -1)" } ?? "taken"
        }
        let operation = CKShareRequestAccessOperation(shareURLs: urls)
        #expect(operation.shareURLs == urls)
        operation.perShareAccessRequestResultBlock = { url, result in
            log.add("\(url.lastPathComponent.prefix(4)) \(word(result))")
        }
        operation.shareAccessRequestResultBlock = { log.add(word($0)) }
        await run(operation, on: container)
        return log.all
    }

    @Test func ownerApprovesAccessRequester() async throws {
        let trip = try await Trip()
        let share = try await openShare(trip)
        #expect(share.requesters.isEmpty && share.blockedIdentities.isEmpty)
        let link = try #require(share.url)
        for _ in 0..<2 { #expect(await ask([link], in: trip.cy).last == "taken") }
        let database = trip.ida.privateCloudDatabase
        let current = try await fetched(share, by: database)
        #expect(current.allowsAccessRequests && current.requesters.count == 1)
        let requester: CKShare.AccessRequester = try #require(current.requesters.first)
        let cysID = try await trip.cy.userRecordID()
        #expect(requester.userIdentity.userRecordID?.recordName == cysID.recordName)
        #expect(requester.participantLookupInfo.emailAddress == "cy@example.org")

        let found = Kept<CKShare.Participant>()
        let operation = CKFetchShareParticipantsOperation(
            userIdentityLookupInfos: current.requesters.map(\.participantLookupInfo))
        operation.perShareParticipantResultBlock = { _, result in
            if case .success(let participant) = result { found.add(participant) }
        }
        await run(operation, on: trip.ida)
        let participant = try #require(found.all.first)
        #expect(!participant.isApprovedRequester && participant.dateAddedToShare == nil)
        participant.permission = .readWrite
        current.addParticipant(participant)
        let before = Date()
        try await database.save(current)
        #expect(current.requesters.isEmpty)
        #expect(current.participants.map(\.isApprovedRequester) == [false, true])
        let added = try #require(participant.dateAddedToShare)
        #expect(abs(added.timeIntervalSince(before)) < 60)
        #expect(current.owner.dateAddedToShare != nil)

        let joined = try await trip.join(share, trip.cy)
        #expect(joined.currentUserParticipant?.isApprovedRequester == true)
        #expect(joined.currentUserParticipant?.permission == .readWrite)
        let zoneID = try await trip.sharedZoneID()
        let rootID = CKRecord.ID(recordName: "trail", zoneID: zoneID)
        #expect(try await trip.cy.sharedCloudDatabase.record(for: rootID)["region"] == "Alps")
    }

    @Test func accessRequestIsRefusedUnlessAllowed() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        #expect(!share.allowsAccessRequests)
        let link = try #require(share.url)
        let nothing = try #require(URL(string: "https://stratus.invalid/share/none"))
        let strange = try #require(URL(string: "https://stratus.invalid/"))
        let short = link.lastPathComponent.prefix(4)
        let unknown = CKError.Code.unknownItem.rawValue
        #expect(
            await ask([link, nothing, strange], in: trip.cy)
                == ["\(short) \(unknown)", "none \(unknown)", "/ 12", "taken"])
        // A person who may already join gets an error that says so.
        let invited = CKError.Code.participantAlreadyInvited.rawValue
        for person in [trip.bo, trip.ida] {
            #expect(await ask([link], in: person) == ["\(short) \(invited)", "taken"])
        }
        let results = try await trip.bo.requestShareAccess(for: [link, nothing])
        #expect(
            results.mapValues { ($0.failure as? CKError)?.code }
                == [link: .participantAlreadyInvited, nothing: .unknownItem])
    }

    @Test func deniedRequesterMayAskAgainButBlockedMayNot() async throws {
        let trip = try await Trip()
        let share = try await openShare(trip)
        let link = try #require(share.url)
        let database = trip.ida.privateCloudDatabase
        _ = await ask([link], in: trip.cy)
        var current = try await fetched(share, by: database)
        current.denyRequesters(current.requesters)
        #expect(current.requesters.isEmpty)
        try await database.save(current)
        #expect(try await fetched(share, by: database).requesters.isEmpty)

        _ = await ask([link], in: trip.cy)
        current = try await fetched(share, by: database)
        #expect(current.requesters.count == 1)
        current.blockRequesters(current.requesters)
        #expect(current.requesters.isEmpty && current.blockedIdentities.count == 1)
        try await database.save(current)
        #expect(await ask([link], in: trip.cy).last == "taken")
        current = try await fetched(share, by: database)
        #expect(current.requesters.isEmpty)
        let blocked: CKShare.BlockedIdentity = try #require(current.blockedIdentities.first)
        #expect(blocked.userIdentity.lookupInfo?.emailAddress == "cy@example.org")

        current.unblockIdentities([blocked])
        #expect(current.blockedIdentities.isEmpty)
        try await database.save(current)
        _ = await ask([link], in: trip.cy)
        #expect(try await fetched(share, by: database).requesters.count == 1)
    }

    @Test func blockingParticipantRevokesAccess() async throws {
        let trip = try await Trip()
        let share = try await openShare(trip)
        _ = await ask([try #require(share.url)], in: trip.bo)
        let database = trip.ida.privateCloudDatabase
        let current = try await fetched(share, by: database)
        let requesters = current.requesters
        current.addParticipant(
            try await trip.ida.shareParticipant(forEmailAddress: "bo@example.org"))
        try await database.save(current)
        try await trip.join(share, trip.bo)
        let joined = try await fetched(share, by: database)
        joined.blockRequesters(requesters)
        try await database.save(joined)
        #expect(joined.participants.count == 1 && joined.blockedIdentities.count == 1)
        #expect(try await trip.bo.sharedCloudDatabase.allRecordZones().isEmpty)
    }

    @Test func participantsDoNotSeeRequesters() async throws {
        let trip = try await Trip()
        let share = try await trip.share { share in
            share.allowsAccessRequests = true
            share.addParticipant(
                try await trip.ida.shareParticipant(forEmailAddress: "bo@example.org"))
        }
        try await trip.join(share, trip.bo)
        _ = await ask([try #require(share.url)], in: trip.cy)
        let zoneID = try await trip.sharedZoneID()
        let id = CKRecord.ID(recordName: share.recordID.recordName, zoneID: zoneID)
        let seen = try #require(
            try await trip.bo.sharedCloudDatabase.record(for: id) as? CKShare)
        #expect(seen.allowsAccessRequests && seen.requesters.isEmpty)
    }

    /// A request for access during the owner's edit is not lost by the edit.
    @Test func concurrentAccessRequestConflictsWithShareSave() async throws {
        let trip = try await Trip()
        let share = try await openShare(trip)
        _ = await ask([try #require(share.url)], in: trip.cy)
        share.allowsAccessRequests = false
        let error = await #expect(throws: CKError.self) {
            try await trip.ida.privateCloudDatabase.save(share)
        }
        #expect(error?.code == .serverRecordChanged)
        let server = try #require(error?.serverRecord as? CKShare)
        #expect(server.requesters.count == 1)
        server.allowsAccessRequests = false
        try await trip.ida.privateCloudDatabase.save(server)
        #expect(server.requesters.count == 1 && !server.allowsAccessRequests)
    }

    @Test func accessDecisionsDuringSaveAreKept() async throws {
        func person(_ name: String) -> UserIdentityDictionary {
            UserIdentityDictionary(userRecordName: name)
        }
        func record(_ requesters: [String], _ blocked: [String], tag: String) -> RecordResult {
            .share(
                ShareDictionary(
                    publicPermission: SharePermission.none, allowsAccessRequests: true,
                    accessRequesters: requesters.map(person),
                    blockedIdentities: blocked.map(person)), tag: tag)
        }
        let shares = Kept<CKShare>()
        let known = record(["_bo", "_cy", "_di"], ["_eve"], tag: "t1")
        // Gus has requested access since.
        let answer = record(["_cy", "_di", "_gus"], ["_eve"], tag: "t2")
        let transport = ScriptedTransport { request, _ in
            if request is RecordsLookup.Request { return RecordsLookup.Answer(records: [known]) }
            if let share = shares.all.first, share.recordChangeTag == "t1" {
                share.blockRequesters([share.requesters[0]])
                share.unblockIdentities([share.blockedIdentities[0]])
                share.allowsAccessRequests = false
            }
            return RecordsModify.Answer(records: [answer])
        }
        let database = container(transport).privateCloudDatabase
        let share = try await fetched(
            CKShare(
                rootRecord: hut("a"), shareID: CKRecord.ID(recordName: "S", zoneID: trips)),
            by: database)
        shares.add(share)
        share.denyRequesters([share.requesters[0]])
        try await database.save(share)
        func names(_ identities: [CKUserIdentity]) -> [String?] {
            identities.map(\.userRecordID?.recordName)
        }
        #expect(names(share.requesters.map(\.userIdentity)) == ["_di", "_gus"])
        #expect(names(share.blockedIdentities.map(\.userIdentity)) == ["_cy"])
        #expect(!share.allowsAccessRequests)
        try await database.save(share)
        let sent = transport.requests(RecordsModify.Request.self).map { $0.operations[0].record }
        #expect(sent[0].share?.accessRequesters?.map(\.userRecordName) == ["_cy", "_di"])
        #expect(sent[0].share?.blockedIdentities == nil)
        #expect(sent[0].share?.allowsAccessRequests == nil)
        #expect(sent[0].share?.participants == nil)
        #expect(sent[1].share?.accessRequesters?.map(\.userRecordName) == ["_di", "_gus"])
        #expect(sent[1].share?.blockedIdentities?.map(\.userRecordName) == ["_cy"])
        #expect(sent[1].share?.allowsAccessRequests == false)
    }

    @Test func archivedShareKeepsUnsavedAccessDecisions() async throws {
        let trip = try await Trip()
        let share = try await openShare(trip)
        for person in [trip.bo, trip.cy] { _ = await ask([try #require(share.url)], in: person) }
        let database = trip.ida.privateCloudDatabase
        let current = try await fetched(share, by: database)
        let first = try #require(current.requesters.first)
        #expect(try roundTrip(first) == first)
        current.blockRequesters([first])
        let blocked = try #require(current.blockedIdentities.first)
        #expect(try roundTrip(blocked) == blocked)
        let copy = try roundTrip(current)
        #expect(copy.allowsAccessRequests && copy.requesters == current.requesters)
        #expect(copy.blockedIdentities == current.blockedIdentities)
        try await database.save(copy)
        let saved = try await fetched(share, by: database)
        #expect(saved.requesters.count == 1 && saved.blockedIdentities == [blocked])
    }

    @Test func accessRequestNeedsAccount() async throws {
        let trip = try await Trip()
        let link = try #require(try await openShare(trip).url)
        let nobody = try await trip.cloud.container(Trip.identifier, user: nil, device: "kiosk")
        #expect(await ask([link], in: nobody) == ["\(CKError.Code.notAuthenticated.rawValue)"])
        let log = Log()
        let operation = CKShareRequestAccessOperation(shareURLs: [])
        operation.shareAccessRequestResultBlock = {
            log.add("\(($0.failure as? CKError)?.code == .operationCancelled)")
        }
        operation.cancel()
        await run(operation, on: trip.bo)
        #expect(log.all == ["true"])
    }

    @Test func linksAfterACancellationAreNotReported() async throws {
        let trip = try await Trip()
        let link = try #require(try await openShare(trip).url)
        let wrong = try #require(URL(string: "https://cloud.example.org/nothing"))
        let log = Log()
        let operation = CKShareRequestAccessOperation(shareURLs: [link, wrong])
        operation.perShareAccessRequestResultBlock = { _, _ in
            log.add("link")
            operation.cancel()
        }
        operation.shareAccessRequestResultBlock = {
            log.add("\(($0.failure as? CKError)?.code == .operationCancelled)")
        }
        await run(operation, on: trip.cy)
        #expect(log.all == ["link", "true"])
    }

    @Test("Deciding requests as a participant traps", .timeLimit(.minutes(20)))
    func decidingRequestsAsParticipantTraps() async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let trip = try await Trip()
            let share = try await trip.shareWithBo()
            try await trip.join(share, trip.bo).denyRequesters([])
        }
        let output = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) }
        #expect(
            output?.contains(
                "The user is not the owner or an administrator of the share; leave requests for"
                    + " access to those.")
                == true)
    }
}
