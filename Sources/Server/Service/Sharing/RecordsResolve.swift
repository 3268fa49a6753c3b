import StratusRecords
import StratusStorage
import StratusWire

extension RecordsResolve: ServedEndpoint {
    public static let access = EndpointAccess.user
    public static let endsSession = false
    public static let isRepeatable = true
    public static let expiredTokens = ExpiredTokens<Self>.none

    public static func cost(of request: Request) -> Double {
        Double(request.items.count) / 160
    }
    public static func zoneNames(in request: Request) -> Set<String> { [] }
    public static func link(_ answer: inout Answer, _ links: inout AssetLinks) {
        links.link(&answer.items)
    }

    /// Says what the links of a request lead to. A link that is not for the caller, that ended or that
    /// never was is the same NOT_FOUND.
    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        try context.checkShortGUIDs(request)
        let person = try await context.participantIdentity(in: components.directory)
        var results: [ShareResult] = []
        var room = context.limits.recordBytesPerLookup
        for asked in request.items {
            do {
                guard room > 0 else { throw ServiceError.lookupTooLarge }
                let link = try await ShareLink(
                    asked.value, in: context, components.directory, components.databases)
                let view = ShareView(
                    context: context, person: person.following(asked), owner: link.owner)
                let metadata = try await link.store.read { reader in
                    try view.metadata(
                        ShareLink.Target(asked.value, reader), asked, reader)
                }
                room -= metadata.storedBytes
                results.append(.success(metadata))
            } catch let error as ServiceError {
                results.append(.failure(ShortGUIDFailure(shortGUID: asked, error: error)))
            }
        }
        return Answer(results)
    }
}

extension ShareMetadataDictionary {
    /// The bytes that the share and its root take as they are stored.
    var storedBytes: Int { (share?.storedBytes ?? 0) + (rootRecord?.storedBytes ?? 0) }
}

extension RequestContext {
    func checkShortGUIDs(_ request: RecordsResolve.Request) throws {
        // A link is followed by a person.
        if caller.isServer { throw ServiceError.serverInOthersDatabase }
        // Under whichever database the caller puts them: the protocol's own path is the public one's.
        try checkCount(request.items.count)
        for asked in request.items { try checkNames(asked.rootRecordDesiredKeys) }
    }
}
