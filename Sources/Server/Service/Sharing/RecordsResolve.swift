import StratusRecords
import StratusStorage
import StratusWire

extension RecordsResolve: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .idempotent, isCompressed: false,
        cost: { Double($0.items.count) / 160 }, zones: { _ in [] },
        link: { $1.link(&$0.items) })

    /// Returns the targets of a request's links. A link that is not for the caller, that has ended or that never
    /// existed is the same NOT_FOUND.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        try await call.context.shareMetadata(
            of: call.request, call.components.directory, call.components.databases
        ) { followed in
            let view = followed.view(in: call.context)
            return try await followed.link.store.read { reader in
                try view.metadata(followed.target(reader), followed.asked, reader)
            }
        }
    }
}

extension ShareMetadataDictionary {
    /// The stored size of the share and its root in bytes.
    fileprivate var storedBytes: Int { (share?.storedBytes ?? 0) + (rootRecord?.storedBytes ?? 0) }
}

extension RequestContext {
    /// Calls `follow` for each link of a request; one that fails does not affect the others.
    func followLinks<Outcome: ListItem>(
        of request: RecordsResolve.Request, _ directory: any Directory, _ databases: Databases,
        _ follow: (FollowedLink) async throws -> Outcome
    ) async throws -> ListBody<Result<Outcome, ShortGUIDFailure>> {
        try checkShortGUIDs(request)
        let person = try await participantIdentity(in: directory)
        var results: [Result<Outcome, ShortGUIDFailure>] = []
        var owners: Set<String> = []
        for asked in request.items {
            do {
                let link = try await ShareLink(asked.value, in: self, directory, databases)
                if owners.insert(link.owner).inserted { chargeForOwner() }
                let followed = FollowedLink(
                    asked: asked, link: link, person: person.following(asked))
                results.append(.success(try await follow(followed)))
            } catch let error as ServiceError {
                results.append(.failure(ShortGUIDFailure(shortGUID: asked, error: error)))
            }
        }
        return ListBody(results)
    }

    /// Follows links to the metadata of their shares, up to the bytes that a lookup may have. A link for which there is
    /// no memory is TRY_AGAIN_LATER; one that was joined stays joined.
    func shareMetadata(
        of request: RecordsResolve.Request, _ directory: any Directory, _ databases: Databases,
        _ follow: (FollowedLink) async throws -> ShareMetadataDictionary
    ) async throws -> ListBody<ShareResult> {
        var room = limits.recordBytesPerLookup
        return try await followLinks(of: request, directory, databases) { followed in
            guard room > 0 else { throw ServiceError.lookupTooLarge }
            let metadata = try await follow(followed)
            room -= metadata.storedBytes
            try hold(recordBytes: metadata.storedBytes)
            return metadata
        }
    }

    private func checkShortGUIDs(_ request: RecordsResolve.Request) throws {
        // Only a person can follow a link.
        if caller.isServer { throw ServiceError.serverInOthersDatabase }
        // Allowed under each database: the protocol's own path is the public one's.
        try checkCount(request.items.count)
        for asked in request.items { try checkNames(asked.rootRecordDesiredKeys) }
    }
}
