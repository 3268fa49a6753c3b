import StratusRecords
import StratusStorage
import StratusWire

extension RecordsResolve: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, endsSession: false, isRepeatable: true,
        cost: { Double($0.items.count) / 160 }, zoneNames: { _ in [] },
        link: { $1.link(&$0.items) })

    /// Says what the links of a request lead to. A link that is not for the caller, that ended or that
    /// never was is the same NOT_FOUND.
    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        Answer(
            try await context.shareMetadata(of: request, with: components) { followed in
                let view = followed.view(in: context)
                return try await followed.link.store.read { reader in
                    try view.metadata(followed.target(reader), followed.asked, reader)
                }
            })
    }
}

extension ShareMetadataDictionary {
    /// The bytes that the share and its root take as they are stored.
    fileprivate var storedBytes: Int { (share?.storedBytes ?? 0) + (rootRecord?.storedBytes ?? 0) }
}

extension RequestContext {
    /// What `follow` makes of each link of a request; one that fails does so by itself.
    func followLinks<Outcome>(
        of request: RecordsResolve.Request, with components: ServiceComponents,
        _ follow: (FollowedLink) async throws -> Outcome
    ) async throws -> [Result<Outcome, ShortGUIDFailure>] {
        try checkShortGUIDs(request)
        let person = try await participantIdentity(in: components.directory)
        var results: [Result<Outcome, ShortGUIDFailure>] = []
        for asked in request.items {
            do {
                let link = try await ShareLink(
                    asked.value, in: self, components.directory, components.databases)
                let followed = FollowedLink(
                    asked: asked, link: link, person: person.following(asked))
                results.append(.success(try await follow(followed)))
            } catch let error as ServiceError {
                results.append(.failure(ShortGUIDFailure(shortGUID: asked, error: error)))
            }
        }
        return results
    }

    /// The same where each link leads to a share's metadata, for as many bytes as a lookup may have.
    func shareMetadata(
        of request: RecordsResolve.Request, with components: ServiceComponents,
        _ follow: (FollowedLink) async throws -> ShareMetadataDictionary
    ) async throws -> [Result<ShareMetadataDictionary, ShortGUIDFailure>] {
        var room = limits.recordBytesPerLookup
        return try await followLinks(of: request, with: components) { followed in
            guard room > 0 else { throw ServiceError.lookupTooLarge }
            let metadata = try await follow(followed)
            room -= metadata.storedBytes
            return metadata
        }
    }

    private func checkShortGUIDs(_ request: RecordsResolve.Request) throws {
        // A link is followed by a person.
        if caller.isServer { throw ServiceError.serverInOthersDatabase }
        // Under whichever database the caller puts them: the protocol's own path is the public one's.
        try checkCount(request.items.count)
        for asked in request.items { try checkNames(asked.rootRecordDesiredKeys) }
    }
}
