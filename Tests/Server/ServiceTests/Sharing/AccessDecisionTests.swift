import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Testing

@testable import StratusService

/// How the owner and administrators decide about access requests, and what follows from it.
@Suite struct AccessDecisionTests {
    private typealias Trip = AccessRequestTrip

    @Test("A user whose request was denied may ask again")
    func deniedRequesterCanRequestAgain() async throws {
        let trip = try await Trip()
        for person in [trip.bo, trip.cy] { _ = try await person.requestAccess(trip.link) }
        let list = try await trip.stored().share?.accessRequesters
        let saved = try await trip.save { $0.accessRequesters = list.map { Array($0.dropFirst()) } }
        #expect(saved.record?.share?.accessRequesters?.map(\.userRecordName) == [trip.cy.name])
        #expect(try await trip.bo.requestAccess(trip.link) == nil)
        #expect(try await trip.requesters() == [trip.cy.name, trip.bo.name])
        // Others cannot put a user on the list.
        try await trip.save {
            $0.accessRequesters = [UserIdentityDictionary(userRecordName: trip.eve.name)]
        }
        #expect(try await trip.requesters() == [])
    }

    @Test("A blocked user's requests are ignored until the user is unblocked")
    func blockedRequesterIsIgnoredUntilUnblocked() async throws {
        let trip = try await Trip()
        _ = try await trip.bo.requestAccess(trip.link)
        let saved = try await trip.block(trip.bo)
        #expect(saved.record?.share?.accessRequesters == [])
        let blocked = try #require(saved.record?.share?.blockedIdentities)
        #expect(blocked.map(\.emailAddress) == ["bo@example.org"])
        let tag = try await trip.stored().recordChangeTag
        #expect(try await trip.bo.requestAccess(trip.link) == nil)
        #expect(try await trip.stored().recordChangeTag == tag)
        // Other saves leave the list unchanged.
        try await trip.save { $0.publicPermission = .readWrite }
        #expect(try await trip.bo.resolve(trip.link).error?.code == .notFound)
        #expect(try await trip.bo.accept(trip.link).error?.code == .notFound)
        #expect(try await trip.cy.accept(trip.link).metadata != nil)
        try await trip.save {
            $0.publicPermission = SharePermission.none
            $0.blockedIdentities = []
        }
        #expect(try await trip.bo.requestAccess(trip.link) == nil)
        #expect(try await trip.requesters() == [trip.bo.name])
    }

    @Test("A blocked participant is removed, and may join again after an invitation")
    func blockedParticipantIsRemovedUntilInvitedAgain() async throws {
        let trip = try await Trip()
        _ = try await trip.di.accept(trip.link)
        #expect(try await trip.di.lookup(["trail"], in: trip.trips)[0].record != nil)
        try await trip.block(trip.di)
        #expect(try await trip.di.lookup(["trail"], in: trip.trips)[0].code == .zoneNotFound)
        #expect(try await trip.stored().share?.participants?.count == 1)
        try await trip.save { $0.participants = [invited(trip.di)] }
        #expect(try await trip.di.accept(trip.link).metadata?.participantStatus == .accepted)
        #expect(try await trip.stored().share?.blockedIdentities?.count == 1)
        // In one save the block wins, even over an invitation by address.
        _ = try await trip.bo.requestAccess(trip.link)
        try await trip.save {
            $0.participants = [invited("Bo@example.org")]
            $0.blockedIdentities = [UserIdentityDictionary(userRecordName: trip.bo.name)]
        }
        #expect(try await trip.stored().share?.participants?.map(\.role) == [.owner])
        // The owner cannot be blocked.
        try await trip.block(trip.ida)
        #expect(try await trip.stored().share?.participants?.count == 1)
        #expect(
            try await trip.stored().share?.blockedIdentities?.map(\.userRecordName) == [
                trip.bo.name
            ])
    }

    @Test("Users are blocked by record name, once each, up to a limit")
    func blockedIdentitiesNeedRecordNamesAndAreLimited() async throws {
        var limits = Limits()
        limits.blockedIdentitiesPerShare = 2
        let trip = try await Trip(limits: limits)
        func code(_ people: [UserIdentityDictionary]) async throws -> FrameworkErrorCode? {
            try await trip.save { $0.blockedIdentities = people }.failed?.error.frameworkCode
        }
        let names = ["_a", "_b", "_c"].map { UserIdentityDictionary(userRecordName: $0) }
        #expect(try await code(names) == .tooManyParticipants)
        #expect(try await code([names[0], names[0]]) == nil)
        #expect(try await trip.stored().share?.blockedIdentities?.count == 1)
        #expect(
            try await code([UserIdentityDictionary(userRecordName: nil, emailAddress: "a@b.c")])
                == .invalidArguments)
        let long = String(repeating: "x", count: 256)
        #expect(try await code([UserIdentityDictionary(userRecordName: long)]) == .invalidArguments)
    }

    @Test("A requester who is added is approved, leaves the list and can join")
    func addedRequesterIsApprovedAndCanJoin() async throws {
        let trip = try await Trip()
        for person in [trip.bo, trip.cy, trip.eve] {
            _ = try await person.requestAccess(trip.link)
        }
        trip.world.advance(seconds: 60)
        let old = try #require(try await trip.stored().share?.participants)
        let saved = try await trip.save {
            $0.participants = old + [invited("BO@example.org", .readWrite), invited(trip.cy)]
        }
        let share = try #require(saved.record?.share)
        #expect(share.accessRequesters?.map(\.userRecordName) == [trip.eve.name])
        let list = try #require(share.participants)
        #expect(list.map(\.isApprovedRequester) == [false, false, true, true])
        #expect(list[2].userIdentity.userRecordName == trip.bo.name)
        #expect(list.map(\.status) == [.accepted, .invited, .invited, .invited])
        let now = trip.world.nowMilliseconds
        #expect(
            list.map(\.dateAddedMilliseconds) == [now - 60_000, now - 60_000, now, now])
        #expect(try await trip.bo.accept(trip.link).metadata?.participantPermission == .readWrite)
        #expect(try await trip.cy.accept(trip.link).metadata?.participantPermission == .readOnly)
        let joined = try #require(try await trip.stored().share?.participants)
        #expect(joined.map(\.isApprovedRequester) == [false, false, true, true])
        #expect(joined[2].dateAddedMilliseconds == now)
        // Values that only the service sets are not accepted from a request.
        var forged = joined
        forged[1].isApprovedRequester = true
        forged[1].dateAddedMilliseconds = 7
        let kept = try await trip.save { $0.participants = forged }
        #expect(kept.record?.share?.participants == joined)
    }

    @Test("An approval belongs to the user who asked, even if the e-mail address changes hands")
    func approvalFollowsUserInsteadOfEmailAddress() async throws {
        let trip = try await Trip()
        _ = try await trip.bo.requestAccess(trip.link)
        try await trip.save { $0.participants = [invited("bo@example.org")] }
        let directory = trip.world.service.storage.directory
        var row = try #require(try await directory.user(recordName: trip.bo.name))
        row.isEmailVerified = false
        #expect(try await directory.update(row))
        row = try #require(try await directory.user(recordName: trip.eve.name))
        row.emailAddress = "bo@example.org"
        #expect(try await directory.update(row))
        #expect(try await trip.eve.accept(trip.link).metadata == nil)
        #expect(try await trip.bo.accept(trip.link).metadata?.participantStatus == .accepted)
    }

    @Test("A share that becomes public has no more access requests")
    func publicShareClearsAccessRequests() async throws {
        let trip = try await Trip()
        _ = try await trip.bo.requestAccess(trip.link)
        let saved = try await trip.save { $0.publicPermission = .readOnly }
        #expect(saved.record?.share?.accessRequesters == [])
        _ = try await trip.bo.accept(trip.link)
        let joined = try #require(try await trip.stored().share?.participants?.last)
        #expect(joined.role == .publicUser && !joined.isApprovedRequester)
        #expect(joined.dateAddedMilliseconds == trip.world.nowMilliseconds)
    }

    @Test("Disallowing access requests keeps those that exist")
    func disallowingAccessRequestsKeepsExistingOnes() async throws {
        let trip = try await Trip()
        _ = try await trip.bo.requestAccess(trip.link)
        try await trip.save { $0.allowsAccessRequests = false }
        #expect(try await trip.requesters() == [trip.bo.name])
        #expect(try await trip.cy.requestAccess(trip.link)?.code == .notFound)
        #expect(try await trip.bo.requestAccess(trip.link)?.code == .notFound)
    }

    @Test("A one-time invitation ends the user's access request")
    func oneTimeInvitationEndsAccessRequest() async throws {
        let trip = try await Trip()
        _ = try await trip.bo.requestAccess(trip.link)
        var identity = UserIdentityDictionary(userRecordName: nil)
        identity.lookupInfo = UserLookupInfo(oneTimeToken: "secret")
        let invitation = ParticipantDictionary(userIdentity: identity, permission: .readOnly)
        try await trip.save { $0.participants = [invitation] }
        #expect(
            try await trip.bo.requestAccess(trip.link, token: "secret")?.frameworkCode
                == .participantAlreadyInvited)
        #expect(try await trip.bo.accept(trip.link, token: "secret").metadata != nil)
        #expect(try await trip.requesters() == [])
    }

    @Test("Administrators see and decide access requests; other participants do neither")
    func onlyOwnerAndAdministratorsDecideAccessRequests() async throws {
        let trip = try await Trip()
        var administrator = invited(trip.cy)
        administrator.role = .administrator
        try await trip.save { $0.participants = [invited(trip.di, .readWrite), administrator] }
        for person in [trip.di, trip.cy] { _ = try await person.accept(trip.link) }
        for person in [trip.bo, trip.eve] { _ = try await person.requestAccess(trip.link) }
        try await trip.block(trip.eve)

        let seen = try #require(try await trip.di.lookup(["S"], in: trip.trips)[0].record?.share)
        #expect(seen.allowsAccessRequests == true)
        #expect(seen.accessRequesters == nil && seen.blockedIdentities == nil)
        let changes: [(inout ShareDictionary) -> Void] = [
            { $0.accessRequesters = [] }, { $0.blockedIdentities = [] },
            { $0.allowsAccessRequests = false },
        ]
        for change in changes {
            #expect(try await trip.save(as: trip.di, change).code == .accessDenied)
        }
        #expect(try await trip.requesters() == [trip.bo.name])

        let administered = try await trip.cy.lookup(["S"], in: trip.trips)[0].record?.share
        #expect(administered?.accessRequesters?.map(\.userRecordName) == [trip.bo.name])
        #expect(administered?.blockedIdentities?.map(\.userRecordName) == [trip.eve.name])
        for change in changes {
            #expect(try await trip.save(as: trip.cy, change).record != nil)
        }
        #expect(try await trip.requesters() == [])
        #expect(try await trip.stored().share?.allowsAccessRequests == nil)
        // But they cannot block the owner or each other.
        let cys = UserIdentityDictionary(userRecordName: trip.cy.name)
        #expect(
            try await trip.save(as: trip.cy) { $0.blockedIdentities = [cys] }.code == .accessDenied)
    }
}
