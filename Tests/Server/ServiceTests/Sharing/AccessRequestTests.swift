import Foundation
import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Testing

@testable import StratusService

/// Requests for access to shares: who may ask, who sees it, and how it is answered.
@Suite struct AccessRequestTests {
    /// Ida shares a trail that takes requests; Di is invited to it. Bo, Cy and Eve are not.
    private struct Trip: SharedTrip {
        let people: Travellers
        let link: String

        init(
            _ storage: any StorageEngine = SQLiteStorageEngine.inMemory(world: .seeded(7)),
            allows: Bool? = true, limits: Limits = Limits()
        ) async throws {
            people = try await Travellers(World(storage, limits: limits))
            let (ida, di) = (people.ida, people.di)
            var operation = share(
                .create, "S", of: "trail", participants: [invited(di, .readWrite)])
            operation.record.share?.allowsAccessRequests = allows
            let made = try await ida.modify(
                [hut(.create, "trail"), hut(.create, "hut", parent: .some("trail")), operation],
                in: "Trips")
            link = try #require(made[2].record?.shortGUID)
        }

        /// The share as the owner has it.
        func stored() async throws -> RecordDictionary {
            try #require(try await ida.lookup(["S"], in: "Trips")[0].record)
        }

        /// Who asks, as the owner sees it.
        func requesters() async throws -> [String?] {
            try await stored().share?.accessRequesters?.map(\.userRecordName) ?? []
        }

        /// Saves the share as the owner, or as somebody else.
        @discardableResult
        func save(
            as person: Person? = nil, _ change: (inout ShareDictionary) -> Void
        ) async throws -> RecordResult {
            var operation = share(.forceUpdate, "S")
            var dictionary = ShareDictionary()
            change(&dictionary)
            operation.record.share = dictionary
            return try await (person ?? ida).modify(
                [operation], in: person == nil ? zone("Trips") : trips,
                scope: person == nil ? .private : .shared)[0]
        }

        /// Blocks somebody in addition.
        @discardableResult
        func block(_ person: Person) async throws -> RecordResult {
            let blocked = try await stored().share?.blockedIdentities ?? []
            return try await save {
                $0.blockedIdentities =
                    blocked + [UserIdentityDictionary(userRecordName: person.name)]
            }
        }
    }

    // MARK: Asking

    @Test(
        "Who asks is on the owner's list, once however often he asks", arguments: Backend.allCases)
    func accessRequestListsRequesterOnce(_ backend: Backend) async throws {
        let trip = try await Trip(try backend.storage())
        let before = try await trip.stored()
        for _ in 0..<3 { #expect(try await trip.bo.requestAccess(trip.link) == nil) }
        let after = try await trip.stored()
        let requester = try #require(after.share?.accessRequesters?.first)
        #expect(try await trip.requesters() == [trip.bo.name])
        #expect(requester.emailAddress == "bo@example.org")
        #expect(after.recordChangeTag != before.recordChangeTag)
        // Participants are not notified of who asks, who see who modified the share.
        #expect(after.modified == before.modified)
        #expect(try await trip.bo.requestAccess(trip.link) == nil)
        #expect(try await trip.stored().recordChangeTag == after.recordChangeTag)
        // It gives nothing.
        #expect(try await trip.bo.lookup(["trail"], in: trip.trips)[0].code == .zoneNotFound)
        #expect(try await trip.bo.resolve(trip.link).error?.code == .notFound)
        #expect(try await trip.bo.accept(trip.link).error?.code == .notFound)
    }

    @Test("A share that takes no requests is as one that never was", arguments: [nil, false])
    func shareWithoutAccessRequestsReturnsNotFound(_ allows: Bool?) async throws {
        let trip = try await Trip(allows: allows)
        let refusal = try #require(try await trip.bo.requestAccess(trip.link))
        let nothing = try #require(try await trip.bo.requestAccess("nothing"))
        #expect(
            refusal == nothing && refusal.code == .notFound && refusal.frameworkCode == .unknownItem
        )
        #expect(try await trip.bo.resolve(trip.link).error == refusal)
        let tag = try await trip.stored().recordChangeTag
        _ = try await trip.bo.requestAccess(trip.link)
        #expect(try await trip.stored().recordChangeTag == tag)
    }

    @Test("Who was invited by an address that may be the asker's tells him nothing when he asks")
    func refusedAccessRequestRevealsNoInvitation() async throws {
        let trip = try await Trip(allows: false)
        try await trip.save { $0.participants = [invited("bo@example.com")] }
        #expect(try await trip.eve.requestAccess(trip.link)?.code == .notFound)
    }

    @Test("Who may join already gets alreadyShared")
    func participantRequestReturnsAlreadyInvited() async throws {
        for allows in [true, false] {
            let trip = try await Trip(allows: allows)
            #expect(
                try await trip.di.requestAccess(trip.link)?.frameworkCode
                    == .participantAlreadyInvited)
            _ = try await trip.di.accept(trip.link)
            #expect(
                try await trip.di.requestAccess(trip.link)?.frameworkCode
                    == .participantAlreadyInvited)
            #expect(
                try await trip.ida.requestAccess(trip.link)?.frameworkCode
                    == .participantAlreadyInvited)
            try await trip.save { $0.publicPermission = .readOnly }
            #expect(
                try await trip.bo.requestAccess(trip.link)?.frameworkCode
                    == .participantAlreadyInvited)
            #expect(try await trip.requesters() == [])
        }
    }

    @Test("As many may wait as the limit says, whether one is blocked or not")
    func accessRequestsPerShareAreLimited() async throws {
        var limits = Limits()
        limits.accessRequestsPerShare = 2
        let trip = try await Trip(limits: limits)
        _ = try await trip.eve.requestAccess(trip.link)
        try await trip.block(trip.eve)
        for person in [trip.bo, trip.cy] {
            #expect(try await person.requestAccess(trip.link) == nil)
        }
        let gus = try await trip.world.person("gus@example.org")
        #expect(try await gus.requestAccess(trip.link)?.frameworkCode == .tooManyParticipants)
        #expect(try await trip.eve.requestAccess(trip.link)?.frameworkCode == .tooManyParticipants)
        #expect(try await trip.bo.requestAccess(trip.link) == nil)
        #expect(try await trip.requesters() == [trip.bo.name, trip.cy.name])
    }

    @Test("Several links are answered one by one, and a server asks for nothing")
    func accessRequestsAreAnsweredPerLink() async throws {
        let trip = try await Trip()
        let answer = try await trip.bo.ask(
            RecordsRequestAccess.self,
            .init([.init(value: "nothing"), .init(value: trip.link)]), in: .public)
        #expect(answer.items.map { $0.error?.code } == [.notFound, nil])
        let many = (0...400).map { ShortGUIDDictionary(value: "\($0)") }
        let refusal = await trip.bo.refusal(
            RecordsRequestAccess.self, .init(many), in: .public)
        #expect(refusal?.error.frameworkCode == .limitExceeded)
        #expect(
            await trip.world.nobody.refusal(
                RecordsRequestAccess.self, .init([]), in: .public)?.error.code
                == .authenticationRequired)
    }

    // MARK: Answers

    @Test("Who is denied may ask again")
    func deniedRequesterCanRequestAgain() async throws {
        let trip = try await Trip()
        for person in [trip.bo, trip.cy] { _ = try await person.requestAccess(trip.link) }
        let list = try await trip.stored().share?.accessRequesters
        let saved = try await trip.save { $0.accessRequesters = list.map { Array($0.dropFirst()) } }
        #expect(saved.record?.share?.accessRequesters?.map(\.userRecordName) == [trip.cy.name])
        #expect(try await trip.bo.requestAccess(trip.link) == nil)
        #expect(try await trip.requesters() == [trip.cy.name, trip.bo.name])
        // Nobody is put on the list by others.
        try await trip.save {
            $0.accessRequesters = [UserIdentityDictionary(userRecordName: trip.eve.name)]
        }
        #expect(try await trip.requesters() == [])
    }

    @Test("Who is blocked is not notified, is on no list, and asks again when he is unblocked")
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
        // Other saves leave the list alone.
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

    @Test("Who is blocked loses his place, and comes back when he is invited")
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
        // In one save the block wins, also over an invitation by address.
        _ = try await trip.bo.requestAccess(trip.link)
        try await trip.save {
            $0.participants = [invited("Bo@example.org")]
            $0.blockedIdentities = [UserIdentityDictionary(userRecordName: trip.bo.name)]
        }
        #expect(try await trip.stored().share?.participants?.map(\.role) == [.owner])
        // The owner stays, whomever he blocks.
        try await trip.block(trip.ida)
        #expect(try await trip.stored().share?.participants?.count == 1)
        #expect(
            try await trip.stored().share?.blockedIdentities?.map(\.userRecordName) == [
                trip.bo.name
            ])
    }

    @Test("Whom to block is said by name, once each and not too many")
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

    @Test("Who is added is approved: he leaves the list, is known as one who asked, and joins")
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
        // What the service alone can know is not taken from a request.
        var forged = joined
        forged[1].isApprovedRequester = true
        forged[1].dateAddedMilliseconds = 7
        let kept = try await trip.save { $0.participants = forged }
        #expect(kept.record?.share?.participants == joined)
    }

    @Test("Who was let in is who asked, whoever has his address later")
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

    @Test("A share that becomes public keeps nobody waiting")
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

    @Test("Requests that wait already outlast that no more are taken")
    func disallowingAccessRequestsKeepsExistingOnes() async throws {
        let trip = try await Trip()
        _ = try await trip.bo.requestAccess(trip.link)
        try await trip.save { $0.allowsAccessRequests = false }
        #expect(try await trip.requesters() == [trip.bo.name])
        #expect(try await trip.cy.requestAccess(trip.link)?.code == .notFound)
        #expect(try await trip.bo.requestAccess(trip.link)?.code == .notFound)
    }

    @Test("Who takes a one-time invitation waits no more")
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

    // MARK: Who sees and decides

    @Test("Participants neither see who asks nor decide; administrators do both")
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
        // But neither the owner nor each other.
        let cys = UserIdentityDictionary(userRecordName: trip.cy.name)
        #expect(
            try await trip.save(as: trip.cy) { $0.blockedIdentities = [cys] }.code == .accessDenied)
    }

    @Test("Other clients are answered as ever")
    func accessRequestsAreSentOnlyWithExtensions() async throws {
        let trip = try await Trip()
        _ = try await trip.bo.requestAccess(trip.link)
        let old = Credentials(
            apiToken: ServiceSettings.developmentToken, webAuthToken: trip.ida.token,
            clientID: "browser")
        let answer = try await trip.world.service.respond(
            to: RecordsLookup.self,
            .init(records: [.init(recordName: "S")], zoneID: zone("Trips")), from: old,
            at: trip.world.address, scope: .private
        ).answer
        let share = try #require(answer.records[0].record?.share)
        #expect(share.allowsAccessRequests == nil && share.accessRequesters == nil)
        #expect(share.blockedIdentities == nil && share.participants?.count == 2)
        let people =
            (share.participants ?? [])
            + [share.owner, share.currentUserParticipant]
            .compactMap { $0 }
        #expect(people.allSatisfy { $0.dateAddedMilliseconds == nil && !$0.isApprovedRequester })
    }

    @Test("The owner's devices are notified, and find the share in the feed")
    func accessRequestNotifiesOwnerDevices() async throws {
        let trip = try await Trip()
        _ = try await trip.di.accept(trip.link)
        let token = try await trip.ida.at("tablet").listen()
        try await trip.ida.subscribe([SubscriptionsTests.zone("z", "Trips")])
        let before = try await trip.ida.page("Trips").syncToken
        let dis = try await trip.di.changes(in: trip.trips).page?.syncToken
        _ = try await trip.bo.requestAccess(trip.link)
        _ = try await trip.bo.requestAccess(trip.link)
        #expect(try await trip.ida.received(token).count == 1)
        let after = try await trip.ida.page("Trips", since: before).records
        #expect(after.map(\.name) == ["S"])
        #expect(after[0].record?.share?.accessRequesters?.count == 1)
        let seen = try #require(try await trip.di.changes(in: trip.trips, since: dis).page)
        #expect(seen.records.map(\.name) == ["S"])
        #expect(seen.records[0].record?.share?.accessRequesters == nil)
        // Somebody who is blocked makes no noise.
        try await trip.block(trip.bo)
        _ = try await trip.ida.received(token)
        _ = try await trip.bo.requestAccess(trip.link)
        #expect(try await trip.ida.received(token).isEmpty)
    }

    // MARK: What is kept

    @Test("Requests outlast a restart, and end with the share")
    func accessRequestsSurviveRestartAndEndWithShare() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-access-\(UUID().uuidString)").path
        defer {
            // A leftover in the temporary folder fails no test.
            try? FileManager.default.removeItem(atPath: folder)
        }
        let first = try SQLiteStorageEngine(folder: folder)
        let trip = try await Trip(first)
        for person in [trip.bo, trip.eve] { _ = try await person.requestAccess(trip.link) }
        try await trip.block(trip.eve)
        try await first.close()

        let second = try SQLiteStorageEngine(folder: folder)
        let world = World(second)
        let ida = try await world.person("ida@example.org")
        let found = try await ida.lookup(["S"], in: "Trips")[0].record?.share
        #expect(found?.allowsAccessRequests == true)
        #expect(found?.accessRequesters?.map(\.emailAddress) == ["bo@example.org"])
        #expect(found?.blockedIdentities?.map(\.emailAddress) == ["eve@example.org"])
        #expect(try await Doctor(storage: second).examine().findings == [])

        try await ida.modify([hut(.forceDelete, "S")], in: "Trips")
        let bo = try await world.person("bo@example.org")
        #expect(try await bo.requestAccess(trip.link)?.code == .notFound)
        let made = try await ida.modify([share(.create, "S", of: "trail")], in: "Trips")[0].record
        #expect(made?.share?.accessRequesters == nil && made?.share?.allowsAccessRequests == nil)
        try await second.close()
    }

    @Test("A share without requests is stored as ever, one with them in a format of its own")
    func shareWithAccessRequestsHasItsOwnFormat() throws {
        var row = RecordRow(
            zone: ZoneRow.Key(rawValue: 1), name: "S", type: ShareDictionary.recordType,
            version: 1, commitVersion: 1, changeTag: "", isDeleted: false, creatorDevice: "",
            createdMilliseconds: 0, modifiedMilliseconds: 0, creator: "", modifier: "",
            modifierDevice: "", parent: nil, shareRoot: nil, payload: [])
        var sharing = RecordSharing(
            shortGUID: "g",
            share: .init(root: "trail", publicPermission: SharePermission.none, participants: []))
        #expect(sharing.bytes.first == 1)
        sharing.share?.accessRequests.areAllowed = true
        sharing.share?.accessRequests.requesters = [
            UserIdentityDictionary(userRecordName: "_a", givenName: "Ada")
        ]
        #expect(sharing.bytes.first == 2)
        row.sharing = sharing.bytes
        #expect(try RecordSharing(row) == sharing)
        row.sharing = [3] + sharing.bytes.dropFirst()
        #expect(throws: ByteReader.Malformed.self) { try RecordSharing(row) }
        row.sharing = sharing.bytes.dropLast()
        #expect(throws: ByteReader.Malformed.self) { try RecordSharing(row) }
    }
}

extension Person {
    /// Asks for access.
    ///
    /// - Returns: Why the request was not taken; nil when it was.
    func requestAccess(_ link: String, token: String? = nil) async throws -> ServiceError? {
        try await ask(
            RecordsRequestAccess.self,
            .init([.init(value: link, oneTimeToken: token)]), in: .public
        ).items[0].error
    }
}

extension AccessRequestResult {
    var error: ServiceError? { if case .failure(let failure) = self { failure.error } else { nil } }
}
