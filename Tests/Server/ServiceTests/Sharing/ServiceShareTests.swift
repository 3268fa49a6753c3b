import StratusRecords
import StratusStorage
import StratusWire
import Testing

@testable import StratusService

/// Shares as records: created, changed and ended by their owner.
@Suite struct ServiceShareTests {
    private func owner(limits: Limits = Limits()) async throws -> Person {
        let ida = try await World(limits: limits).person("ida@example.org", with: "Trips")
        return ida
    }

    @Test("A share is created with its root in one request, in any order")
    func shareIsCreatedWithItsRootInOneRequest() async throws {
        let ida = try await owner()
        let results = try await ida.modify(
            [
                share(
                    .create, "S", of: "trail", participants: [invited("bo@example.org")],
                    title: "Trip"),
                hut(.create, "trail", [beds(1)]),
            ], in: "Trips")
        let made = try #require(results[0].record)
        let shortGUID = try #require(made.shortGUID)
        #expect(shortGUID.utf8.count == 24)
        #expect(made.share?.publicPermission == SharePermission.none)
        #expect(made.share?.owner?.userIdentity.userRecordName == ida.name)
        #expect(made.share?.currentUserParticipant?.role == .owner)
        #expect(made.share?.participants?.map(\.status) == [.accepted, .invited])
        #expect(made.share?.participants?[1].userIdentity.emailAddress == "bo@example.org")
        #expect(made.share?.participants?[1].userIdentity.userRecordName == nil)
        #expect(results[0].values["cloudkit.title"] == .string("Trip"))
        let root = try #require(results[1].record)
        #expect(root.shareRecordName == "S")
        #expect(root.shortGUID == shortGUID)
    }

    /// Participants are named in the share, whether or not they are discoverable in the container.
    @Test func participantsHaveNamesAndLookupInfo() async throws {
        let world = World(accounts: AccountSettings(passwordCost: .cheap))
        for (name, given) in [("ida", "Ida"), ("bo", "Bo"), ("cy", "Cy"), ("di", "Di")] {
            _ = try await world.service.accounts.createUser(
                emailAddress: "\(name)@example.org", password: "correct horse",
                givenName: given, familyName: "Holm", isEmailVerified: name != "ida")
        }
        let ida = try await world.person("ida@example.org")
        let bo = try await world.person("bo@example.org")
        let cy = try await world.person("cy@example.org")
        try await ida.makeZone("Trips")
        let made = try await ida.modify(
            [
                hut(.create, "trail"),
                share(
                    .create, "S", of: "trail", permission: .readOnly,
                    participants: [invited(bo), invited("di@example.org")]),
            ], in: "Trips")[1].record
        let link = try #require(made?.shortGUID)
        #expect(made?.share?.owner?.userIdentity.givenName == "Ida")
        #expect(made?.share?.currentUserParticipant?.userIdentity.familyName == "Holm")
        let joined = try await bo.accept(link).metadata
        #expect(joined?.ownerIdentity?.givenName == "Ida")
        _ = try await cy.accept(link)
        let seen = try await bo.lookup(["S"], in: zone("Trips", of: ida))[0].record?.share
        let participants = try #require(seen?.participants)
        #expect(participants.map(\.userIdentity.givenName) == ["Ida", "Bo", "Cy"])
        #expect(participants[0].userIdentity.lookupInfo == nil)
        #expect(participants[1].userIdentity.lookupInfo?.userRecordName == bo.name)
        let owned = try await ida.lookup(["S"], in: zone("Trips"), scope: .private)[0].record
        let all = try #require(owned?.share?.participants).map(\.userIdentity)
        // Di was invited and has not joined yet.
        #expect(all.map(\.givenName) == ["Ida", "Bo", nil, "Cy"])
        #expect(all[0].lookupInfo?.userRecordName == ida.name)
        #expect(all[3].emailAddress == "cy@example.org")
    }

    @Test("A share is created after its root, whose change tag stays valid")
    func shareCreationKeepsRootChangeTag() async throws {
        let ida = try await owner()
        let tag = try await ida.modify(
            [hut(.create, "trail", [beds(1)]), hut(.create, "hut", parent: .some("trail"))],
            in: "Trips")[0].record?.recordChangeTag
        let stale = await ida.refusal(
            RecordsModify.self,
            .init(
                operations: [share(.create, "S", of: "trail", rootTag: "1.zzzz")],
                zoneID: zone("Trips")))
        #expect(stale?.records?[0].code == .conflict)
        let made = try await ida.modify(
            [share(.create, "S", of: "trail", rootTag: tag)], in: "Trips")[0]
        let found = try await ida.lookup(["trail", "hut"], in: "Trips")
        #expect(found[0].record?.shareRecordName == "S")
        #expect(found[0].record?.shortGUID == made.record?.shortGUID)
        #expect(found[1].record?.shareRecordName == nil)
        let saved = try await ida.modify([hut(.update, "trail", [beds(2)], tag: tag)], in: "Trips")
        #expect(saved[0].record?.shareRecordName == "S")
    }

    @Test("A share without its root is refused")
    func shareWithoutRootIsRefused() async throws {
        let ida = try await owner()
        for operation in [share(.create, "S", of: "nobody"), share(.create, "S")] {
            let result = try await ida.modify([operation], in: zone("Trips"), scope: .private)[0]
            #expect(result.code == .badRequest)
            #expect(result.failed?.error.frameworkCode == .invalidArguments)
        }
        let inDefaultZone = try await ida.modify([
            hut(.create, "trail"), share(.create, "S", of: "trail"),
        ])
        #expect(inDefaultZone[1].code == .badRequest)
        let inPublic = try await ida.modify(
            [hut(.create, "trail"), share(.create, "S", of: "trail")], scope: .public)
        #expect(inPublic[1].code == .badRequest)
    }

    @Test("A record belongs to one share at most")
    func recordBelongsToOneShareAtMost() async throws {
        let ida = try await owner()
        try await ida.modify(
            [
                hut(.create, "trail"), hut(.create, "hut", parent: .some("trail")),
                hut(.create, "other"), share(.create, "S", of: "trail"),
            ], in: "Trips")
        for operation in [
            share(.create, "T", of: "trail"), share(.create, "T", of: "hut"),
        ] {
            let result = try await ida.modify([operation], in: zone("Trips"), scope: .private)[0]
            #expect(result.failed?.error.frameworkCode == .alreadyShared)
        }
        let zoneShare = try await ida.modify(
            [share(.create, ShareDictionary.zoneShareName)], in: zone("Trips"), scope: .private)[0]
        #expect(zoneShare.failed?.error.frameworkCode == .invalidArguments)
        // Twice in one request: the first one succeeds.
        let twice = try await ida.modify(
            [share(.create, "T", of: "other"), share(.create, "U", of: "other")],
            in: zone("Trips"), scope: .private)
        #expect(twice[0].failed == nil)
        #expect(twice[1].failed?.error.frameworkCode == .alreadyShared)
    }

    @Test("A zone that is shared as a whole has no other shares")
    func zoneWideShareExcludesOtherShares() async throws {
        let ida = try await owner()
        let made = try await ida.modify(
            [hut(.create, "trail"), share(.create, ShareDictionary.zoneShareName)], in: "Trips")
        #expect(made[1].record?.shortGUID != nil)
        let refused = try await ida.modify(
            [share(.create, "S", of: "trail")], in: zone("Trips"), scope: .private)[0]
        #expect(refused.failed?.error.frameworkCode == .serverRejectedRequest)
    }

    @Test("A share has change tags like any record")
    func staleShareSaveReturnsConflict() async throws {
        let ida = try await owner()
        let made = try await ida.modify(
            [hut(.create, "trail"), share(.create, "S", of: "trail")], in: "Trips")[1].record
        let tag = made?.recordChangeTag
        let renamed = try await ida.modify([share(.update, "S", tag: tag, title: "A")], in: "Trips")
        #expect(renamed[0].record?.shortGUID == made?.shortGUID)
        #expect(renamed[0].record?.share?.participants?.count == 1)
        let stale = try await ida.modify(
            [share(.update, "S", tag: tag, title: "B")], in: zone("Trips"), scope: .private)[0]
        #expect(stale.code == .conflict)
        #expect(stale.failed?.serverRecord?.share?.owner?.userIdentity.userRecordName == ida.name)
    }

    @Test("Participants are added, changed and removed, once each, up to a limit")
    func participantsAreAddedChangedAndRemoved() async throws {
        var limits = Limits()
        limits.participantsPerShare = 2
        let ida = try await owner(limits: limits)
        try await ida.modify(
            [hut(.create, "trail"), share(.create, "S", of: "trail")], in: "Trips")
        func save(_ list: [ParticipantDictionary]) async throws -> RecordResult {
            try await ida.modify(
                [share(.forceUpdate, "S", participants: list)], in: zone("Trips"), scope: .private)[
                    0]
        }
        let two = try await save([invited("bo@example.org"), invited("cy@example.org", .readWrite)])
        let list = try #require(two.record?.share?.participants)
        #expect(list.map(\.permission) == [.readWrite, .readOnly, .readWrite])
        let twice = try await save([invited("bo@example.org"), invited("BO@example.org")])
        #expect(twice.failed?.error.frameworkCode == .participantAlreadyInvited)
        let many = try await save(["a@e.org", "b@e.org", "c@e.org"].map { invited($0) })
        #expect(many.failed?.error.frameworkCode == .tooManyParticipants)
        // By the identifier that the service assigned; the owner need not be named and cannot be removed.
        var kept = list[2]
        kept.permission = .readOnly
        kept.status = .invited
        let one = try await save([kept])
        #expect(one.record?.share?.participants?.map(\.permission) == [.readWrite, .readOnly])
        #expect(one.record?.share?.participants?[1].participantID == list[2].participantID)
        let nobody = try await save([])
        #expect(nobody.record?.share?.participants?.map(\.role) == [.owner])
        let nameless = try await save([
            ParticipantDictionary(
                userIdentity: UserIdentityDictionary(userRecordName: nil), permission: .readOnly)
        ])
        #expect(nameless.failed?.error.frameworkCode == .invalidArguments)
    }

    @Test("Strangers who join a public share leave its owner room for invitations")
    func publicParticipantsTakeNoPlacesOfInvited() async throws {
        let ida = try await owner(limits: .with { $0.participantsPerShare = 2 })
        let made = try await ida.modify(
            [hut(.create, "trail"), share(.create, "S", of: "trail", permission: .readOnly)],
            in: "Trips")
        let link = try #require(made[1].record?.shortGUID)
        func join(_ name: String) async throws -> FrameworkErrorCode? {
            try await ida.world.person(name).accept(link).error?.frameworkCode
        }
        func save(_ list: [ParticipantDictionary]) async throws -> RecordResult {
            try await ida.modify(
                [share(.forceUpdate, "S", participants: list)], in: zone("Trips"), scope: .private)[
                    0]
        }
        #expect(try await join("eve@example.org") == nil)
        #expect(try await join("gus@example.org") == nil)
        #expect(try await join("liz@example.org") == .tooManyParticipants)
        let strangers = try #require(
            try await ida.lookup(["S"], in: "Trips")[0].record?.share?.participants)
        let two = try await save(
            strangers + [invited("bo@example.org"), invited("cy@example.org")])
        let list = try #require(two.record?.share?.participants)
        #expect(list.map(\.role) == [.owner, .publicUser, .publicUser, .user, .user])
        #expect(try await join("bo@example.org") == nil)
        let three = try await save(list + [invited("di@example.org")])
        #expect(three.failed?.error.frameworkCode == .tooManyParticipants)
    }

    @Test("An administrator adds and removes users, and changes nothing else")
    func administratorChangesParticipantsOnly() async throws {
        let world = World()
        let ida = try await world.person("ida@example.org")
        let bo = try await world.person("bo@example.org")
        let cy = try await world.person("cy@example.org")
        try await ida.makeZone("Trips")
        var administrator = invited(bo)
        administrator.role = .administrator
        let made = try await ida.modify(
            [
                hut(.create, "trail"),
                share(
                    .create, "S", of: "trail",
                    participants: [administrator, invited("di@example.org"), invited(cy)]),
            ], in: "Trips")[1]
        let link = try #require(made.record?.shortGUID)
        let trips = zone("Trips", of: ida)
        func save(
            _ list: [ParticipantDictionary]?, by person: Person,
            permission: SharePermission? = nil
        ) async throws -> RecordResult {
            try await person.modify(
                [share(.forceUpdate, "S", permission: permission, participants: list)], in: trips)[
                    0]
        }
        // Before he joins, he has no access.
        #expect(try await save(nil, by: bo).code == .zoneNotFound)
        _ = try await bo.accept(link)
        _ = try await cy.accept(link)
        #expect(try await save([], by: cy).code == .accessDenied)

        // An administrator may write and sees all participants, also those who have not joined.
        let seen = try #require(
            try await bo.lookup(["S"], in: trips)[0].record?.share?.participants)
        #expect(seen.map(\.role) == [.owner, .administrator, .user, .user])
        #expect(seen[1].permission == .readWrite)
        #expect(seen[2].userIdentity.emailAddress == "di@example.org")
        let others = try await cy.lookup(["S"], in: trips)[0].record?.share?.participants
        #expect(others?.count == 3)

        // Cy is removed, Ed is added.
        let changed = try await save(
            Array(seen.prefix(3)) + [invited("ed@example.org", .readWrite)], by: bo)
        #expect(changed.record?.share?.participants?.count == 4)
        #expect(try await cy.lookup(["trail"], in: trips)[0].code == .zoneNotFound)
        let now = try #require(changed.record?.share?.participants)

        // He cannot remove himself, make others administrators, change the public permission or end the share.
        #expect(try await save(Array(now.dropFirst(2)), by: bo).code == .accessDenied)
        var promoted = now
        promoted[2].role = .administrator
        #expect(try await save(promoted, by: bo).code == .accessDenied)
        #expect(try await save(nil, by: bo, permission: .readOnly).code == .accessDenied)
        _ = try await bo.modify([.init(.forceDelete, .init(recordName: "S"))], in: trips)
        #expect(try await bo.sharedZones().isEmpty)
        let left = try await ida.lookup(["S"], in: "Trips")[0].record?.share?.participants
        #expect(left?.count == 4)

        // The owner revokes the role.
        _ = try await bo.accept(link)
        var demoted = try #require(left)
        demoted[1].role = .user
        demoted[1].status = .accepted
        _ = try await ida.modify([share(.forceUpdate, "S", participants: demoted)], in: "Trips")
        #expect(try await save([], by: bo).code == .accessDenied)
    }

    @Test("A record can have a short GUID before it is shared, and its share keeps it")
    func shareKeepsShortGUIDOfItsRoot() async throws {
        let ida = try await owner()
        var operation = hut(.create, "trail")
        operation.record.createShortGUID = true
        let shortGUID = try await ida.modify([operation], in: "Trips")[0].record?.shortGUID
        #expect(shortGUID != nil)
        #expect(try await ida.resolve(shortGUID ?? "").error?.code == .notFound)
        let made = try await ida.modify([share(.create, "S", of: "trail")], in: "Trips")[0].record
        #expect(made?.shortGUID == shortGUID)
        #expect(try await ida.resolve(shortGUID ?? "").metadata?.participantRole == .owner)
    }

    @Test("Deleting the root deletes the share; deleting the share keeps the root")
    func deletingRootDeletesShareAndDeletingShareKeepsRoot() async throws {
        let ida = try await owner()
        for (deleted, left) in [("trail", "S"), ("S", "trail")] {
            let made = try await ida.modify(
                [hut(.forceReplace, "trail"), share(.create, "S", of: "trail")], in: "Trips")
            try await ida.modify([hut(.forceDelete, deleted)], in: "Trips")
            let found = try await ida.lookup(["trail", "S"], in: "Trips")
            #expect(found.compactMap(\.record?.recordName) == (left == "S" ? [] : ["trail"]))
            #expect(found[0].record?.shareRecordName == nil)
            let resolved = try await ida.resolve(made[1].record?.shortGUID ?? "")
            #expect(resolved.error?.code == .notFound)
        }
    }

    /// A move within a share is not a long change, however many records are below the moved one.
    @Test func moveWithinShareNeedsNoSteps() async throws {
        var limits = Limits()
        limits.recordsPerShareChange = 3
        let ida = try await owner(limits: limits)
        let below = (0..<4).map { hut(.create, "hut\($0)", parent: .some("camp")) }
        try await ida.modify(
            [
                hut(.create, "trail"), hut(.create, "camp", parent: .some("trail")),
                share(.create, "S", of: "trail"),
            ] + below, in: "Trips")
        await ida.world.service.waitUntilIdle()
        func move(_ parent: RecordDictionary.ParentChange) async -> RequestFailure? {
            await ida.refusal(
                RecordsModify.self,
                .init(
                    operations: [hut(.forceUpdate, "camp", parent: parent)], zoneID: zone("Trips")))
        }
        // Below the same root nothing changes for the participants.
        try await ida.modify([hut(.create, "side", parent: .some("trail"))], in: "Trips")
        #expect(await move(.some("side")) == nil)
        let store = try await ida.world.service.components.databases.store(
            for: DatabaseAddress(ida.world.address, .private(owner: ida.name)))
        let left = try await store.read { reader in
            try LongChangeRow.Kind.allCases.flatMap { try reader.longChanges($0, limit: 9) }
        }
        #expect(left.isEmpty)
    }

    @Test("Shares can be created with a fixed schema")
    func fixedProductionSchemaAllowsShares() async throws {
        let ida = try await World(environment: .production).person("ida@example.org", with: "Trips")
        let result = try await ida.modify(
            [share(.create, ShareDictionary.zoneShareName, title: "All")], in: "Trips")[0]
        #expect(result.values["cloudkit.title"] == .string("All"))
        let wrong = try await ida.modify(
            [
                RecordsModify.Operation(
                    .forceUpdate,
                    RecordDictionary(
                        recordName: ShareDictionary.zoneShareName,
                        recordType: ShareDictionary.recordType, fields: .values([beds(1)])))
            ], in: zone("Trips"), scope: .private)[0]
        #expect(wrong.code == .badRequest)
    }
}
