import StratusRecords
import StratusStorage
import StratusWire

extension RecordsRequestAccess: ServedEndpoint {
    public static let access = EndpointAccess.user
    public static let endsSession = false
    public static let isRepeatable = false
    public static let expiredTokens = ExpiredTokens<Self>.none

    public static func cost(of request: Request) -> Double { Double(request.items.count) / 40 }
    public static func zoneNames(in request: Request) -> Set<String> { [] }
    public static func link(_ answer: inout Answer, _ links: inout AssetLinks) {}

    /// Asks the owners of shares for access. Asking twice is asking once.
    ///
    /// A link that leads nowhere and one to a share that takes no requests are the same NOT_FOUND. Who
    /// may join already is told so: resolving the link tells him no less.
    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        try context.checkShortGUIDs(request)
        let person = try await context.participantIdentity(in: components.directory)
        var results: [AccessRequestResult] = []
        for asked in request.items {
            do {
                let link = try await ShareLink(
                    asked.value, in: context, components.directory, components.databases)
                let asking = AccessAsking(
                    asked: asked, link: link, person: person.following(asked), context: context,
                    records: components.records)
                try await asking.ask()
                results.append(.success(AccessRequest(shortGUID: asked)))
            } catch let error as ServiceError {
                results.append(.failure(ShortGUIDFailure(shortGUID: asked, error: error)))
            }
        }
        return Answer(results)
    }
}

/// Somebody who asks for access by a link.
private struct AccessAsking: Sendable {
    let asked: ShortGUIDDictionary
    let link: ShareLink
    let person: ParticipantIdentity
    let context: RequestContext
    let records: RecordWriting

    func ask() async throws {
        // Whatever is asked again and again is only read.
        guard try await link.store.read({ try taken($0) }) != nil else { return }
        try await records.write(
            to: link.store, by: context.user(), on: context.caller.device
        ) { records in
            guard var target = try taken(records.transaction) else { return }
            try target.put(in: &records)
        }
    }

    /// The share with the request; nil when that is no change.
    ///
    /// The record's modification stays as it is: participants see it, and who asks is not theirs to
    /// know.
    private func taken(_ reader: any StoreReader) throws -> ShareLink.Target? {
        let view = ShareView(context: context, person: person, owner: link.owner)
        var target = try ShareLink.Target(asked.value, reader)
        guard view.part(in: target.share) == nil else { throw ServiceError.mayJoinAlready }
        let limit = context.limits.accessRequestsPerShare
        return try target.share.accessRequests.take(person, limit: limit) ? target : nil
    }
}
