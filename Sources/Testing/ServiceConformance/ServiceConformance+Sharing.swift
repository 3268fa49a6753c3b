import StratusClient
import StratusRecords
import StratusWire

extension ServiceConformance {
    static let sharing: [Case] = [
        Case("an invitation is accepted, used and left") { stage in
            let (alice, bob) = try await stage.aliceAndBob()
            let bobsName = try await bob.ask(UsersCaller.self, .init(), in: .public).identity
                .userRecordName
            let (zone, link) = try await sharedTrail(of: alice, with: bobsName)
            try await expectAccept(link, by: bob)
            let seen = try await bob.lookup(["trail", "diary"], at: zone)
            _ = try seen[0].asRecord()
            try expect(seen[1].code, equals: .notFound)
            let denied = try await bob.modifyShared([.saving("alone")], at: zone)
            try expect(denied[0].code, equals: .accessDenied)
            _ = try await bob.modifyShared([.saving("hut", parent: "trail")], at: zone)[0]
                .asRecord()
            _ = try await alice.lookup(["hut"])[0].asRecord()
            _ = try await bob.modifyShared([.init(.delete, .init(recordName: "S"))], at: zone)
            try expect(try await bob.lookup(["trail"], at: zone)[0].code, equals: .zoneNotFound)
            try await expectAccept(link, by: bob)
            _ = try await bob.lookup(["trail"], at: zone)[0].asRecord()
        },
        Case("an access request waits for the owner and is granted") { stage in
            let (alice, bob, zone, link) = try await trailWithoutBob(stage)
            for link in [link, "nothing"] {
                try expect(try await bob.requestAccess(link)?.code, equals: .notFound)
            }
            _ = try await alice.changeShare { $0.allowsAccessRequests = true }
            try expect(try await bob.requestAccess(link) == nil, equals: true)
            let asked = try await alice.changeShare { _ in }
            let requester = try StoreConformance.unwrap(asked.accessRequesters?.first)
            let approved = try await alice.changeShare {
                $0.participants = [
                    ParticipantDictionary(userIdentity: requester, permission: .readOnly)
                ]
            }
            try expect(approved.accessRequesters ?? [], equals: [])
            try expect(
                approved.participants?.map(\.isApprovedRequester) ?? [], equals: [false, true])
            try await expectAccept(link, by: bob)
            _ = try await bob.lookup(["trail"], at: zone)[0].asRecord()
        },
        Case("a link does nothing for users who are not invited") { stage in
            let (alice, bob, zone, link) = try await trailWithoutBob(stage)
            for endpoint in [link, "nothing"] {
                let result = try await bob.accept(endpoint)
                guard case .failure(let failure) = result else {
                    throw StoreConformance.Failure(
                        message: "\(result)", file: #fileID, line: #line)
                }
                try expect(failure.error.code, equals: .notFound)
            }
            try expect(try await bob.lookup(["trail"], at: zone)[0].code, equals: .zoneNotFound)
        },
    ]

    /// The trail of ``sharedTrail(of:with:)``, in which bob does not take part.
    private static func trailWithoutBob(
        _ stage: Stage
    ) async throws -> (alice: StagePerson, bob: StagePerson, zone: ZoneIDDictionary, link: String) {
        let (alice, bob) = try await stage.aliceAndBob()
        let (zone, link) = try await sharedTrail(of: alice, with: "_somebody")
        return (alice, bob, zone, link)
    }

    /// A shared root, and another record that is not shared.
    private static func sharedTrail(
        of owner: StagePerson, with user: String?
    ) async throws -> (zone: ZoneIDDictionary, link: String) {
        try await owner.makeZone("Trips")
        let participant = ParticipantDictionary(
            userIdentity: UserIdentityDictionary(
                userRecordName: nil, lookupUserRecordName: user), permission: .readWrite)
        let results = try await owner.modify([
            .saving("trail"), .saving("diary"),
            .init(
                .create,
                RecordDictionary(
                    recordName: "S", recordType: ShareDictionary.recordType,
                    share: ShareDictionary(
                        root: .init(recordName: "trail"), participants: [participant]))),
        ])
        let share = try results[2].asRecord()
        let zone = ZoneIDDictionary(
            zoneName: "Trips", ownerRecordName: share.share?.owner?.userIdentity.userRecordName)
        return (zone, share.shortGUID ?? "")
    }

    private static func expectAccept(_ link: String, by person: StagePerson) async throws {
        guard case .success(let metadata) = try await person.accept(link) else {
            throw StoreConformance.Failure(
                message: "the link \(link) was refused", file: #fileID, line: #line)
        }
        try expect(metadata.participantStatus, equals: .accepted)
        try expect(metadata.databaseScope, equals: .shared)
    }
}

extension StagePerson {
    /// Asks for access.
    ///
    /// - Returns: The error if the request was refused; nil if it was accepted.
    fileprivate func requestAccess(_ link: String) async throws -> ServiceError? {
        let answer = try await ask(
            RecordsRequestAccess.self, .init([.init(value: link)]), in: .public)
        if case .failure(let failure) = answer.items[0] { return failure.error }
        return nil
    }

    /// Saves the share of ``ServiceConformance/sharing``.
    fileprivate func changeShare(
        _ change: (inout ShareDictionary) -> Void
    ) async throws -> ShareDictionary {
        var share = ShareDictionary()
        change(&share)
        let record = RecordDictionary(
            recordName: "S", recordType: ShareDictionary.recordType, share: share)
        let saved = try await modify([.init(.forceUpdate, record)])[0].asRecord()
        return try StoreConformance.unwrap(saved.share)
    }

    fileprivate func accept(_ link: String) async throws -> ShareResult {
        try await ask(RecordsAccept.self, .init([.init(value: link)]), in: .public)
            .items[0]
    }

    fileprivate func lookup(
        _ names: [String], at zone: ZoneIDDictionary
    ) async throws -> [RecordResult] {
        try await ask(
            RecordsLookup.self,
            .init(records: names.map { .init(recordName: $0) }, zoneID: zone), in: .shared
        ).records
    }

    fileprivate func modifyShared(
        _ operations: [RecordsModify.Operation], at zone: ZoneIDDictionary
    ) async throws -> [RecordResult] {
        try await ask(
            RecordsModify.self, .init(operations: operations, zoneID: zone, isAtomic: false),
            in: .shared
        ).records
    }
}
