import StratusRecords
import StratusStorage
import StratusWire

extension SubscriptionsLookup: ServedEndpoint {
    public static let access = EndpointAccess.user
    public static let endsSession = false
    public static let isRepeatable = true
    public static let expiredTokens = ExpiredTokens<Self>.none

    public static func cost(of request: Request) -> Double { 0 }
    public static func zoneNames(in request: Request) -> Set<String> { [] }
    public static func link(_ answer: inout Answer, _ links: inout AssetLinks) {}

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
