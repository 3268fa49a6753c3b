import StratusRecords
import StratusService
import StratusWire
import Testing

/// A zone as other users name it.
func zone(_ name: String, of owner: Person) -> ZoneIDDictionary {
    ZoneIDDictionary(zoneName: name, ownerRecordName: owner.name)
}

/// An operation on a share.
func share(
    _ kind: RecordsModify.Kind, _ name: String, of root: String? = nil, tag: String? = nil,
    rootTag: String? = nil, permission: SharePermission? = nil,
    participants: [ParticipantDictionary]? = nil, title: String? = nil
) -> RecordsModify.Operation {
    RecordsModify.Operation(
        kind,
        RecordDictionary(
            recordName: name, recordType: ShareDictionary.recordType, recordChangeTag: tag,
            fields: .values(title.map { [text("cloudkit.title", $0)] } ?? []),
            share: ShareDictionary(
                root: root.map { .init(recordName: $0, recordChangeTag: rootTag) },
                publicPermission: permission, participants: participants)))
}

/// A participant to be invited by e-mail address.
func invited(
    _ emailAddress: String, _ permission: SharePermission = .readOnly
) -> ParticipantDictionary {
    ParticipantDictionary(
        userIdentity: UserIdentityDictionary(userRecordName: nil, emailAddress: emailAddress),
        permission: permission)
}

/// A participant to be invited by user record name.
func invited(
    _ person: Person, _ permission: SharePermission = .readOnly
) -> ParticipantDictionary {
    ParticipantDictionary(
        userIdentity: UserIdentityDictionary(
            userRecordName: nil, lookupUserRecordName: person.name),
        permission: permission)
}

extension Person {
    @discardableResult
    func modify(
        _ operations: [RecordsModify.Operation], in zoneID: ZoneIDDictionary,
        isAtomic: Bool = false, scope: DatabaseScope = .shared
    ) async throws -> [RecordResult] {
        try await ask(
            RecordsModify.self,
            .init(operations: operations, zoneID: zoneID, isAtomic: isAtomic), in: scope
        ).records
    }

    func lookup(
        _ names: [String], in zoneID: ZoneIDDictionary, scope: DatabaseScope = .shared
    ) async throws -> [RecordResult] {
        try await ask(
            RecordsLookup.self,
            .init(records: names.map { .init(recordName: $0) }, zoneID: zoneID), in: scope
        ).records
    }

    /// Shares a trail with the name `root` in the zone `Trips` with another person, who may only read.
    @discardableResult
    func shareTrail(with other: Person) async throws -> String {
        let made = try await modify(
            [
                hut(.create, "root", type: "Trail"),
                share(.create, "S", of: "root", permission: .readOnly),
            ], in: "Trips")
        let link = made[1].record?.shortGUID ?? ""
        #expect(try await other.accept(link).error == nil)
        return link
    }

    /// Makes the zone `Trips` with a root that everyone who has its link may read; returns the link.
    func linkToShared(_ root: String, share name: String = "S") async throws -> String {
        try await makeZone("Trips")
        let made = try await modify(
            [hut(.create, root), share(.create, name, of: root, permission: .readOnly)],
            in: "Trips")
        return try #require(made[1].record?.shortGUID)
    }

    func accept(_ shortGUID: String, token: String? = nil) async throws -> ShareResult {
        try await ask(
            RecordsAccept.self,
            .init([.init(value: shortGUID, oneTimeToken: token)]), in: .public
        ).items[0]
    }

    func resolve(
        _ shortGUID: String, root: Bool? = nil, token: String? = nil
    ) async throws -> ShareResult {
        try await ask(
            RecordsResolve.self,
            .init([
                .init(value: shortGUID, shouldFetchRootRecord: root, oneTimeToken: token)
            ]), in: .public
        ).items[0]
    }

    func changes(
        in zoneID: ZoneIDDictionary, since token: String? = nil, limit: Int? = nil,
        isReversed: Bool = false, scope: DatabaseScope = .shared
    ) async throws -> ChangesZone.Result {
        try await ask(
            ChangesZone.self,
            .init(zones: [
                .init(
                    zoneID: zoneID, syncToken: token, resultsLimit: limit, isReversed: isReversed)
            ]), in: scope
        ).items[0]
    }

    func sharedZones() async throws -> [ZoneResult] {
        try await ask(ZonesList.self, .init(), in: .shared).items
    }

    func query(
        _ type: String, in zoneID: ZoneIDDictionary, scope: DatabaseScope = .shared
    ) async throws -> [RecordResult] {
        try await ask(
            RecordsQuery.self, .init(query: .init(recordType: type), zoneID: zoneID), in: scope
        ).records
    }
}

extension ShareResult {
    var metadata: ShareMetadataDictionary? {
        if case .success(let metadata) = self { metadata } else { nil }
    }
    var error: ServiceError? { if case .failure(let failure) = self { failure.error } else { nil } }
}

extension ZoneResult {
    var error: ServiceError? {
        if case .failure(let failure) = self { failure.error } else { nil }
    }
}

extension ChangesZone.Result {
    var page: ChangesZone.Page? { if case .success(let page) = self { page } else { nil } }
    var error: ServiceError? {
        if case .failure(let failure) = self { failure.error } else { nil }
    }
}
