import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import Testing

/// What a participant has of a share, and what others have not.
@Suite struct SharedDatabaseTests {
    /// Ida shares a trail with a hut; Bo is invited to write, Cy to read.
    private struct Trip: SharedTrip {
        let people: Travellers
        let link: String

        init(permission: SharePermission = .none, limits: Limits = Limits()) async throws {
            people = try await Travellers(World(limits: limits))
            let (ida, cy) = (people.ida, people.cy)
            let made = try await ida.modify(
                [
                    hut(.create, "trail", [beds(1)]),
                    hut(.create, "hut", [beds(2)], parent: .some("trail")),
                    hut(.create, "diary", [beds(3)]),
                    share(
                        .create, "S", of: "trail", permission: permission,
                        participants: [invited("Bo@example.org", .readWrite), invited(cy)]),
                ], in: "Trips")
            link = try #require(made[3].record?.shortGUID)
        }

        func join(_ people: Person...) async throws {
            for person in people {
                let result = try await person.accept(link)
                #expect(result.metadata?.participantStatus == .accepted)
            }
        }
    }

    @Test("A link shows itself to those it is for, and is nothing to others")
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
        // Somebody with the link alone is told which address to verify, and no more.
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

    @Test("A one-time invitation is whoever's comes first with its token")
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
        // Who takes part takes no other place; the others see no token.
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

    @Test(
        "Before the link is followed there is nothing, after it the share and what is below its root"
    )
    func acceptingShareRevealsRecordsBelowRoot() async throws {
        let trip = try await Trip()
        #expect(try await trip.bo.sharedZones().isEmpty)
        #expect(try await trip.bo.lookup(["trail"], in: trip.trips)[0].code == .zoneNotFound)
        try await trip.join(trip.bo)
        #expect(try await trip.bo.sharedZones().compactMap(\.zone?.zoneID.zoneName) == ["Trips"])
        let found = try await trip.bo.lookup(["trail", "hut", "diary", "S"], in: trip.trips)
        #expect(found.map { $0.record != nil } == [true, true, false, true])
        #expect(found[2].code == .notFound)
        #expect(found[0].record?.created?.userRecordName == trip.ida.name)
        let page = try #require(try await trip.bo.changes(in: trip.trips).page)
        #expect(Set(page.records.compactMap(\.name)) == ["trail", "hut", "S"])
        let queried = try await trip.bo.query("Hut", in: trip.trips)
        #expect(Set(queried.compactMap(\.name)) == ["trail", "hut"])
        // In his own database there is nothing of it.
        #expect(try await trip.bo.lookup(["trail"], in: "Trips")[0].code == .zoneNotFound)
    }

    @Test("Who may read may not write, and who may write may do so under the share only")
    func writePermissionAppliesBelowShareRootOnly() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo, trip.cy)
        func write(
            _ person: Person, _ operation: RecordsModify.Operation
        ) async throws -> FrameworkErrorCode? {
            try await person.modify([operation], in: trip.trips)[0].failed?.error.frameworkCode
        }
        #expect(try await write(trip.cy, hut(.forceUpdate, "hut", [beds(9)])) == .permissionFailure)
        #expect(
            try await write(trip.cy, hut(.create, "new", parent: .some("trail")))
                == .permissionFailure)
        #expect(try await write(trip.cy, hut(.forceDelete, "hut")) == .permissionFailure)
        #expect(try await write(trip.bo, hut(.forceUpdate, "hut", [beds(9)])) == nil)
        #expect(try await write(trip.bo, hut(.create, "new", parent: .some("trail"))) == nil)
        #expect(try await write(trip.bo, hut(.create, "alone")) == .permissionFailure)
        #expect(
            try await write(trip.bo, hut(.forceUpdate, "hut", parent: .none)) == .permissionFailure)
        #expect(try await write(trip.bo, hut(.forceDelete, "trail")) == .permissionFailure)
        #expect(
            try await write(trip.bo, share(.forceUpdate, "S", permission: .readWrite))
                == .permissionFailure)
        // A record that he does not see is not there; its name cannot be had all the same.
        #expect(
            try await write(trip.bo, hut(.update, "diary", [beds(9)], tag: "1.aaaa"))
                == .unknownItem)
        #expect(try await write(trip.bo, hut(.forceDelete, "diary")) == nil)
        let taken = try await trip.bo.modify(
            [hut(.create, "diary", parent: .some("trail"))], in: trip.trips)[0]
        #expect(taken.code == .accessDenied)
        #expect(taken.failed?.serverRecord == nil)
        #expect(
            try await write(trip.bo, hut(.create, "child", parent: .some("diary")))
                == .referenceViolation)
        let diary = try await trip.ida.lookup(["diary", "hut", "new"], in: "Trips")
        #expect(diary.map { $0.values["beds"] } == [.int64(3), .int64(9), nil])
        #expect(diary[2].record?.created?.userRecordName == trip.bo.name)
    }

    @Test("A move that fails does not let a record in where its parent did not come")
    func failedMoveDoesNotAdmitChildRecord() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo, trip.cy)
        try await trip.ida.modify(
            [hut(.create, "open"), share(.create, "T", of: "open", permission: .readWrite)],
            in: "Trips")
        let second = try await trip.ida.lookup(["T"], in: "Trips")[0].record?.shortGUID
        _ = try await trip.cy.accept(second ?? "")
        let results = try await trip.cy.modify(
            [
                hut(.forceUpdate, "hut", parent: .some("open")),
                hut(.create, "mine", parent: .some("hut")),
            ], in: trip.trips)
        #expect(
            results.map(\.failed?.error.frameworkCode) == [.permissionFailure, .permissionFailure])
    }

    @Test(
        "Moving out of a share is a deletion for its participants, moving in brings everything below"
    )
    func moveOutOfShareIsDeletionForParticipants() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        let first = try #require(try await trip.bo.changes(in: trip.trips).page)
        let tag = try await trip.ida.lookup(["hut"], in: "Trips")[0].record?.recordChangeTag
        try await trip.ida.modify(
            [hut(.create, "bed", parent: .some("hut"))], in: "Trips")
        try await trip.ida.modify([hut(.forceUpdate, "hut", parent: .none)], in: "Trips")
        let out = try #require(
            try await trip.bo.changes(in: trip.trips, since: first.syncToken).page)
        #expect(Set(out.records.compactMap(\.tombstone?.recordName)) == ["hut", "bed"])
        #expect(out.records.allSatisfy { $0.record == nil })
        try await trip.ida.modify([hut(.forceUpdate, "hut", parent: .some("trail"))], in: "Trips")
        let back = try #require(
            try await trip.bo.changes(in: trip.trips, since: out.syncToken).page)
        #expect(Set(back.records.compactMap(\.record?.recordName)) == ["hut", "bed"])
        // What was carried along has its old change tag.
        let bed = try await trip.ida.lookup(["bed"], in: "Trips")[0].record
        let saved = try await trip.ida.modify(
            [hut(.update, "bed", [beds(1)], tag: bed?.recordChangeTag)], in: "Trips")
        #expect(saved[0].failed == nil)
        #expect(tag != nil)
    }

    @Test("Who leaves has nothing, others lose nothing, and the same link leads back")
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

    @Test("Who is removed has nothing, and the link is nothing to him")
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

    @Test("Everybody with the link joins a public share; when it is private again they are out")
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

    @Test("Deleting the zone in the shared database is leaving it")
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
        // Zones of one name are two where their owners are.
        #expect(await refusal([zone("Trips", of: trip.cy), zone("Trips", of: trip.eve)]) == nil)
    }

    @Test("A repeated deletion leaves no share that was joined since")
    func repeatedDeletionKeepsShareJoinedSince() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        let request = ZonesModify.Request(
            operations: [.init(.delete, trip.trips)], operationID: "leave-1")
        // But for where the database stands now.
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
        // In the private database it is another request.
        let made = try await trip.bo.ask(
            ZonesModify.self,
            .init(operations: [.init(.create, zone("Own"))], operationID: "leave-1"))
        #expect(made.items[0].zone != nil)
    }

    @Test("A zone that could not be left is not said to be gone, and is left at the next attempt")
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
        // As by a disk that forgot.
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

    @Test("That its owner purged a zone is the owner's to know")
    func purgedZoneIsNotFoundForParticipants() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        try await trip.world.service.removeZone(
            named: "Trips", of: trip.ida.name, at: trip.world.address, reason: .purged)
        let looked = try await trip.bo.ask(
            ZonesLookup.self, .init([trip.trips]), in: .shared)
        #expect(looked.items.map { $0.error?.frameworkCode } == [.zoneNotFound])
        let queried = await trip.bo.refusal(
            RecordsQuery.self, .init(query: .init(recordType: "Hut"), zoneID: trip.trips),
            in: .shared)
        #expect(queried?.error.frameworkCode == .zoneNotFound)
    }

    @Test("Who has as many zones as one may joins no other, and may join again what there is")
    func fullSharedDatabaseRefusesFurtherShares() async throws {
        var limits = Limits()
        limits.zonesPerDatabase = 2
        let trip = try await Trip(limits: limits)
        func link(of person: Person) async throws -> String {
            try await person.makeZone("Trips")
            let made = try await person.modify(
                [hut(.create, "trail"), share(.create, "S", of: "trail", permission: .readOnly)],
                in: "Trips")
            return try #require(made[1].record?.shortGUID)
        }
        let bos = try await link(of: trip.bo)
        try await trip.join(trip.bo)
        #expect(try await trip.bo.accept(link(of: trip.cy)).metadata != nil)
        #expect(try await trip.bo.accept(link(of: trip.eve)).error?.frameworkCode == .limitExceeded)
        try await trip.join(trip.bo)
        #expect(try await trip.bo.accept(bos).metadata?.participantRole == .owner)
    }

    @Test("A request over zones of several owners is answered in its order, each part by itself")
    func requestForSeveralOwnersKeepsItsOrder() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        try await trip.cy.makeZone("Notes")
        let made = try await trip.cy.modify(
            [
                hut(.create, "note", [beds(7)]),
                share(.create, ShareDictionary.zoneShareName, participants: [invited(trip.bo)]),
            ], in: "Notes")
        _ = try await trip.bo.accept(try #require(made[1].record?.shortGUID))
        let notes = zone("Notes", of: trip.cy)
        let items: [RecordsLookup.Item] = [
            .init(recordName: "trail", zoneID: trip.trips),
            .init(recordName: "note", zoneID: notes),
            .init(recordName: "x", zoneID: ZoneIDDictionary(zoneName: "Trips")),
            .init(recordName: "note", zoneID: zone("Notes", of: trip.eve)),
            .init(recordName: "hut", zoneID: trip.trips),
        ]
        let found = try await trip.bo.ask(RecordsLookup.self, .init(records: items), in: .shared)
        #expect(found.records.map { $0.record?.recordName } == ["trail", "note", nil, nil, "hut"])
        #expect(found.records[3].code == .zoneNotFound)
        let results = try await trip.bo.ask(
            RecordsModify.self,
            .init(operations: [
                at(notes, hut(.forceUpdate, "note", [beds(8)])),
                at(trip.trips, hut(.forceUpdate, "hut", [beds(8)])),
            ]), in: .shared
        ).records
        // She let him read her note only; the trip is not concerned.
        #expect(results.map(\.code) == [.accessDenied, nil])
        #expect(try await trip.bo.sharedZones().count == 2)
        let wide = try await trip.bo.everything("Hut")
        #expect(Set(wide) == ["trail", "hut", "note"])
    }

    private func at(
        _ zoneID: ZoneIDDictionary, _ operation: RecordsModify.Operation
    ) -> RecordsModify.Operation {
        var operation = operation
        operation.record.zoneID = zoneID
        return operation
    }

    @Test("Naming owners makes no databases and tells nothing")
    func namingOtherOwnersCreatesNoDatabase() async throws {
        let trip = try await Trip()
        let zones = [
            zone("Trips", of: trip.ida), ZoneIDDictionary(zoneName: "A", ownerRecordName: "_x"),
        ]
        let looked = try await trip.eve.ask(ZonesLookup.self, .init(zones), in: .shared)
        #expect(looked.items.map { $0.error?.code } == [.zoneNotFound, .zoneNotFound])
        let databases = try await trip.world.service.storage.databases()
        #expect(!databases.contains { $0.tenant == .private(owner: "_x") })
    }

    @Test("A repeated request of somebody who left shows nothing")
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

    @Test("A participant's deletion takes along what he may delete, and leaves the rest")
    func participantCascadeDeletesOnlyPermittedRecords() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo, trip.cy)
        func referring(
            _ name: String, to target: String, parent: RecordDictionary.ParentChange = .absent
        ) -> RecordsModify.Operation {
            let reference = Reference(recordName: target, action: .deleteSelf)
            let field = Field(name: "of", value: .reference(reference))
            return hut(.create, name, [field], parent: parent)
        }
        try await trip.ida.modify(
            [
                referring("private", to: "hut"),
                referring("shared", to: "hut", parent: .some("trail")),
            ], in: "Trips")
        let token = try #require(try await trip.cy.changes(in: trip.trips).page).syncToken
        #expect(
            try await trip.bo.modify([hut(.forceDelete, "hut")], in: trip.trips)[0].failed == nil)
        let left = try await trip.ida.lookup(["hut", "private", "shared"], in: "Trips")
        #expect(left.map { $0.record != nil } == [false, true, false])
        let seen = try #require(try await trip.cy.changes(in: trip.trips, since: token).page)
        #expect(Set(seen.records.compactMap(\.tombstone?.recordName)) == ["hut", "shared"])
    }

    @Test("Who replaces a record need not see what it referred to before")
    func replacementKeepsReferencesThatItsWriterCannotSee() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        let fields = [Reference.Action.deleteSelf, .validate].enumerated().map { place, action in
            Field(
                name: "of\(place)",
                value: .reference(Reference(recordName: "diary", action: action)))
        }
        try await trip.ida.modify(
            [hut(.create, "note", fields, parent: .some("hut"))], in: "Trips")
        let seen = try #require(try await trip.bo.lookup(["note"], in: trip.trips)[0].record)
        func replace(_ name: String, tag: String?) async throws -> FrameworkErrorCode? {
            let operation = hut(
                tag == nil ? .create : .replace, name, fields + [beds(9)], tag: tag,
                parent: .some("hut"))
            return try await trip.bo.modify([operation], in: trip.trips)[0].failed?.error
                .frameworkCode
        }
        #expect(try await replace("note", tag: seen.recordChangeTag) == nil)
        let there = try await trip.ida.lookup(["note"], in: "Trips")[0]
        #expect(there.values["beds"] == .int64(9))
        // New ones he must see.
        #expect(try await replace("other", tag: nil) == .referenceViolation)
    }

    @Test("A root that goes by a cascade takes its share along")
    func cascadedRootDeletesItsShare() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        let reference = Reference(recordName: "diary", action: .deleteSelf)
        try await trip.ida.modify(
            [
                hut(.forceUpdate, "trail", [Field(name: "of", value: .reference(reference))]),
                hut(.forceUpdate, "hut", parent: .none),
            ], in: "Trips")
        try await trip.ida.modify([hut(.forceDelete, "diary")], in: "Trips")
        let left = try await trip.ida.lookup(["diary", "trail", "S", "hut"], in: "Trips")
        #expect(left.map { $0.record != nil } == [false, false, false, true])
        #expect(try await trip.bo.sharedZones().isEmpty)
        #expect(try await trip.bo.resolve(trip.link).error?.code == .notFound)
    }

    @Test("The token that a save asks for is one of the view")
    func answerChangeTokenIsValidInSharedDatabase() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        let answer = try await trip.world.service.respond(
            to: RecordsLookup.self,
            .init(records: [.init(recordName: "hut")], zoneID: trip.trips),
            from: Credentials(
                apiToken: ServiceSettings.developmentToken, webAuthToken: trip.bo.token,
                wantsSyncToken: true),
            at: trip.world.address, scope: .shared
        ).answer
        let token = try #require(answer.syncToken)
        let page = try #require(try await trip.bo.changes(in: trip.trips, since: token).page)
        #expect(page.records.isEmpty)
    }

    @Test(
        "Participants are told of what they can see, of their own coming and going, and of nothing else"
    )
    func participantsAreNotifiedOfVisibleChangesOnly() async throws {
        let trip = try await Trip()
        let (bos, cys) = (trip.bo.at("tablet"), trip.cy.at("tablet"))
        let bosToken = try await bos.listen()
        let cysToken = try await cys.listen()
        for person in [trip.bo, trip.cy] {
            var huts = SubscriptionsTests.database("huts")
            huts.recordType = "Hut"
            var shares = SubscriptionsTests.database("shares")
            shares.recordType = ShareDictionary.recordType
            try await person.subscribe([huts, shares], in: .shared)
        }
        func received(_ person: Person, _ token: String) async throws -> [String] {
            let payloads = try await person.received(token)
            #expect(payloads.allSatisfy { $0.scope == .shared && $0.cause == .database })
            return payloads.map(\.subscriptionID).sorted()
        }
        try await trip.join(trip.bo)
        #expect(try await received(bos, bosToken) == ["shares"])
        #expect(try await received(cys, cysToken) == [])
        try await trip.join(trip.cy)
        _ = try await received(bos, bosToken)
        _ = try await received(cys, cysToken)
        try await trip.ida.modify([hut(.forceUpdate, "diary", [beds(4)])], in: "Trips")
        #expect(try await received(bos, bosToken) == [])
        try await trip.ida.modify([hut(.forceUpdate, "hut", [beds(4)])], in: "Trips")
        #expect(try await received(bos, bosToken) == ["huts"])
        #expect(try await received(cys, cysToken) == ["huts"])
        // A participant's own device is not told of its own change; the other's are.
        try await trip.bo.at("tablet").modify([hut(.forceUpdate, "hut", [beds(5)])], in: trip.trips)
        #expect(try await received(bos, bosToken) == [])
        #expect(try await received(cys, cysToken) == ["huts"])
        try await trip.ida.modify(
            [share(.forceUpdate, "S", participants: [invited(trip.cy)])], in: "Trips")
        #expect(try await received(bos, bosToken) == ["huts", "shares"])
        #expect(try await received(cys, cysToken) == ["shares"])
        try await trip.ida.modify([hut(.forceUpdate, "hut", [beds(6)])], in: "Trips")
        #expect(try await received(bos, bosToken) == [])
        _ = try await received(cys, cysToken)
        try await trip.ida.deleteZone("Trips")
        #expect(try await received(cys, cysToken) == ["huts", "shares"])
    }

    @Test("Newest first, a page at a time, in a view")
    func reversedPagesCoverSharedZone() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        var names: [String] = []
        var token: String?
        while true {
            let page = try #require(
                try await trip.bo.changes(
                    in: trip.trips, since: token, limit: 1, isReversed: true
                ).page)
            names += page.records.compactMap(\.name)
            token = page.syncToken
            if !page.moreComing { break }
        }
        #expect(names == ["S", "hut", "trail"])
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

    /// All pages of a query over all zones of the shared database.
    fileprivate func everything(_ type: String) async throws -> [String] {
        var names: [String] = []
        var marker: String?
        while true {
            let answer = try await ask(
                RecordsQuery.self,
                .init(
                    query: .init(recordType: type), isZoneWide: true, resultsLimit: 1,
                    continuationMarker: marker), in: .shared)
            names += answer.records.compactMap(\.name)
            marker = answer.continuationMarker
            if marker == nil { return names }
        }
    }
}
