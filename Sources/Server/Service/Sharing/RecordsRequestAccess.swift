import StratusRecords
import StratusStorage
import StratusWire

extension RecordsRequestAccess: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .once, isCompressed: false,
        cost: { Double($0.items.count) / 40 }, zones: { _ in [] }, link: { _, _ in })

    /// Asks the owners of shares for access. Asking twice has the same effect as once.
    ///
    /// An unknown link and one to a share that takes no requests are the same NOT_FOUND. A person who may join already
    /// gets an error that says so: resolving the link shows that too.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        try await call.context.followLinks(
            of: call.request, call.components.directory, call.components.databases
        ) { followed in
            try await AccessAsking(
                followed: followed, context: call.context, records: call.components.records
            ).ask()
            return AccessRequest(shortGUID: followed.asked)
        }
    }
}

/// A person who asks for access by a link.
private struct AccessAsking: Sendable {
    let followed: FollowedLink
    let context: RequestContext
    let records: RecordWriting

    func ask() async throws {
        // Read first, so that repeated requests take no write.
        guard try await followed.link.store.read({ try taken($0) }) != nil else { return }
        try await records.write(
            to: followed.link.store, by: context.user(), on: context.caller.device
        ) { records in
            guard var target = try taken(records.transaction) else { return }
            try target.put(in: &records)
        }
    }

    /// The share with the request; nil when that is no change.
    ///
    /// The record's modification stays as it is: participants see it, and must not learn who asks.
    private func taken(_ reader: any StoreReader) throws -> ShareLink.Target? {
        let view = followed.view(in: context)
        var target = try followed.target(reader)
        guard view.part(in: target.share) == nil else { throw ServiceError.mayJoinAlready }
        let limit = context.limits.accessRequestsPerShare
        return try target.share.accessRequests.take(followed.person, limit: limit) ? target : nil
    }
}
