import Foundation
import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Testing

@testable import StratusService

/// Requests for access to shares: which users may ask, who sees the requests, and what is stored.
@Suite struct AccessRequestTests {
    private typealias Trip = AccessRequestTrip

    // MARK: Asking

    @Test(
        "A user who asks several times is on the owner's list once", arguments: Backend.allCases)
    func accessRequestListsRequesterOnce(_ backend: Backend) async throws {
        let trip = try await Trip(try backend.storage())
        let before = try await trip.stored()
        for _ in 0..<3 { #expect(try await trip.bo.requestAccess(trip.link) == nil) }
        let after = try await trip.stored()
        let requester = try #require(after.share?.accessRequesters?.first)
        #expect(try await trip.requesters() == [trip.bo.name])
        #expect(requester.emailAddress == "bo@example.org")
        #expect(after.recordChangeTag != before.recordChangeTag)
        // Participants see who modified a share, and that must not reveal the requester.
        #expect(after.modified == before.modified)
        #expect(try await trip.bo.requestAccess(trip.link) == nil)
        #expect(try await trip.stored().recordChangeTag == after.recordChangeTag)
        // The request gives no access.
        #expect(try await trip.bo.lookup(["trail"], in: trip.trips)[0].code == .zoneNotFound)
        #expect(try await trip.bo.resolve(trip.link).error?.code == .notFound)
        #expect(try await trip.bo.accept(trip.link).error?.code == .notFound)
    }

    @Test("A share without access requests looks like a missing one", arguments: [nil, false])
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

    @Test("A refused request does not reveal an invitation by a similar address")
    func refusedAccessRequestRevealsNoInvitation() async throws {
        let trip = try await Trip(allows: false)
        try await trip.save { $0.participants = [invited("bo@example.com")] }
        #expect(try await trip.eve.requestAccess(trip.link)?.code == .notFound)
    }

    @Test("A user who may already join gets participantAlreadyInvited")
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

    @Test("The number of waiting requests is limited, and blocking makes no difference")
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

    @Test("Several links are answered one by one, and a server key cannot ask")
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

    // MARK: Visibility

    @Test("Clients without the extensions get no access requests")
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
        // A blocked user's request causes no notification.
        try await trip.block(trip.bo)
        _ = try await trip.ida.received(token)
        _ = try await trip.bo.requestAccess(trip.link)
        #expect(try await trip.ida.received(token).isEmpty)
    }

    // MARK: Storage

    @Test("Access requests survive a restart, and end with the share")
    func accessRequestsSurviveRestartAndEndWithShare() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-access-\(UUID().uuidString)").path
        defer {
            // Failing to remove a temporary folder must not fail the test.
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

    @Test("A share with access requests has a separate format, one without them the old one")
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
