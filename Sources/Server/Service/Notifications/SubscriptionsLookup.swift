import StratusRecords
import StratusStorage
import StratusWire

extension SubscriptionsLookup: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, endsSession: false, isRepeatable: true,
        cost: { _ in 0 }, zoneNames: { _ in [] }, link: { _, _ in })

    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        try context.checkCount(request.subscriptionIDs.count)
        let subscriber = try await context.subscriber(in: components.databases)
        let rows = try await subscriber.store.read {
            try $0.subscriptions(of: subscriber.name)
        }
        let rowsByIdentifier = Dictionary(
            rows.map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first })
        return Answer(
            request.subscriptionIDs.map { identifier in
                guard let row = rowsByIdentifier[identifier] else {
                    return .failure(subscriptionID: identifier, .subscriptionNotFound)
                }
                return .subscription(row.listed)
            })
    }
}
