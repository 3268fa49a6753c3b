import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import Testing

/// Joining and leaving a share: by a link, by a token, by a deletion, by the owner's decision.
@Suite struct ShareParticipantTests {
    private typealias Trip = SharedDatabaseTrip

    @Test("A link reveals the share to its participants only")
    func shareLinkRevealsShareToParticipantsOnly() async throws {
        let trip = try await Trip()
        let own = try #require(try await trip.ida.resolve(trip.link).metadata)
        #expect(own.databaseScope == .private)
        #expect(own.participantRole == .owner)
        #expect(own.participantPermission == .readWrite)
        let bos = try #require(try await trip.bo.resolve(trip.link, root: true).metadata)
        #expect(bos.databaseScope == .shared)
        #expect(bos.zoneID?.ownerRecordName == trip.ida.name)
        #expect(bos.rootRecordName == "trail")
        #expect(bos.rootRecord?.recordName == "trail")
        #expect(bos.participantStatus == .invited)
        #expect(bos.participantPermission == .readWrite)
        #expect(bos.ownerIdentity?.emailAddress == nil)
        #expect(bos.share?.share?.participants?.count == 2)
        #expect(
            bos.share?.share?.currentUserParticipant?.userIdentity.emailAddress == "Bo@example.org")
        // A user who only has the link learns which address to verify, and nothing else.
        let eves = try #require(try await trip.eve.resolve(trip.link, root: true).metadata)
        #expect(eves.share == nil && eves.zoneID == nil && eves.rootRecord == nil)
        #expect(eves.potentialMatches?.map(\.emailAddress) == ["B•••@e•••.org"])
        #expect(
            try await trip.eve.accept(trip.link).error?.frameworkCode
                == .participantMayNeedVerification)
        try await trip.join(trip.bo)
        #expect(try await trip.eve.resolve(trip.link).error?.code == .notFound)
        #expect(try await trip.eve.accept(trip.link).error?.code == .notFound)
        #expect(try await trip.eve.resolve("nothing").error?.code == .notFound)
    }

    @Test("A one-time invitation belongs to the first user with its token")
    func oneTimeInvitationBelongsToFirstParticipant() async throws {
        let trip = try await Trip()
        let diary = try await trip.ida.modify(
            [
                share(
                    .create, "D", of: "diary", participants: [token("first"), token("second")])
            ], in: "Trips")[0].record
        let link = try #require(diary?.shortGUID)
        #expect(diary?.share?.participants?.count == 3)
        #expect(try await trip.bo.accept(link).error?.code == .notFound)
        #expect(try await trip.bo.accept(link, token: "guess").error?.code == .notFound)
        let seen = try await trip.bo.resolve(link, token: "first").metadata
        #expect(seen?.participantStatus == .invited && seen?.potentialMatches == nil)
        #expect(try await trip.bo.accept(link, token: "first").metadata != nil)
        #expect(try await trip.cy.accept(link, token: "first").error?.code == .notFound)
        // A participant takes no second place; the other participants do not see the token.
        #expect(try await trip.bo.accept(link, token: "second").metadata != nil)
        let bos = try await trip.bo.lookup(["D"], in: trip.trips)[0].record?.share?.participants
        #expect(bos?.map(\.status) == [.accepted, .accepted])
        #expect(bos?.compactMap(\.userIdentity.lookupInfo?.oneTimeToken) == [])
        #expect(try await trip.cy.accept(link, token: "second").metadata != nil)
    }

    private func token(_ token: String) -> ParticipantDictionary {
        var identity = UserIdentityDictionary(userRecordName: nil)
        identity.lookupInfo = UserLookupInfo(oneTimeToken: token)
        return ParticipantDictionary(userIdentity: identity, permission: .readOnly)
    }

    @Test("A user who leaves loses access, others keep it, and the link can be used again")
    func leavingShareAffectsOnlyTheParticipant() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo, trip.cy)
        let token = try #require(try await trip.bo.changes(in: trip.trips).page).syncToken
        let left = try await trip.bo.modify([share(.delete, "S")], in: trip.trips)[0]
        #expect(left.tombstone?.recordName == "S")
        #expect(try await trip.bo.lookup(["trail"], in: trip.trips)[0].code == .zoneNotFound)
        #expect(try await trip.cy.lookup(["trail"], in: trip.trips)[0].record != nil)
        let owners = try await trip.ida.lookup(["S"], in: "Trips")[0].record?.share?.participants
        #expect(owners?.map(\.status) == [.accepted, .removed, .accepted])
        try await trip.join(trip.bo)
        let expired = try await trip.bo.changes(in: trip.trips, since: token)
        #expect(expired.error?.code == .changeTokenExpired)
        #expect(try await trip.bo.changes(in: trip.trips).page?.records.count == 3)
    }

    @Test("A removed participant loses access, and cannot use the link")
    func removedParticipantLosesAccess() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo, trip.cy)
        let answer = try await trip.bo.ask(ChangesDatabase.self, .init(), in: .shared)
        try await trip.ida.modify(
            [share(.forceUpdate, "S", participants: [invited(trip.cy)])], in: "Trips")
        #expect(try await trip.bo.query2(trip.trips) == .zoneNotFound)
        let gone = try await trip.bo.ask(
            ChangesDatabase.self, .init(syncToken: answer.syncToken), in: .shared)
        #expect(gone.zones.compactMap(\.zone?.isDeleted) == [true])
        #expect(try await trip.bo.accept(trip.link).error?.code == .notFound)
        #expect(try await trip.cy.lookup(["hut"], in: trip.trips)[0].record != nil)
    }

    @Test("Any user with the link may join a public share, and loses it when it is private again")
    func publicPermissionAdmitsEveryUserWithLink() async throws {
        let trip = try await Trip(permission: .readOnly)
        let seen = try #require(try await trip.eve.resolve(trip.link).metadata)
        #expect(seen.participantRole == .publicUser)
        #expect(seen.participantStatus == .invited)
        #expect(seen.share?.share?.participants?.map(\.role) == [.owner])
        try await trip.join(trip.eve)
        let new = hut(.create, "new", parent: .some("trail"))
        #expect(try await trip.eve.modify([new], in: trip.trips)[0].code == .accessDenied)
        try await trip.ida.modify([share(.forceUpdate, "S", permission: .readWrite)], in: "Trips")
        #expect(try await trip.eve.modify([new], in: trip.trips)[0].failed == nil)
        let ended = try await trip.ida.modify(
            [share(.forceUpdate, "S", permission: SharePermission.none)], in: "Trips")[0]
        #expect(ended.record?.share?.participants?.map(\.role) == [.owner, .user, .user])
        #expect(try await trip.eve.lookup(["trail"], in: trip.trips)[0].code == .zoneNotFound)
    }

    @Test("Deleting the zone in the shared database leaves the share")
    func deletingSharedZoneLeavesTheShare() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        let answer = try await trip.bo.ask(
            ZonesModify.self, .init(operations: [.init(.delete, trip.trips)]), in: .shared)
        #expect(answer.items.compactMap(\.zone?.isDeleted) == [true])
        #expect(try await trip.bo.sharedZones().isEmpty)
        #expect(
            try await trip.ida.lookup(["trail", "S"], in: "Trips").allSatisfy { $0.failed == nil })
        let made = await trip.bo.refusal(
            ZonesModify.self, .init(operations: [.init(.create, trip.trips)]), in: .shared)
        #expect(made?.error.frameworkCode == .badDatabase)
    }

    @Test("Leaving zones has the limits of deleting them")
    func leavingZonesHasTheLimitsOfDeletion() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        func refusal(_ zones: [ZoneIDDictionary]) async -> ServiceError? {
            await trip.bo.refusal(
                ZonesModify.self, .init(operations: zones.map { .init(.delete, $0) }), in: .shared
            )?.error
        }
        #expect(await refusal([trip.trips, trip.trips])?.frameworkCode == .invalidArguments)
        let many = (0...Limits().operationsPerRequest).map { zone("Z\($0)", of: trip.ida) }
        #expect(await refusal([trip.trips] + many)?.frameworkCode == .limitExceeded)
        #expect(try await trip.bo.sharedZones().count == 1)
        // Zones with one name but different owners are different zones.
        #expect(await refusal([zone("Trips", of: trip.cy), zone("Trips", of: trip.eve)]) == nil)
    }

    @Test("A repeated deletion does not leave a share that was joined since")
    func repeatedDeletionKeepsShareJoinedSince() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        let request = ZonesModify.Request(
            operations: [.init(.delete, trip.trips)], operationID: "leave-1")
        // Without the token of the database's present state.
        func leave() async throws -> [ZoneResult] {
            try await trip.bo.ask(ZonesModify.self, request, in: .shared).items.map { result in
                result.map { zone in
                    var zone = zone
                    zone.databaseSyncToken = nil
                    return zone
                }
            }
        }
        let first = try await leave()
        try await trip.join(trip.bo)
        #expect(try await leave() == first)
        #expect(try await trip.bo.sharedZones().count == 1)
        let other = await trip.bo.refusal(
            ZonesModify.self,
            .init(
                operations: [.init(.delete, zone("Others", of: trip.ida))], operationID: "leave-1"),
            in: .shared)
        #expect(other?.error.frameworkCode == .invalidArguments)
        // In the private database the same ID is another request.
        let made = try await trip.bo.ask(
            ZonesModify.self,
            .init(operations: [.init(.create, zone("Own"))], operationID: "leave-1"))
        #expect(made.items[0].zone != nil)
    }

    @Test("If a zone cannot be left, the answer is an error, and the next attempt succeeds")
    func failedLeaveReturnsErrorAndSucceedsLater() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        let store = try await trip.world.service.storage.store(
            for: DatabaseAddress(trip.world.address, .private(owner: trip.ida.name)))
        func replaceSharing(_ bytes: [UInt8]) async throws -> [UInt8] {
            try await store.writeRecords { writer in
                let zone = try #require(try writer.zone(named: "Trips"))
                var row = try #require(try writer.records(named: ["S"], in: zone.key)["S"])
                let old = row.sharing
                row.sharing = bytes
                try writer.put(row)
                return old
            }
        }
        // As after a disk error.
        let good = try await replaceSharing([0])
        let request = ZonesModify.Request(
            operations: [.init(.delete, trip.trips)], operationID: "leave-1")
        let failed = try await trip.bo.ask(ZonesModify.self, request, in: .shared).items
        #expect(failed.map { $0.error?.code } == [.internalError])
        _ = try await replaceSharing(good)
        let left = try await trip.bo.ask(ZonesModify.self, request, in: .shared).items
        #expect(left.map(\.zone?.isDeleted) == [true])
        #expect(try await trip.bo.sharedZones().isEmpty)
    }

    @Test("A user at the limit of zones joins no other share, but may join existing ones again")
    func fullSharedDatabaseRefusesFurtherShares() async throws {
        let trip = try await Trip(limits: .with { $0.zonesPerDatabase = 2 })
        let bos = try await link(of: trip.bo)
        try await trip.join(trip.bo)
        #expect(try await trip.bo.accept(link(of: trip.cy)).metadata != nil)
        #expect(try await trip.bo.accept(link(of: trip.eve)).error?.frameworkCode == .limitExceeded)
        try await trip.join(trip.bo)
        #expect(try await trip.bo.accept(bos).metadata?.participantRole == .owner)
    }

    /// Also when no device has fetched since the access ended.
    @Test func zonesThatWereLeftTakeNoPlaces() async throws {
        let trip = try await Trip(limits: .with { $0.zonesPerDatabase = 2 })
        try await trip.join(trip.bo)
        #expect(try await trip.bo.accept(link(of: trip.cy)).metadata != nil)
        let links = [try await link(of: trip.di), try await link(of: trip.eve)]
        #expect(try await trip.bo.accept(links[0]).error?.frameworkCode == .limitExceeded)
        try await trip.bo.modify([share(.delete, "S")], in: trip.trips)
        #expect(try await trip.bo.accept(links[0]).error == nil)
        #expect(try await trip.bo.accept(links[1]).error?.frameworkCode == .limitExceeded)
        let owners = try await trip.bo.sharedZones().compactMap(\.zone?.zoneID.ownerRecordName)
        #expect(Set(owners) == [trip.cy.name, trip.di.name])
    }

    /// The link to a trail that a person shares with everyone.
    private func link(of person: Person) async throws -> String {
        try await person.linkToShared("trail")
    }

    @Test("A repeated request after leaving returns no record")
    func repeatedRequestAfterLeavingReturnsNoRecord() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        let request = RecordsModify.Request(
            operations: [hut(.forceUpdate, "hut", [beds(5)])], zoneID: trip.trips, operationID: "1")
        #expect(
            try await trip.bo.ask(RecordsModify.self, request, in: .shared).records[0].record != nil
        )
        try await trip.bo.modify([share(.delete, "S")], in: trip.trips)
        let again = try await trip.bo.ask(RecordsModify.self, request, in: .shared).records[0]
        #expect(again.record == nil)
    }
}

extension Person {
    fileprivate func query2(_ zoneID: ZoneIDDictionary) async throws -> ServiceError.Code? {
        do {
            _ = try await query("Hut", in: zoneID)
            return nil
        } catch let failure as RequestFailure {
            return failure.error.code
        }
    }
}
