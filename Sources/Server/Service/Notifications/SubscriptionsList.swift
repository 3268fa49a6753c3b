import StratusRecords
import StratusStorage
import StratusWire

extension SubscriptionsList: ServedEndpoint {
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
        let subscriber = try await context.subscriber(in: components.databases)
        let rows = try await subscriber.store.read {
            try $0.subscriptions(of: subscriber.name)
        }
        return Answer(rows.map { .subscription($0.listed) })
    }
}

/// Where a caller's subscriptions to the database of a request are kept.
struct Subscriber: Sendable {
    var store: any RecordStore
    var name: String
}

extension RequestContext {
    func subscriber(in databases: Databases) async throws -> Subscriber {
        let user = try user()
        if let store = try await databases.store(of: self) {
            return Subscriber(store: store, name: user)
        }
        let own = try await databases.privateStore(of: user, in: address)
        return Subscriber(store: own, name: SubscriptionRow.sharedSubscriber)
    }
}
